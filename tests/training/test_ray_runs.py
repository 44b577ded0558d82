"""Ray trains and embeds as torchrun does, also when a worker is killed. These tests start Ray, which takes half a minute."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest

from localgcl.commands import main
from localgcl.datasets import sbm
from localgcl.training import RunFolder
from localgcl.training.embedding import Parts
from localgcl.training.ray_engine import connected, run_ranks, storage_in
from localgcl.training.train import Request
from tests.references.cluster_workers import KILLED, killed_embedding, killed_training, wrong
from tests.references.folders import stored
from tests.references.rank_workers import command, launch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

pytest.importorskip("ray")
SETTINGS = ("--encoder", "hops", "--dim", "20", "--batch", "70", "--num-features", "256", "--device", "cpu", "--steps", "20")
RAY = ("--engine", "ray", "--workers", "2")


@pytest.fixture(autouse=True, scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Commands use the connection that is there. Ray writes nothing to the home folder."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
            patch.delenv(name, raising=False)
        patch.setenv("HOME", str(home))
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        patch.setenv("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.2")  # how soon Ray notices that workers have ended
        patch.setenv("RAY_TRAIN_ENABLE_PREEMPTION_WATCHER", "0")  # a process less
        with connected(2, 1, "cpu"):
            yield
        assert not list(home.glob("*ray*"))
        assert not list(home.glob(".ray*"))


def test_workers_end_as_ranks_of_torchrun_also_when_one_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Request, "with_absolute_paths", killed_training)
    monkeypatch.setattr(Parts, "with_absolute_paths", killed_embedding)
    monkeypatch.chdir(tmp_path)  # paths are relative here, and workers are in a folder of Ray's
    stored(sbm(400, features=10, seed=0), tmp_path / "graph")
    assert main(["train", "graph", *SETTINGS, "--out", "ray", *RAY]) == 0
    said = capsys.readouterr()
    assert "2 ranks share batches of 70 nodes" in said.out
    assert (tmp_path / KILLED).exists()
    launch(2, command, "train", str(tmp_path / "graph"), *SETTINGS, "--out", str(tmp_path / "torchrun"))
    ours, theirs = RunFolder.open("ray"), RunFolder.open("torchrun")
    # Equal to the bit: the same code, ranks and threads, and gloo adds two numbers in any order alike.
    assert ours.weights.read_bytes() == theirs.weights.read_bytes()
    assert ours.embeddings.read_bytes() == theirs.embeddings.read_bytes()
    assert (ours.made["ranks"], ours.made["threads"]) == (theirs.made["ranks"], theirs.made["threads"]) == (2, 1)

    assert main(["embed", "ray", "-o", "ray-parts", *RAY]) == 0
    assert "400 embeddings in 2 files in ray-parts" in capsys.readouterr().out
    assert (tmp_path / f"{KILLED}-embedding").exists()
    launch(2, command, "embed", str(tmp_path / "torchrun"), "-o", str(tmp_path / "parts"))
    for path in (tmp_path / "parts").iterdir():
        assert (tmp_path / "ray-parts" / path.name).read_bytes() == path.read_bytes()
    assert json.loads((tmp_path / "ray-parts" / "_SUCCESS").read_text())["rows"] == 400
    # Ray's own files are gone.
    made = {KILLED, f"{KILLED}-embedding", "graph", "ray", "ray-parts", "torchrun", "parts"}
    assert {path.name for path in tmp_path.iterdir()} == made


def test_a_graph_that_is_new_to_the_run(tmp_path: Path) -> None:
    for name, seed in (("first", 0), ("second", 1)):
        stored(sbm(300, features=10, seed=seed), tmp_path / name)
    run = str(tmp_path / "run")
    assert main(["train", str(tmp_path / "first"), *SETTINGS, "--quiet", "--out", run]) == 0
    assert main(["embed", run, str(tmp_path / "second"), "-o", str(tmp_path / "parts"), *RAY]) == 0
    assert main(["embed", run, str(tmp_path / "second"), "-o", str(tmp_path / "z.parquet")]) == 0
    parts = [pyarrow.parquet.read_table(path) for path in sorted((tmp_path / "parts").glob("*.parquet"))]
    joined, one = pyarrow.concat_tables(parts), pyarrow.parquet.read_table(tmp_path / "z.parquet")
    assert joined.schema == one.schema
    for name in one.column_names:  # products of other sizes round otherwise
        assert joined[name].to_pylist() == pytest.approx(one[name].to_pylist(), abs=1e-6)


def test_an_error_of_one_worker_ends_all_and_is_raised_here(tmp_path: Path) -> None:
    said: list[str] = []
    with (
        storage_in(tmp_path) as storage,
        connected(2, 1, "cpu") as worker,
        pytest.raises(ValueError, match=r"rank 1 on .*: batch is 3"),
    ):
        run_ranks(wrong, 2, worker, storage, said.append)
    assert said == ["at work"]  # once: it was not tried again
    assert not os.listdir(tmp_path)
