"""A conversion that is stopped goes on, and ends with the same files; nothing half-written reads as whole."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from benchmarks.large.generate import BlockModel, write

from localgcl import Graph
from localgcl.graph.stored import FolderError, Header, is_folder
from localgcl.io.folder import convert as module
from localgcl.io.folder import inputs
from localgcl.io.folder.convert import STAGES, convert
from localgcl.io.folder.work import Work, claimed
from localgcl.io.numpy_files import ArrayWriter


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A small block model, as the arguments of `convert`."""
    folder = tmp_path_factory.mktemp("tables")
    return {role: str(paths[0]) for role, paths in write(BlockModel(400, 2000, 3), folder).items()}


@pytest.fixture(scope="module")
def undisturbed(files: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The hashes of an undisturbed conversion."""
    return hashes(convert(out=tmp_path_factory.mktemp("whole") / "graph", **files))


def hashes(header: Header) -> dict[str, str]:
    return {name: told["sha256"] for name, told in header.files.items()}


class Stopped(BaseException):
    """Ends a conversion as a kill does: nothing tidies up after it."""


@pytest.mark.parametrize("stage", [*STAGES, "publish"])
def test_a_stopped_conversion_goes_on_at_the_first_unfinished_stage(
    stage: str, tmp_path: Path, files: dict[str, Any], undisturbed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    said: list[str] = []
    out = tmp_path / "graph"

    def watched(name: str, stop: bool) -> Any:
        def run(*arguments: Any) -> Any:
            ran.append(name)
            facts = STAGES[name](*arguments)
            if stop:
                raise Stopped
            return facts

        return run

    def stop(*_: Any) -> None:
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(module, "STAGES", {name: watched(name, name == stage) for name in STAGES})
        if stage == "publish":
            patch.setattr("localgcl.io.folder.work.write_header", stop)  # files are moved, and there is no header
        with pytest.raises(Stopped):
            convert(out=out, **files)
    assert is_folder(out)
    with pytest.raises(FolderError, match=r"graph has no header.json: .* localgcl convert was stopped; run it again"):
        Graph.open(out)
    done = list(ran)
    monkeypatch.setattr(module, "STAGES", {name: watched(name, False) for name in STAGES})
    assert hashes(convert(out=out, **files, say=said.append)) == undisturbed
    again = ran[len(done) :]
    assert again == ([] if stage == "publish" else list(STAGES)[list(STAGES).index(stage) :])
    assert any("going on in" in line for line in said) == (stage != "nodes")
    assert not (out / ".convert").exists()
    Graph.open(out)


KILLER = """
import os, random, shutil, signal, sys, time
from localgcl.io.folder.convert import convert
edges, features, labels, out = sys.argv[1:]
def started():
    child = os.fork()
    if child == 0:
        convert(edges, out, features=features, labels=labels)
        os._exit(0)
    return child
begun = time.perf_counter()
os.waitpid(started(), 0)
whole = time.perf_counter() - begun
shutil.rmtree(out)
drawn, killed = random.Random(0), 0
while killed < 5:
    child = started()
    time.sleep(drawn.uniform(0.1, 0.7) * whole)
    os.kill(child, signal.SIGKILL)
    if os.WIFSIGNALED(os.waitpid(child, 0)[1]):
        killed += 1
    else:
        shutil.rmtree(out)  # it was faster
convert(edges, out, features=features, labels=labels)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="starts its processes by fork")
def test_killed_five_times_at_random_it_ends_with_the_same_hashes(
    tmp_path: Path, files: dict[str, Any], undisturbed: dict[str, str]
) -> None:
    out = tmp_path / "graph"
    subprocess.run([sys.executable, "-c", KILLER, *files.values(), str(out)], check=True, timeout=120)
    header = json.loads((out / "header.json").read_text())
    assert {name: told["sha256"] for name, told in header["files"].items()} == undisturbed
    assert sorted(path.name for path in out.iterdir()) == sorted(["header.json", *undisturbed])


def test_a_finished_folder_is_left_as_it_is(tmp_path: Path, files: dict[str, Any]) -> None:
    said: list[str] = []
    out = tmp_path / "graph"
    first = convert(out=out, **files)
    assert convert(out=out, **files, say=said.append) == first
    assert said == [f"{out} holds this graph already"]


def test_other_files_or_options_are_refused(tmp_path: Path, files: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "graph"

    def stop(*_: Any) -> None:
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(Work, "publish", stop)
        with pytest.raises(Stopped):
            convert(out=out, **files)
    with pytest.raises(FolderError, match=r"holds a half-done conversion of other files or options; .* --overwrite"):
        convert(out=out, **files, name="other")
    convert(out=out, **files)
    with pytest.raises(FolderError, match=r"holds a graph of other files or options; choose another --out, or .* --overwrite"):
        convert(out=out, **files, name="other")
    os.utime(files["labels"])
    with pytest.raises(FolderError, match=r"of other files or options"):
        convert(out=out, **files)
    (out / "mine.txt").write_text("stays")
    (out / "weights.npy").write_text("stays too")
    with pytest.raises(FolderError, match=r"graph holds 'weights.npy', which localgcl convert did not make"):
        convert(out=out, **files, overwrite=True)
    (out / "weights.npy").unlink()
    assert convert(out=out, **files, name="other", overwrite=True).name == "other"
    assert (out / "mine.txt").read_text() == "stays"


def test_a_damaged_folder_is_made_again(tmp_path: Path, files: dict[str, Any]) -> None:
    out = tmp_path / "graph"
    first = convert(out=out, **files)
    os.truncate(out / "indices.npy", 200)
    assert hashes(convert(out=out, **files)) == hashes(first)
    (out / "header.json").write_text("{")
    with pytest.raises(FolderError, match=r"header.json is damaged"):
        convert(out=out, **files, overwrite=True)
    assert (out / "x.npy").exists()


def test_files_of_the_user_are_never_in_danger(tmp_path: Path, files: dict[str, Any]) -> None:
    (tmp_path / "x.npy").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(FolderError, match=r"holds 'x.npy', which localgcl convert did not make; choose another --out"):
            convert(out=tmp_path, **files, overwrite=overwrite)
    with pytest.raises(FolderError, match=r"x.npy is a file; choose another --out"):
        convert(out=tmp_path / "x.npy", **files)
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]
    (tmp_path / "other" / ".convert").mkdir(parents=True)
    (tmp_path / "other" / ".convert" / "mine.txt").write_text("mine")
    with pytest.raises(FolderError, match=r"holds '.convert/mine.txt', which localgcl convert did not make"):
        convert(out=tmp_path / "other", **files)


def test_a_folder_is_written_by_one_process_at_a_time(tmp_path: Path, files: dict[str, Any]) -> None:
    pytest.importorskip("fcntl")
    out = tmp_path / "graph"
    work = Work(out, "")
    with claimed(work):
        work.begin(integers=True)
        with pytest.raises(FolderError, match=r"another process converts into .*graph; wait for it"):
            convert(out=out, **files, overwrite=True)
        assert (out / ".convert" / "state.json").exists()


def test_a_full_disk_leaves_no_header_and_what_is_done(
    tmp_path: Path, files: dict[str, Any], undisturbed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "graph"

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(ArrayWriter, "append", full)
        with pytest.raises(OSError, match=r"the disk of .*graph is full, with .* free; make room"):
            convert(out=out, **files)
    assert not (out / "header.json").exists()
    assert hashes(convert(out=out, **files)) == undisturbed


@pytest.mark.filterwarnings("default::localgcl.LocalGCLWarning")
def test_every_array_is_written_so_that_a_full_disk_is_told(
    tmp_path: Path, files: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """np.save's error has no number, so it could not be told from others."""

    def refuse(*_: Any) -> None:
        raise AssertionError("np.save")

    monkeypatch.setattr(np, "save", refuse)
    convert(files["edges"], tmp_path / "structural")
    np.savez(tmp_path / "x.npz", x=np.ones((400, 2)), y=np.arange(400) % 2)
    (tmp_path / "e.csv").write_text("source,target\n0,1\n")
    convert(tmp_path / "e.csv", tmp_path / "arrays", features=tmp_path / "x.npz", labels=tmp_path / "x.npz")
    assert Graph.open(tmp_path / "arrays").num_classes == 2


def test_duckdb_draws_no_progress_bar_of_its_own(tmp_path: Path) -> None:
    """It would where Python is interactive, or was given -c."""
    asked = "SELECT current_setting('enable_progress_bar')"
    code = f"from localgcl.io.folder.engine import Engine; print(Engine({str(tmp_path)!r}, 2**29).rows({asked!r}))"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=120)
    assert said.stdout == "[(False,)]\n"


def test_too_little_disk_is_refused_before_anything_is_read(
    tmp_path: Path, files: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage(NamedTuple):
        free: int

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(1000))
    with pytest.raises(OSError, match=r"takes about [\d,]+ bytes \(.*\) on the disk of .*, which has 1,000 \(1000 B\) free"):
        convert(out=tmp_path / "graph", **files)
    assert not (tmp_path / "graph").exists()


def test_a_damaged_state_is_refused(tmp_path: Path, files: dict[str, Any]) -> None:
    (tmp_path / "graph" / ".convert").mkdir(parents=True)
    (tmp_path / "graph" / ".convert" / "state.json").write_text('{"inputs": 1}')
    with pytest.raises(FolderError, match=r"state.json is damaged; delete .*\.convert and run localgcl convert again"):
        convert(out=tmp_path / "graph", **files)


def test_memory_is_checked(tmp_path: Path, files: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"memory is 1.0 MiB; give at least 512.0 MiB"):
        convert(out=tmp_path / "graph", **files, memory=2**20)
    for wrong in ("", "much", "4 apples", "-1GiB"):
        with pytest.raises(ValueError, match=r"give a number with a unit, such as 4GiB"):
            inputs.parse_bytes(wrong)
    assert inputs.chosen_memory(None) >= inputs.LEAST
