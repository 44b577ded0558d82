"""Several processes train one model: results do not depend on their number, and a killed one is started again."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
import torch

from localgcl.commands import main
from localgcl.datasets import sbm
from localgcl.training import RunFolder
from tests.references.folders import stored
from tests.references.rank_workers import Measured, command, files, interrupted, killed, launch, measure, on_own_folder

GRAPH = sbm(400, features=10, seed=0)
HOPS: dict[str, Any] = {"encoder": "hops", "layers": 1, "dim": 20, "steps": 4, "batch": 70, "sampled": 3, "device": "cpu"}
COMMAND = ("--encoder", "hops", "--dim", "20", "--batch", "70", "--num-features", "256", "--device", "cpu", "--threads", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    stored(GRAPH, tmp_path / "graph")
    return tmp_path / "graph"


def test_one_two_and_four_ranks_agree(folder: Path, tmp_path: Path) -> None:
    settings = HOPS | {"num_features": 256, "scaling": "l2", "fourier": 6, "layers": 2, "layer_norm": True}
    found: dict[str, list[Measured]] = {"single": [], "double": []}
    rows: list[dict[str, bytes]] = []
    for size in (1, 2, 4):
        shutil.rmtree(folder / "hops", ignore_errors=True)
        answers = launch(size, measure, str(folder), settings)
        for kind, results in found.items():
            for answer in answers.values():  # the same weights everywhere, to the bit
                assert torch.equal(answer[kind].z, answers[0][kind].z)
            results.append(answers[0][kind])
        rows.append(files(folder / "hops"))
    assert rows[0] == rows[1] == rows[2]  # files of rows, to the byte
    # In double precision sums round at 1e-16, and four steps of Adam do not make 1e-8 of that.
    one, *others = found["double"]
    for other in others:
        np.testing.assert_allclose(other.losses, one.losses, rtol=0, atol=1e-8)
        torch.testing.assert_close(other.gradient, one.gradient, rtol=0, atol=1e-8)
        torch.testing.assert_close(other.z, one.z, rtol=0, atol=1e-8)
    # In single precision they round at 6e-8, and the steps of Adam are as large where gradients are noise.
    one, *others = found["single"]
    for other in others:
        np.testing.assert_allclose(other.losses, one.losses, rtol=1e-5)
        assert float((other.gradient - one.gradient).norm()) <= 1e-4 * float(one.gradient.norm())
        assert float((other.z - one.z).abs().max()) <= 1e-3
    # Bytes for negatives: S and two counts forward, g backward, for each channel. A larger graph takes as many.
    stored(sbm(3000, features=10, seed=0), tmp_path / "larger")
    larger = launch(2, measure, str(tmp_path / "larger"), settings)[0]["single"]
    channels, width = 5, 2 * 256
    assert {result.sent for result in (*found["single"], larger)} == {4 * channels * (2 * width + 2)}


def test_a_killed_rank_is_started_again_and_the_run_ends_as_if_it_had_not_been(folder: Path, tmp_path: Path) -> None:
    """Also: no checkpoints are asked for, and ranks write some all the same. Then both embed in parts."""
    arguments = ("train", str(folder), *COMMAND, "--steps", "20", "--checkpoint-every", "0", "--out")
    undisturbed = launch(2, command, *arguments, str(tmp_path / "whole"))
    again = launch(2, killed, 13, *arguments, str(tmp_path / "killed"), max_restarts=1)
    for answers in (undisturbed, again):
        assert [answer[0] for answer in answers.values()] == [0, 0]
        assert answers[1][1:] == ("", "")  # the second rank is silent
    whole, run = RunFolder.open(tmp_path / "whole"), RunFolder.open(tmp_path / "killed")
    assert run.weights.read_bytes() == whole.weights.read_bytes()
    assert run.embeddings.read_bytes() == whole.embeddings.read_bytes()
    assert [row["loss"] for row in run.read_metrics()] == [row["loss"] for row in whole.read_metrics()]
    assert not list(run.path.glob("checkpoint*"))
    assert run.made["ranks"] == 2

    launch(2, command, "embed", str(run.path), "-o", str(tmp_path / "parts"))
    parts = [pyarrow.parquet.read_table(path) for path in sorted((tmp_path / "parts").glob("part-*-of-00002.parquet"))]
    assert main(["embed", str(run.path), "-o", str(tmp_path / "z.parquet")]) == 0
    one = pyarrow.parquet.read_table(tmp_path / "z.parquet")
    assert sum(part.num_rows for part in parts) == one.num_rows == 400
    assert parts[0].schema == one.schema
    tables = pyarrow.concat_tables(parts), one
    joined, expected = (np.column_stack([table[name] for name in one.column_names]) for table in tables)
    np.testing.assert_allclose(joined, expected, rtol=0, atol=1e-6)  # products of other sizes round otherwise
    np.testing.assert_allclose(joined[:, 1:], np.load(run.embeddings), rtol=0, atol=1e-6)


def test_an_interruption_of_one_rank_stops_all_after_the_same_step(folder: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    arguments = ("train", str(folder), *COMMAND, "--steps", "12", "--out", out)
    answers = launch(2, interrupted, 4, *arguments)
    assert {answer[0] for answer in answers.values()} == {130}
    steps = len(RunFolder.open(out).read_metrics())
    assert 5 <= steps <= 6  # the step in which it was asked, or the next
    assert [path.name[:19] for path in Path(out).glob("checkpoint-*")] == [f"checkpoint-{steps:08d}"]


def test_a_rank_with_another_folder_is_refused(tmp_path: Path) -> None:
    for rank in range(2):
        stored(sbm(300, features=4, seed=rank), tmp_path / f"graph-{rank}")
    first, second = launch(2, on_own_folder, str(tmp_path / "graph"), str(tmp_path / "run")).values()
    assert (first[0], second[0]) == (1, 1)
    assert "rank 0" in first[2]
    assert "another rank ended or hangs" in first[2]
    assert "graph-1 is another one than that of rank 0" in second[2]
    assert second[2].startswith("localgcl: error: rank 1 on ")
    assert not (tmp_path / "run").exists()


def test_a_rank_that_does_not_see_a_folder_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name without a slash may be that of a data set; rank 0 knows that it is a folder."""
    monkeypatch.chdir(tmp_path)
    stored(sbm(300, features=4, seed=0), tmp_path / "graph-0")  # there is no graph-1
    first, second = launch(2, on_own_folder, "graph", str(tmp_path / "run")).values()
    assert (first[0], second[0]) == (1, 1)
    assert second[2].startswith("localgcl: error: rank 1 on ")
    assert "there is no graph folder at graph-0; every machine needs it at the same path" in second[2]
    assert not (tmp_path / "run").exists()
