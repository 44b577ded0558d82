from pathlib import Path

import pytest
import torch
from benchmarks import negatives
from benchmarks.development import GRAPHS

from localgcl.datasets import sbm
from localgcl.graph.prepare import prepare
from localgcl.losses.local import unit_rows
from localgcl.methods import configure
from localgcl.system.files import RowFile


def study(way: negatives.Way) -> tuple[negatives.Whole, torch.Tensor, float]:
    """The method after one step, the rows of its batch, and the negative term of that step."""
    settings = {"encoder": "hops", "channels": ("SX",), "layers": 1, "dim": 8, "batch": 20, "num_features": 256}
    config = configure("local-gcl", {**settings, "temperature": 1.0})
    graph = prepare(sbm(60, classes=2, features=8, mean_degree=4), config.preparation, {})
    torch.manual_seed(0)
    method = negatives.Whole(8, config)
    method.way = way
    batch = next(method.batches(graph))
    terms = method.loss(batch, torch.Generator().manual_seed(0))
    (z,) = method.encoder.parts(batch.inputs)
    terms["loss"].backward()
    return method, z[:20].detach(), float(terms["negative"].detach())


def test_streamed_negatives_are_all_nodes() -> None:
    method, z, found = study("streamed")
    hop = method.whole.inputs.hops[0]
    everyone = unit_rows(method.output(0, hop))[0].detach()
    exact = torch.logsumexp(unit_rows(z)[0] @ everyone.T, dim=1).mean()
    assert found == pytest.approx(float(exact), abs=0.1)  # 256 random frequencies; those of the batch alone are log 3 lower
    batch = torch.logsumexp(unit_rows(z)[0] @ unit_rows(z)[0].T, dim=1).mean()
    assert float(exact - batch) > 0.8


def test_a_running_sum_starts_as_the_batch_scaled_up() -> None:
    _, z, found = study("running")
    exact = torch.logsumexp(unit_rows(z)[0] @ unit_rows(z)[0].T, dim=1).mean() + torch.log(torch.tensor(3.0))
    assert found == pytest.approx(float(exact), abs=0.1)


def test_a_row_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GRAPHS, "small", lambda: sbm(200, classes=3, features=16))
    row = negatives.measure("small", "running", 50, 3, 1, "cpu", "")
    assert set(row) == set(negatives.FIELDS)
    assert (row["seed"], row["steps"]) == (1001, 3)
    assert 0 <= row["validation"] <= 100


def row(way: str, seed: int, validation: float, seconds: float) -> dict[str, str]:
    told = {"graph": "cora", "way": way, "batch": "512", "steps": "20", "seed": str(seed)}
    return {**dict.fromkeys(negatives.FIELDS, ""), **told, "validation": str(validation), "seconds": str(seconds)}


def test_the_page_compares_rows_of_one_seed() -> None:
    rows = [row("batch", 1000, 80, 1), row("batch", 1001, 90, 3), row("streamed", 1000, 81, 2), row("streamed", 1001, 90, 6)]
    text = negatives.page([*rows, row("running", 1000, 78, 1)])  # its second seed is not measured yet
    assert "| cora | 20 | +0.50 | 2.0 x | -2.00 | 1.0 x |" in text
    assert "| cora | 20 | 512 | 2 | 85.0, 2 s | 85.5, 4 s | 78.0, 1 s |" in text


def test_the_page_is_made_of_the_stored_rows() -> None:
    root = Path(negatives.__file__).parents[1]
    rows = RowFile(root / "benchmarks/results/negatives.csv", negatives.FIELDS).rows()
    assert (root / "docs/negatives.md").read_text(encoding="utf-8") == negatives.page(rows)
