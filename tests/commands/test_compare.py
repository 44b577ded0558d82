import csv
from pathlib import Path

import numpy as np
import pytest

from localgcl.commands import main
from localgcl.commands.compare import _settings

QUICK = "--methods local-gcl dgi --seeds 2 --dim 8 --protocol knn --device cpu --train-share 0.3 "
QUICK += "--set steps=2 local-gcl.temperature=0.7"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two rings of thirty people in three CSV files, joined by one edge."""
    people = [f"p{i}" for i in range(60)]
    edges = [(i, 30 * (i // 30) + (i + 1) % 30) for i in range(60)] + [(0, 30)]
    x = np.random.default_rng(0).normal(size=(60, 3)).round(3)
    tables = {
        "edges": [("source", "target"), *((people[a], people[b]) for a, b in edges)],
        "features": [("id", "a", "b", "c"), *((name, *row) for name, row in zip(people, x.tolist(), strict=True))],
        "labels": [("id", "label"), *((name, i // 30) for i, name in enumerate(people))],
    }
    for name, rows in tables.items():
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str) -> int:
    return main(["compare", *command.split()])


SOURCE = "--edges edges.csv --features features.csv --labels labels.csv"


def test_from_files_to_a_table(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"{SOURCE} {QUICK}") == 0
    printed = capsys.readouterr().out
    table = printed[printed.index("Methods on edges, 2 seeds") :]
    for method in ("local-gcl", "dgi", "random-init", "raw-features"):
        assert f"\n{method} " in table
    folder = files / "comparisons" / "edges"
    assert (folder / "compare-table.md").read_text().startswith("## Methods on edges, 2 seeds")
    assert "\\begin{tabular}" in (folder / "compare-table.tex").read_text()
    with (folder / "compare.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert {row["evaluator"] for row in rows} == {"knn on test nodes, 1 stratified split of 30/10/60 for each seed"}
    assert all('"temperature": 0.7' in row["settings"] for row in rows if row["method"] == "local-gcl")
    assert run(f"{SOURCE} {QUICK}") == 0
    again = capsys.readouterr().out
    assert "results to make: 0; in comparisons/edges/compare.csv already: 8" in again
    assert again[again.index("Methods on") :] == table


@pytest.mark.filterwarnings("ignore::localgcl.LocalGCLWarning")  # a column that is not read is named
def test_the_column_of_weights_is_read(files: Path) -> None:
    """Weights are part of the graph, so results with and without them are not mixed."""
    lines = (files / "edges.csv").read_text().splitlines()
    (files / "edges.csv").write_text("\n".join([f"{lines[0]},trips", *(f"{line},{i + 1}" for i, line in enumerate(lines[1:]))]))
    quick = QUICK.replace("--seeds 2", "--seeds 1 --no-baselines")
    for weight in ("--weight trips", "--weight trips", "--weight ="):
        assert run(f"{SOURCE} {quick} {weight}".replace(" =", "=")) == 0
    with (files / "comparisons" / "edges" / "compare.csv").open(newline="") as file:
        assert [row["method"] for row in csv.DictReader(file)] == ["local-gcl", "dgi"] * 2


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "name a data set or give an edge file"),
        (f"{SOURCE} --methods grase", "did you mean 'grace'"),
        (f"{SOURCE} --set steps", "--set has 'steps'; give NAME=VALUE"),
        (f"{SOURCE} --set steps=many", "steps is 'many'; it must be of type int"),
        ("--edges edges.csv --features features.csv", "has no labels"),
        (f"{SOURCE} --train-share 0.95", "train-share is 0.95; it must be"),
    ],
)
def test_slips_are_one_line_and_leave_nothing(
    command: str, message: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set(files.iterdir())
    assert run(command) == 1
    error = capsys.readouterr().err
    assert error.startswith("localgcl: error: ")
    assert error.count("\n") == 1
    assert message in error
    assert set(files.iterdir()) == before


def test_values_are_toml_and_words_need_no_quotes() -> None:
    given = ["steps=5", "tau=0.5", "batch_norm=true", "scaling=l2", 'encoder="mlp"', 'channels=["X", "SX"]', "a=b=c", "empty="]
    assert _settings(given) == {
        "steps": 5,
        "tau": 0.5,
        "batch_norm": True,
        "scaling": "l2",
        "encoder": "mlp",
        "channels": ["X", "SX"],
        "a": "b=c",
        "empty": "",
    }
