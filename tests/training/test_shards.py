"""Embeddings in parts, and runs that are started again: one rank in this process, which takes the same way as many."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.dataset
import pytest
import torch.distributed as dist

from localgcl.commands import main
from localgcl.datasets import sbm
from localgcl.training import RunFolder
from localgcl.training.embedding import DONE, STARTED
from localgcl.training.ranks import unused_part
from tests.references.folders import stored

SETTINGS = ["--encoder", "hops", "--dim", "20", "--batch", "70", "--num-features", "64", "--steps", "3", "--device", "cpu"]
SETTINGS += ["--quiet"]


@pytest.fixture
def torchrun(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The variables that torchrun sets for the only rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name, value in {"RANK": 0, "WORLD_SIZE": 1, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}.items():
        monkeypatch.setenv(name, str(value))
    return monkeypatch


@pytest.fixture
def run(tmp_path: Path, torchrun: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:  # noqa: ARG001
    stored(sbm(400, features=10, seed=0), tmp_path / "graph")
    assert main(["train", str(tmp_path / "graph"), "--out", str(tmp_path / "run"), *SETTINGS]) == 0, capsys.readouterr().err
    return tmp_path / "run"


def test_parts_say_when_they_are_whole(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = tmp_path / "parts"
    embed = ["embed", str(run), "-o", str(parts)]
    assert main([*embed, "--precision", "float16"]) == 0
    assert json.loads((parts / DONE).read_text()) == {
        "rows": 400,
        "precision": "float16",
        "files": {"part-00000-of-00001.parquet": 400},
    }
    table = pyarrow.dataset.dataset(parts).to_table()  # leaves out what begins with _
    assert (table.num_rows, str(table.schema.types[1])) == (400, "halffloat")
    assert main(embed) == 1
    assert "is not empty; choose another folder, or replace its parts with --force" in capsys.readouterr().err
    (parts / "part-00001-of-00002.parquet").write_bytes(b"of an earlier embedding")
    (parts / "mine.txt").write_text("stays")
    assert main([*embed, "--force"]) == 0
    assert {path.name for path in parts.iterdir()} == {DONE, "part-00000-of-00001.parquet", "mine.txt"}


def cut_short(monkeypatch: pytest.MonkeyPatch, *embed: str) -> None:
    """Embeds until all parts are written, but not `DONE`: as if killed then."""

    def kill(*_: object) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr("localgcl.training.embedding.finish", kill)
        assert main([*embed]) == 1


def test_parts_that_killed_ranks_left_are_kept_by_the_same_task(
    run: Path, tmp_path: Path, torchrun: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts, embed = tmp_path / "parts", ["embed", str(run), "-o", str(tmp_path / "parts")]
    part = parts / "part-00000-of-00001.parquet"
    cut_short(torchrun, *embed)
    before = part.stat()
    assert main(embed) == 1  # started by somebody else
    assert "is not empty" in capsys.readouterr().err
    torchrun.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert main([*embed, "--precision", "float16"]) == 1  # other numbers than those that are there
    assert main(embed) == 0
    assert part.stat() == before
    assert {path.name for path in parts.iterdir()} == {DONE, part.name}
    assert main(embed) == 1  # whole now: not something that was left


def test_a_job_with_a_name_keeps_its_own_parts_and_not_those_of_another_run(
    run: Path, tmp_path: Path, torchrun: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts, embed = tmp_path / "parts", ["embed", str(run), "-o", str(tmp_path / "parts")]
    torchrun.setenv("TORCHELASTIC_RUN_ID", "nightly")
    assert main(["train", str(tmp_path / "graph"), *SETTINGS, "--seed", "1", "--out", str(tmp_path / "other")]) == 0
    cut_short(torchrun, *embed)
    assert main(["embed", str(tmp_path / "other"), "-o", str(parts)]) == 1  # as the next night's job of that name
    assert "is not empty" in capsys.readouterr().err
    (parts / "part-00000-of-00001.parquet").unlink()  # as if killed before it was whole
    assert main(embed) == 0
    assert {path.name for path in parts.iterdir()} == {DONE, "part-00000-of-00001.parquet"}


def test_a_part_that_cannot_be_written_leaves_the_folder_without_its_mark(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("localgcl.training.embedding.write_parquet", full)
        assert main(["embed", str(run), "-o", str(tmp_path / "parts")]) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "parts").iterdir()] == [STARTED]
    assert main(["embed", str(run), "-o", str(tmp_path / "parts")]) == 0  # it can be repeated


def test_ranks_embed_folders_only(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["train", "digits", "--out", str(tmp_path / "other")], ["embed", str(run), "digits", "-o", "parts"]):
        assert main(arguments) == 1
        assert "a graph folder, and digits is none; make one with localgcl convert" in capsys.readouterr().err
    assert main(["embed", str(run), "-o", "parts", "--add-edges", "e.csv"]) == 1
    assert "new nodes are embedded by one process" in capsys.readouterr().err


def test_ranks_that_are_started_again_go_on_or_begin_again(
    run: Path, tmp_path: Path, torchrun: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = RunFolder.open(run).weights.read_bytes()
    train = ["train", str(tmp_path / "graph"), *SETTINGS, "--out"]
    assert main([*train, str(run)]) == 1
    assert "already exists" in capsys.readouterr().err
    torchrun.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert main([*train, str(run)]) == 0  # finished already
    RunFolder.open(run).weights.unlink()  # as if killed before the first checkpoint
    assert main([*train, str(run)]) == 0
    assert RunFolder.open(run).weights.read_bytes() == whole
    assert main([*train, str(tmp_path / "new")]) == 0  # killed before there was a run folder
    assert (tmp_path / "new" / "weights.safetensors").read_bytes() == whole
    assert main([*train, str(run), "--seed", "5"]) == 1
    assert "was started with seed 0, not 5" in capsys.readouterr().err
    torchrun.setenv("TORCHELASTIC_RESTART_COUNT", "0")
    RunFolder.open(run).weights.unlink()
    assert main(["train", "--resume", "--out", str(run)]) == 0
    assert RunFolder.open(run).weights.read_bytes() == whole


def test_a_job_with_a_name_knows_its_runs_whoever_was_restarted(
    tmp_path: Path, torchrun: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(sbm(400, features=10, seed=0), tmp_path / "graph")
    train = ["train", str(tmp_path / "graph"), *SETTINGS, "--out", str(tmp_path / "run")]
    torchrun.setenv("TORCHELASTIC_RUN_ID", "job-7")
    assert main(train) == 0
    assert RunFolder.open(tmp_path / "run").made["job"] == "job-7"
    assert main(train) == 0
    torchrun.setenv("TORCHELASTIC_RUN_ID", "job-8")
    torchrun.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert main(train) == 1
    assert "already exists" in capsys.readouterr().err


def test_ranks_that_are_started_again_do_not_find_what_dead_ones_stored() -> None:
    store = dist.HashStore()  # type: ignore[attr-defined]
    with ThreadPoolExecutor(3) as pool:
        for _ in range(3):  # twice again
            store.set("asking/1", "of a rank that died while it asked")
            parts = list(pool.map(lambda rank: unused_part(store, rank, 3), range(3)))
            assert not any(part.check(["address"]) for part in parts)
            parts[0].set("address", "new")
            assert all(part.get("address") == b"new" for part in parts)
