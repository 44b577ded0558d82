"""Labels, few labels and other targets of `localgcl evaluate`."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import localgcl as lg
from localgcl.commands import main
from localgcl.datasets.source import Source

IDS = [f"n{place}" for place in range(90)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on files with 90 nodes, of which 45 have a class, and files of other targets."""
    folder = tmp_path_factory.mktemp("evaluate")
    graph = lg.sbm(90, classes=3, features=6, seed=0)
    assert graph.y is not None
    names = np.array(["gold", "basic", "student"])[graph.y.numpy()]
    x = graph.x.numpy()
    pd.DataFrame({"source": np.array(IDS)[graph.rows], "target": np.array(IDS)[graph.indices]}).to_csv(
        folder / "e.csv", index=False
    )
    pd.DataFrame(x, index=IDS).rename_axis("id").to_csv(folder / "x.csv")
    pd.DataFrame({"id": IDS[::2], "segment": names[::2]}).to_csv(folder / "y.csv", index=False)
    pd.DataFrame({"income": 1000 * x[:, 0], "who": IDS, "a": x[:, 1] > 0, "b": (x[:, 2] > 0).astype(int)}).iloc[5:].to_csv(
        folder / "targets.csv", index=False
    )
    source = Source(edges=str(folder / "e.csv"), features=str(folder / "x.csv"), labels=str(folder / "y.csv"))
    lg.train(source, folder / "run", dim=16, steps=2, device="cpu")
    np.save(folder / "z.npy", x)
    return folder


@pytest.fixture(autouse=True)
def _here(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trained)


def run(command: str) -> int:
    return main(["evaluate", *command.split()])


def test_a_share_of_few_labels_is_explained_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run --train-share 0.4 --splits 2 --protocol knn --per-class") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "(splits: stratified, 40/10/50% of each class, of 45 labelled nodes)" in lines
    start = lines.index(next(line for line in lines if line.startswith("class")))
    assert lines[start].split() == ["class", "local-gcl", "random-init", "raw-features"]
    assert [line.split()[0] for line in lines[start + 1 : start + 4]] == ["basic", "gold", "student"]


def test_without_splits_or_a_share_few_labels_are_halved(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run --splits 1 --protocol knn --no-baselines") == 0
    assert "(splits: stratified, 50/10/40% of each class, of 45 labelled nodes)" in capsys.readouterr().out


def test_numbers_in_a_file_are_predicted_beside_the_baselines(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run --labels targets.csv --id who --target-columns income --splits 2 --json") == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert list(scores) == ["local-gcl", "random-init", "raw-features"]
    assert scores["raw-features"]["mean"] > 0.95  # a column of the features
    assert {row["metric"] for row in scores.values()} == {"R2"}
    assert scores["raw-features"]["extra"]["MAE"][0] < 200
    assert "85 labelled nodes" in scores["local-gcl"]["splits"]


def test_several_columns_are_labels_of_a_node(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run --labels targets.csv --id who --target-columns a,b --splits 2") == 0
    output = capsys.readouterr().out
    assert "micro F1 in %" in output
    assert "macro F1" in output
    assert "raw-features" in output


def test_one_column_of_several_may_hold_classes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run --labels targets.csv --id who --target-columns b --splits 2 --protocol knn --no-baselines") == 0
    assert "(accuracy in %" in capsys.readouterr().out
    assert run("run --labels targets.csv --id who --target-columns b --splits 2 --no-baselines --task regression") == 0
    assert "(R2, 2 splits; ridge" in capsys.readouterr().out


def test_numbers_have_no_classes_to_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run --labels targets.csv --id who --target-columns income --per-class --splits 1 --no-baselines") == 0
    assert capsys.readouterr().out.endswith("(per class: nothing was classified)\n")


def test_a_table_of_embeddings_has_targets_too(capsys: pytest.CaptureFixture[str]) -> None:
    pd.DataFrame({"id": range(90), "v": np.load("z.npy")[:, 3]}).to_csv("v.csv", index=False)
    assert run("z.npy --labels v.csv --splits 2") == 0
    assert capsys.readouterr().out.startswith("embeddings")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("run --task regression", "a graph has classes only; give the file of other targets (--labels)"),
        ("run --target-columns a", "give the file of other targets (--labels)"),
        ("run --labels targets.csv --id who --target-columns nope", "and no 'nope'; name targets that it has"),
        ("run --labels targets.csv --id who --protocol knn", "is for classes, and these targets are none"),
        ("run --labels targets.csv", "targets are numbers, and these columns are not: 'who'; name others"),
        ("run --protocol kmeans --train-share 0.5", "leave train_share (--train-share) out"),
    ],
)
def test_slips_are_one_line(command: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"{command} --splits 1 --no-baselines") == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
