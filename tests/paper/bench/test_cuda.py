"""Measuring on a GPU. Skipped where there is none."""

from pathlib import Path

import pytest
import torch

from paper.__main__ import main
from paper.bench import table
from paper.bench.measure import CUDAStopwatch, measure

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU that torch can use")


def test_peak_memory_and_running_out_of_it() -> None:
    kept = torch.zeros(2**20, device="cuda")  # what is there before does not count
    providers = {"large": lambda: torch.zeros(2**50, device="cuda"), "small": lambda: torch.zeros(2**22, device="cuda").sum()}
    results = measure(providers, CUDAStopwatch(), repeats=3)
    assert results["large"].note == "out of memory"
    assert results["small"].peak == pytest.approx(16, abs=0.1)
    assert results["small"].p50 > 0
    assert kept.sum() == 0


@pytest.mark.parametrize("name", ["hadamard", "feature-map", "negative-term", "positive-term", "encoder", "train-step"])
def test_every_benchmark_runs(name: str, tmp_path: Path) -> None:
    out = tmp_path / "bench.csv"
    sizes = ["--nodes", "300", "--dim", "64", "--num-features", "256", "--repeats", "2"]
    assert main(["bench", name, *sizes, "--device", "cuda", "--out", str(out)]) == 0
    rows = table.read(out)
    assert all(row["note"] == "" and row["peak_mib"] for row in rows)
    assert {row["device"] for row in rows} == {torch.cuda.get_device_name()}
