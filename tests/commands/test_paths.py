"""Paths and extensions are checked before the work: nothing is read or trained, and nothing is left behind."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localgcl.commands import main
from localgcl.datasets.source import Source


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paths")
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"{i},{(i + 1) % 9}\n" for i in range(9)))
    (folder / "x.csv").write_text("id,a,b\n" + "".join(f"{i},{i % 3},{i // 3}\n" for i in range(9)))
    files = ["--edges", str(folder / "edges.csv"), "--features", str(folder / "x.csv")]
    assert main(["train", *files, "--dim", "8", "--steps", "2", "--device", "cpu", "--out", str(folder / "run"), "-q"]) == 0
    return folder / "run"


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the work has begun")

    monkeypatch.setattr(Source, "read", refuse)


CASES = [
    ("train digits --out file/run", "file/run cannot be written, because file is a file"),
    ("train digits --out file", "file already exists"),
    ("train digits --out full", "full already exists; choose another folder, replace it with --overwrite"),
    ("train digits --recipe nowhere.toml", "nowhere.toml does not exist"),
    ("train digits --warm-start nowhere", "nowhere does not exist"),
    ("train --edges edges.csv --features nowhere.csv", "nowhere.csv does not exist"),
    ("train --edges edges.csv --labels nowhere.csv", "nowhere.csv does not exist"),
    ("train nowhere/graph", "nowhere/graph does not exist"),
    ("embed nowhere -o z.npy", "nowhere is not a run folder"),
    ("embed RUN -o z.xyz", "z.xyz has the extension '.xyz'; known are .npy"),
    ("embed RUN -o nowhere/z.npy", "the folder nowhere does not exist"),
    ("embed RUN -o file", "file has the extension ''"),
    ("embed RUN -o old.npy", "old.npy exists already; choose another name, or replace it with --force"),
    ("embed RUN -o z.csv --precision float16", "precision is float16, but '.csv' has float32 only"),
    ("evaluate nowhere.npy --labels edges.csv", "nowhere.npy does not exist"),
    ("evaluate nowhere", "nowhere does not exist"),
    ("evaluate old.npy --labels nowhere.csv", "nowhere.csv does not exist"),
    ("compare digits --out file/c", "because file is a file"),
    ("compare --edges edges.csv --labels nowhere.csv", "nowhere.csv does not exist"),
    ("tune digits --out file/t", "because file is a file"),
    ("tune digits --space nowhere.toml", "nowhere.toml"),
    ("tune digits --start nowhere.toml", "nowhere.toml does not exist"),
    ("tune digits --out other", "was not made by localgcl tune"),
    ("convert nowhere.csv --out graph", "nowhere.csv"),
    ("convert edges.xyz --out graph", "edges.xyz"),
    ("convert edges.csv --out file/graph", "file"),
    ("convert edges.csv --features nowhere.csv --out graph", "nowhere.csv"),
]


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("line", "message"), CASES, ids=[line for line, _ in CASES])
def test_slips_are_found_before_the_work(
    line: str,
    message: str,
    trained: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("full", "other"):
        (tmp_path / folder).mkdir()
    for name in ("file", "old.npy", "full/mine", "edges.xyz", "other/recipe.toml"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert main(line.replace("RUN", str(trained)).split()) == 1
    error = capsys.readouterr().err
    assert error.startswith("localgcl: error: ")
    assert error.count("\n") == 1
    assert message in error
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"full", "other"}


def test_an_edge_file_may_stand_in_the_place_of_the_data_set(trained: Path, tmp_path: Path) -> None:
    edges, features = str(trained.parent / "edges.csv"), str(trained.parent / "x.csv")
    settings = ["--dim", "8", "--steps", "2", "--device", "cpu", "-q"]
    assert main(["train", edges, "--features", features, *settings, "--out", str(tmp_path / "run")]) == 0
    same = [np.load(folder / "embeddings.npy") for folder in (trained, tmp_path / "run")]
    assert np.array_equal(*same)
