"""`localgcl embed` with new files: columns are matched by name, and files are given as to `localgcl train`."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from localgcl.commands import main

pytestmark = pytest.mark.filterwarnings("default::localgcl.LocalGCLWarning")  # the command line prints them
FAST = ("--dim", "6", "--steps", "3", "--device", "cpu", "--quiet")


def run(*arguments: str | Path) -> int:
    return main([str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ring of 20 nodes in files, also with the columns in another order, with one more and with one less; and a run."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"source": range(20), "target": [(i + 1) % 20 for i in range(20)]}).to_csv("edges.csv", index=False)
    x = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 4)) * [1, 2, 3, 4], columns=list("abcd")).rename_axis("id")
    x.to_csv("x.csv")
    x[list("dbca")].to_csv("mixed.csv")
    x[list("dbca")].to_parquet("mixed.parquet")
    x.assign(e=1.0)[list("edbca")].to_csv("more.csv")
    x[list("dca")].to_csv("less.csv")
    np.save("x.npy", x.to_numpy())
    assert run("train", "--edges", "edges.csv", "--features", "x.csv", *FAST, "--out", "run") == 0
    return tmp_path


def embedded(*arguments: str) -> NDArray[Any]:
    assert run("embed", "run", *arguments, "-o", "z.npy", "--force") == 0
    z: NDArray[Any] = np.load("z.npy")
    return z


@pytest.mark.usefixtures("files")
def test_columns_are_matched_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    z = embedded()
    for features in ("x.csv", "mixed.csv", "mixed.parquet"):
        np.testing.assert_array_equal(embedded("--edges", "edges.csv", "--features", features), z)
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "position" not in printed.out
    np.testing.assert_array_equal(embedded("--edges", "edges.csv", "--features", "more.csv"), z)
    assert (
        capsys.readouterr().err.count("localgcl: note: feature columns that the model was not trained on are ignored: 'e'") == 1
    )
    np.testing.assert_array_equal(embedded("--edges", "edges.csv", "--features", "x.npy"), z)
    assert capsys.readouterr().err.count("matched by position") == 1
    assert run("embed", "run", "--edges", "edges.csv", "--features", "less.csv", "-o", "z.npy", "--force") == 1
    assert "lacks 1 of the 4 feature columns that the model was trained on: 'b'; add" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_a_graph_may_be_given_in_every_way(capsys: pytest.CaptureFixture[str]) -> None:
    z = embedded()
    np.testing.assert_array_equal(embedded("edges.csv", "--features", "mixed.csv"), z)  # the edge file in place of a data set
    assert run("embed", "run", "digits", "-o", "digits.npy") == 1  # a data set of other features
    assert "64 feature columns, but the model was trained on 4" in capsys.readouterr().err
    assert run("embed", "run", "digits", "--edges", "edges.csv", "-o", "no.npy") == 1
    assert "name a data set or give an edge file, not both" in capsys.readouterr().err
    assert run("embed", "run", "--features", "mixed.csv", "-o", "no.npy") == 1  # was ignored before
    assert "give an edge file, not neither" in capsys.readouterr().err
    assert not Path("no.npy").exists()


@pytest.mark.usefixtures("files")
def test_features_without_names_on_both_sides_go_by_position_aloud(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", "--edges", "edges.csv", "--features", "x.npy", *FAST, "--out", "bare") == 0
    capsys.readouterr()
    assert run("embed", "bare", "--edges", "edges.csv", "--features", "x.npy", "-o", "z.npy") == 0
    assert "feature columns have no names; they are matched by position" in capsys.readouterr().out
    assert run("embed", "bare", "--edges", "edges.csv", "--features", "mixed.csv", "-o", "z.npy", "--force") == 0
    assert "trained on features without names" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_a_finished_run_resumed_with_mixed_columns_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    z = np.load("run/embeddings.npy")
    Path("mixed.csv").replace("x.csv")
    assert run("train", "--resume", "--out", "run", "--quiet") == 0
    np.testing.assert_array_equal(np.load("run/embeddings.npy"), z)
    capsys.readouterr()
    Path("less.csv").replace("x.csv")
    assert run("train", "--resume", "--out", "run", "--quiet") == 1
    assert "lacks 1 of the 4 feature columns" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_structural_features_need_no_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", "--edges", "edges.csv", *FAST, "--out", "bare") == 0
    assert run("embed", "bare", "--edges", "edges.csv", "-o", "z.npy") == 0
    np.testing.assert_array_equal(np.load("z.npy"), np.load("bare/embeddings.npy"))
    printed = capsys.readouterr()
    assert "position" not in printed.out + printed.err


@pytest.mark.parametrize("name", ["..csv", ".csv", "..tsv", ". .csv", "a\x1b[31m.csv"])
def test_a_default_run_folder_lies_within_runs(files: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(name).write_text(Path("edges.csv").read_text().replace(",", "\t" if name.endswith("tsv") else ","))
    capsys.readouterr()
    assert run("train", "--edges", name, "--features", "x.csv", *FAST[:-1]) == 0
    (folder,) = (files / "runs").iterdir()
    assert folder.name == ("a-[31m" if "\x1b" in name else "graph")
    assert (folder / "config.toml").is_file()
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert f"in runs/{folder.name}" in printed


@pytest.mark.usefixtures("files")
def test_the_terminal_gets_no_escape_codes(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.csv").write_text("id,a\n0,1\n1,\x1b]0;owned\x07\n")
    capsys.readouterr()
    assert run("embed", "run", "--edges", "edges.csv", "--features", "x.csv", "-o", "z.npy") == 1
    assert run("embed", "\x1b[31mrun", "-o", "z.npy") == 1
    assert run("embed", "run", "-o", "\x1b[31m.npz") == 1
    assert run("embed", "run", "\x1b[31m", "-o", "z.npy") == 1
    printed = capsys.readouterr()
    assert printed.err.count("localgcl: error:") == 4
    assert all(line.isprintable() for line in (printed.out + printed.err).splitlines())
