from pathlib import Path

import pyarrow.parquet
import pytest

from localgcl.commands import main
from localgcl.datasets import sbm
from localgcl.datasets.source import Source
from localgcl.training import RunFolder
from localgcl.training.cluster.embedding import Embed, Job, write_parts_on_cluster
from tests.references.folders import stored


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    stored(sbm(100, features=4, seed=0), tmp_path / "graph")
    settings = ["--encoder", "hops", "--dim", "10", "--batch", "40", "--steps", "2", "--device", "cpu", "--threads", "1"]
    assert main(["train", str(tmp_path / "graph"), *settings, "--quiet", "--out", str(tmp_path / "run")]) == 0
    return RunFolder.open(tmp_path / "run")


def test_workers_write_parts_that_make_up_the_whole(run: RunFolder, tmp_path: Path) -> None:
    """What each worker of Ray Data does, without Ray."""
    (tmp_path / "parts").mkdir()
    worker = Embed(Job(str(run.path), run.source, str(tmp_path / "parts"), 3, "float16", "cpu"))
    assert [worker({"part": [part]}) for part in (2, 0, 1)] == [{"error": [b""]}] * 3
    parts = [pyarrow.parquet.read_table(path) for path in sorted((tmp_path / "parts").iterdir())]
    assert [part.num_rows for part in parts] == [33, 33, 34]
    assert main(["embed", str(run.path), "-o", str(tmp_path / "z.parquet"), "--precision", "float16"]) == 0
    one, joined = pyarrow.parquet.read_table(tmp_path / "z.parquet"), pyarrow.concat_tables(parts)
    assert joined["id"].to_pylist() == one["id"].to_pylist() == list(range(100))
    # Two steps of float16 near 1; products of other sizes round otherwise.
    assert joined["e3"].to_pylist() == pytest.approx(one["e3"].to_pylist(), abs=2e-3)


def test_an_error_of_a_worker_is_returned_and_leaves_no_file(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    run.weights.unlink()
    (error,) = Embed(Job(str(run.path), run.source, str(tmp_path / "parts"), 1, "float32", "cpu"))({"part": [0]})["error"]
    assert b"FileNotFoundError" in error
    assert not list((tmp_path / "parts").iterdir())


@pytest.mark.parametrize("workers", [0, 101])
def test_there_is_a_row_for_every_worker(workers: int, run: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"workers is {workers}; for this graph it must be between 1 and 100"):
        write_parts_on_cluster(tmp_path / "parts", run, Source(**run.source), workers)


def test_what_is_no_graph_folder_is_refused(run: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="embeds a graph folder, and digits is none"):
        write_parts_on_cluster(tmp_path / "parts", run, Source("digits"), 2)
