"""`train --overwrite`: a run is replaced by a whole one, or stays as it was."""

import datetime
import json
import os
from pathlib import Path

import pytest

from localgcl.commands import main
from localgcl.commands.output import dated
from localgcl.system.files import locked_folder
from localgcl.training import RunFolder
from localgcl.training import steps as training_loop
from localgcl.training.replacement import replaced_run
from localgcl.training.run import TrainingFailed

FAST = ["--dim", "8", "--steps", "2", "--device", "cpu", "--num-features", "16"]


@pytest.fixture
def edges(tmp_path: Path) -> list[str]:
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{i},{(i + 1) % 9}\n" for i in range(9)))
    (tmp_path / "x.csv").write_text("id,a,b\n" + "".join(f"{i},{i % 3},{i // 3}\n" for i in range(9)))
    return ["train", "--edges", str(tmp_path / "edges.csv"), "--features", str(tmp_path / "x.csv"), *FAST]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_run_is_replaced(edges: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "runs" / "mine"
    assert main([*edges, "--out", str(out), "--overwrite"]) == 0  # there is none yet
    assert main([*edges, "--out", str(out), "--seed", "5"]) == 1
    assert "replace it with --overwrite" in capsys.readouterr().err
    assert main([*edges, "--out", str(out), "--seed", "5", "--overwrite"]) == 0
    told = capsys.readouterr().out
    assert f"9 embeddings of 4 numbers in {out}\n" in told
    assert ".new" not in told
    assert RunFolder.open(out).config.training.seed == 5
    assert os.listdir(out.parent) == ["mine"]


def test_what_is_not_of_a_run_is_kept(edges: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, other = tmp_path / "run", tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("mine")
    assert main([*edges, "--out", str(out)]) == 0
    (out / "notes.txt").write_text("mine")
    (tmp_path / "link").symlink_to(out)
    (tmp_path / "file").write_text("mine")
    before = content(tmp_path)
    for folder, reason in (
        (out, "holds 'notes.txt', which no run writes"),
        (other, "is not a run folder"),
        (tmp_path / "link", "is a link or a file"),
        (tmp_path / "file", "is a link or a file"),
    ):
        capsys.readouterr()
        assert main([*edges, "--out", str(folder), "--overwrite"]) == 1
        told = capsys.readouterr()
        assert reason in told.err
        assert told.out == ""  # before the graph is read
    assert content(tmp_path) == before


def test_a_failure_or_an_interruption_leaves_the_run_as_it_was(
    edges: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "runs" / "mine"
    assert main([*edges, "--out", str(out)]) == 0
    before = content(out)
    for error, code in ((TrainingFailed("the loss became nan"), 1), (KeyboardInterrupt(), 130)):

        def fail(*_: object, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr(training_loop, "_check", fail)
        assert main([*edges, "--out", str(out), "--overwrite"]) == code
        message = capsys.readouterr().err
        assert f"; the run in {out} is as it was\n" in message
        assert "failed-1" not in message
        assert content(out) == before
        assert os.listdir(out.parent) == ["mine"]


def test_what_a_killed_process_left_is_cleared_away(edges: list[str], tmp_path: Path) -> None:
    out = tmp_path / "mine"
    assert main([*edges, "--out", str(out)]) == 0
    before = content(out)
    out.rename(tmp_path / ".mine.old")  # killed between the two renames
    with pytest.raises(RuntimeError), replaced_run(out):
        raise RuntimeError("stop here")
    assert content(out) == before
    left = tmp_path / ".mine.new"
    left.mkdir()
    (left / "config.toml").write_text("half")
    with replaced_run(out) as folder:
        assert folder == left
        assert list(folder.iterdir()) == []
        (folder / "config.toml").write_text("whole")
    assert content(out) == {"config.toml": b"whole"}
    assert not left.exists()


def test_two_processes_do_not_replace_one_run(edges: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("fcntl")
    out = tmp_path / "mine"
    assert main([*edges, "--out", str(out)]) == 0
    with locked_folder(tmp_path / ".mine.new", "unused"):
        assert main([*edges, "--out", str(out), "--overwrite"]) == 1
    assert f"another process is replacing {out}; wait for it" in capsys.readouterr().err


def test_resuming_and_replacing_exclude_each_other(
    edges: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*edges, "--out", str(tmp_path / "r"), "--resume", "--overwrite"]) == 1
    assert "leave one of them out" in capsys.readouterr().err


def test_a_run_is_named_after_the_day(edges: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = datetime.date.today()
    assert main([*edges, "--out", str(tmp_path / "mine-{date}"), "--json", "-q"]) == 0
    folder = Path(json.loads(capsys.readouterr().out)["run"])
    assert folder.name in {f"mine-{day:%Y-%m-%d}" for day in (first, datetime.date.today())}
    assert folder.is_dir()
    assert dated("{date}/{time}-{name}", datetime.datetime(2026, 1, 2, 3, 4, 5)) == "2026-01-02/030405-{name}"


@pytest.mark.parametrize("given", [["--out", "runs/{date}"], ["--out", "runs/x", "--overwrite"]])
def test_many_processes_get_a_name_from_the_shell(
    given: list[str], edges: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*edges, *given, "--engine", "ray", "--workers", "2"]) == 1
    assert "name a new folder, such as --out runs/NAME-$(date +%F)" in capsys.readouterr().err


def test_an_encoding_of_a_killed_or_failed_run_is_not_that_of_the_next(edges: list[str], tmp_path: Path) -> None:
    killed, failed = tmp_path / "killed", tmp_path / "failed"
    for folder in (killed, failed):
        folder.mkdir()
        (folder / "features.json").write_text("[]")
        (folder / "encoding.json").write_text("{}")
    (failed / "config.toml").write_text("")
    (failed / "failed.txt").write_text("the loss became nan\n")
    for folder in (killed, failed):
        assert main([*edges, "--out", str(folder), "--quiet"]) == 0
        assert RunFolder.open(folder).encoding_file is None
    assert (failed / "failed-1" / "encoding.json").read_text() == "{}"
