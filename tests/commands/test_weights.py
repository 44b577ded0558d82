"""Edge weights on the command line: --weight names the column, and a run remembers it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import localgcl as lg
from localgcl.commands import main
from localgcl.training import RunFolder

pytestmark = pytest.mark.filterwarnings("default::localgcl.LocalGCLWarning")  # the command line prints them
FAST = ("--encoder", "gcn", "--dim", "6", "--steps", "2", "--device", "cpu", "--quiet")


def run(*arguments: str | Path) -> int:
    return main([str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ring of 20 nodes, with scores of its edges and without."""
    monkeypatch.chdir(tmp_path)
    ring = pd.DataFrame({"source": range(20), "target": [(i + 1) % 20 for i in range(20)]})
    scores = np.linspace(0.1, 5, 20)
    ring.to_csv("plain.csv", index=False)
    ring.assign(score=scores).to_csv("score.csv", index=False)
    ring.assign(weight=scores).to_csv("weight.csv", index=False)
    ring.assign(weight=[*scores[:-1], -1]).to_csv("wrong.csv", index=False)
    pd.DataFrame(np.random.default_rng(0).normal(size=(20, 4)), columns=list("abcd")).rename_axis("id").to_csv("x.csv")
    return tmp_path


def trained(name: str, *options: str) -> NDArray[Any]:
    assert run("train", "--edges", f"{name}.csv", "--features", "x.csv", *FAST, "--out", f"run-{name}", *options) == 0
    z: NDArray[Any] = np.load(f"run-{name}/embeddings.npy")
    return z


def embedded(*arguments: str) -> NDArray[Any]:
    assert run("embed", *arguments, "-o", "z.npy", "--force") == 0
    z: NDArray[Any] = np.load("z.npy")
    return z


@pytest.mark.usefixtures("files")
def test_a_run_remembers_its_column(capsys: pytest.CaptureFixture[str]) -> None:
    z = trained("score", "--weight", "score")
    assert RunFolder.open("run-score").source["weight"] == "score"
    np.testing.assert_array_equal(embedded("run-score"), z)
    np.testing.assert_array_equal(embedded("run-score", "--edges", "score.csv", "--features", "x.csv"), z)
    np.testing.assert_array_equal(
        embedded("run-score", "--edges", "weight.csv", "--features", "x.csv", "--weight", "weight"), z
    )
    assert capsys.readouterr().err == ""
    assert run("embed", "run-score", "--edges", "weight.csv", "--features", "x.csv", "-o", "z.npy", "--force") == 1
    assert "weight.csv has no edge weights called 'score', but 'weight'; name one" in capsys.readouterr().err
    assert run("train", "--resume", "--out", "run-score", "--edges", "score.csv", "--features", "x.csv", "--weight", "b") == 1
    assert "was started with weight 'score', not 'b'" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_the_column_weight_is_read_without_asking(capsys: pytest.CaptureFixture[str]) -> None:
    z = trained("weight")
    np.testing.assert_array_equal(embedded("run-weight"), z)
    assert capsys.readouterr().err == ""
    graph = lg.read_graph("weight.csv", features="x.csv")
    np.testing.assert_array_equal(lg.Embedder.load("run-weight").transform(graph), z)
    assert not np.allclose(embedded("run-weight", "--edges", "plain.csv", "--features", "x.csv"), z)


@pytest.mark.usefixtures("files")
def test_unused_columns_are_named_once_and_weights_may_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    z = trained("plain")
    assert capsys.readouterr().err == ""
    np.testing.assert_array_equal(trained("score"), z)
    assert (
        capsys.readouterr().err.count("score.csv: edge columns that are not used: 'score'; if one of them holds weights") == 1
    )
    np.testing.assert_array_equal(trained("weight", "--weight", ""), z)
    assert capsys.readouterr().err.count("weight.csv: edge columns that are not used: 'weight'") == 1


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("--edges", "wrong.csv"),
            "wrong.csv: the weight of edge 19 -> 0 is -1.0; weights are numbers from 0 to 3.4e+38: mend",
        ),
        (("--edges", "plain.csv", "--weight", "score"), "plain.csv has no edge weights called 'score'; name one that it has"),
        (("digits", "--weight", "score"), "data set 'digits' has its own edges"),
    ],
)
def test_one_line_says_what_is_wrong(arguments: tuple[str, ...], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", *arguments, *FAST) == 1
    error = capsys.readouterr().err
    assert line in error
    assert error.count("\n") == 1


@pytest.mark.usefixtures("files")
def test_a_method_says_what_ignores_weights(capsys: pytest.CaptureFixture[str]) -> None:
    fast = [option for option in FAST if option != "gcn" and option != "--encoder"]
    assert run("train", "--edges", "weight.csv", "--features", "x.csv", "--method", "sugrl", *fast, "--out", "run") == 0
    notes = capsys.readouterr().err
    assert notes.count("localgcl: note: sugrl: sampled neighbours ignore edge weights; all edges count alike there") == 1
