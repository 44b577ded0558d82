"""`localgcl convert`, and the other commands on what it makes."""

import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.large.generate import BlockModel, write

from localgcl.commands import main

FAST = ("--encoder", "mlp", "--dim", "8", "--steps", "3", "--device", "cpu")


def run(*arguments: str | Path) -> int:
    return main([str(argument) for argument in arguments])


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small block model in files of the working directory."""
    monkeypatch.chdir(tmp_path)
    for role, paths in write(BlockModel(120, 500, 4, classes=3), tmp_path, kind="csv").items():
        paths[0].rename(tmp_path / f"{role}.csv")
    return tmp_path


GIVEN = ("convert", "edges.csv", "--features", "features.csv", "--labels", "labels.csv", "--out", "graph")


@pytest.mark.usefixtures("tables")
def test_a_folder_serves_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*GIVEN, "--memory", "1GiB", "--name", "people") == 0
    printed = capsys.readouterr()
    assert "graph: 120 nodes, " in printed.out
    assert "next: localgcl train graph" in printed.out
    assert printed.err == ""
    assert run("train", "graph", *FAST, "--out", "run") == 0
    assert "Graph('people': 120 nodes" in capsys.readouterr().out
    assert run("embed", "run", "graph/", "-o", "z.npy") == 0
    assert run("embed", "run", "--edges", "edges.csv", "--features", "features.csv", "-o", "files.npy") == 0
    np.testing.assert_array_equal(np.load("z.npy"), np.load("run/embeddings.npy"))
    np.testing.assert_array_equal(np.load("z.npy"), np.load("files.npy"))
    assert run("evaluate", "run", "--protocol", "knn", "--splits", "2") == 0
    quick = ("--seeds", "1", "--protocol", "knn", "--device", "cpu", "--set", "encoder=mlp", "dim=8", "steps=2")
    assert run("compare", "./graph", "--methods", "local-gcl", *quick) == 0
    capsys.readouterr()
    assert run(*GIVEN, "--name", "people") == 0
    assert "graph holds this graph already" in capsys.readouterr().out


@pytest.mark.usefixtures("tables")
def test_quiet_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*GIVEN, "--quiet") == 0
    assert capsys.readouterr() == ("", "")
    assert run(*GIVEN, "--quiet", "--name", "other") == 1
    assert "graph holds a graph of other files or options" in capsys.readouterr().err
    assert run(*GIVEN, "--memory", "much") == 1
    assert "memory is 'much'; give a number with a unit" in capsys.readouterr().err
    Path("graph/x.npy").write_bytes(b"")
    assert run("train", "graph", *FAST) == 1
    assert "x.npy has 0 bytes and not" in capsys.readouterr().err


@pytest.mark.usefixtures("tables")
def test_without_duckdb_the_extra_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert run(*GIVEN) == 1
    assert "localgcl convert needs duckdb: pip install 'localgcl[big]'" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:the embeddings have collapsed")  # of three nodes
def test_the_next_command_can_be_pasted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    edges, x, y = (str(tmp_path / name) for name in ("e.csv", "x.csv", "y.csv"))
    Path(edges).write_text("source,target\na,b\nb,c\n", encoding="utf-8")
    Path(x).write_text("id,f,g\na,0,1\nb,1,0\nc,0,2\n", encoding="utf-8")
    Path(y).write_text("id,y\na,0\nb,1\nc,0\n", encoding="utf-8")
    folder, out = str(tmp_path / "my graph"), str(tmp_path / "my run")
    assert main(["convert", edges, "--features", x, "--labels", y, "--out", folder]) == 0
    assert f"next: localgcl train '{folder}'" in capsys.readouterr().out
    assert main(["train", folder, "--dim", "8", "--steps", "1", "--out", out]) == 0
    assert f"next: localgcl evaluate '{out}'" in capsys.readouterr().out
