"""The repository's own records: what was evaluated on test nodes, where rows come from, and that records only grow."""

import collections
import functools
import itertools
import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from paper import lines
from paper.experiments import EXPERIMENTS
from paper.lookup import found
from paper.store import Store, unverified

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store() -> Store:
    if not (ROOT / "results" / "results.csv").exists():
        pytest.skip("the results are not part of this build")
    return Store(ROOT / "results")


def test_the_ledger_has_every_result(store: Store) -> None:
    """With its date: a result that was measured again has two lines."""
    ledger = {(row["recipe"], row["seed"], row["date"]) for row in store.ledger.rows()}
    results = [row for row in store.results.rows() if row["outcome"] == "ok"]
    assert [row for row in results if (row["recipe"], row["seed"], row["date"]) not in ledger] == []


def test_evaluations_by_earlier_scripts_are_entered(store: Store) -> None:
    sources = collections.Counter(row["source"].partition(":")[2] for row in store.history.rows())
    assert sources == {
        "benchmarks/results/accuracy.csv": 160,
        "benchmarks/results/published.csv": 118,
        "benchmarks/results/causes.csv": 8,
    }
    rows = [row for row in store.history.rows() if (row["method"], row["graph"]) == ("local-gcl", "citeseer")]
    first = [row for row in rows if not json.loads(row["settings"]).keys() & {"positives", "hard_negatives"}]
    # Citeseer's first recipe, seen before three more were searched.
    assert sum(float(row["test"]) for row in first) / len(first) == pytest.approx(72.54)
    assert {row["recipe"] for row in store.history.rows()}.isdisjoint(row["recipe"] for row in store.results.rows())


def test_rows_that_were_entered_by_hand_say_so(store: Store) -> None:
    """A run stores the validation accuracy and the time of day; the log from which rows were entered has neither."""
    rows = store.results.rows()
    entered = [row for row in rows if row["source"] == "printed.log"]
    assert {row["source"] for row in rows} == {"run", "printed.log"}
    assert entered == [row for row in rows if not row["validation"] or len(row["date"]) == len("2026-11-15")]
    assert collections.Counter(row["method"] for row in entered) == {"grace": 28, "sugrl": 20}
    printed = (store.folder / "printed.log").read_text()
    for row in entered:
        assert f"{row['method']} {row['graph']} seed {row['seed']}: {float(row['test']):.2f} after {row['steps']} " in printed


@pytest.fixture
def history() -> None:
    """Skips where there is no git, or not the whole history."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no git checkout")
    try:
        shallow = _git("rev-parse", "--is-shallow-repository").decode().strip()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"git cannot be asked: {error}")
    if shallow == "true":
        pytest.skip("a shallow clone has no history to check")


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("name", ["ledger", "results", "ledger-history", "corrections"])
def test_records_only_grow_but_for_listed_corrections(name: str, store: Store) -> None:
    """Each version of a file begins with the one before it, or corrections.csv has what was changed in between."""
    file = f"results/{name}.csv"
    commits = _git("log", "--reverse", "--format=%H", "--", file).decode().split()
    versions = [*((commit, _content(commit, file)) for commit in commits), ("the working tree", (ROOT / file).read_bytes())]
    # A correction names a commit that has the file as it was; rows may have been appended before it was corrected.
    corrected = [_content(row["before"], file) for row in store.corrections.rows() if row["file"] == file]
    assert name in ("ledger", "results") or corrected == []
    for (_, before), (commit, after) in itertools.pairwise(versions):
        listed = any(before.startswith(content) for content in corrected)
        assert after.startswith(before) or listed, f"{commit} rewrote {file}: list it in results/corrections.csv"


@pytest.mark.usefixtures("history")
def test_results_come_from_the_commits_they_name(store: Store) -> None:
    assert unverified(store.results.rows(), ROOT) == []


@pytest.mark.usefixtures("history")
def test_recipes_were_committed_before_they_were_evaluated(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the recipes of the commit that a result names, its line is what was run."""
    monkeypatch.setattr(lines, "arxiv", lambda: "arxiv-structure")
    results, late = store.rows(), set()
    for name, experiment in EXPERIMENTS.items():
        for line, graph in experiment.places():
            rows = found(line, graph, experiment, results)
            for commit in {row["commit"].rstrip("+") for row in rows}:
                with monkeypatch.context() as then:
                    then.setattr(lines, "recipe", functools.partial(_recipe_at, commit))
                    cell = line.cell(graph, 0, timed=experiment.timed)
                if cell is None or cell.recipe != rows[0]["recipe"]:
                    late.add((name, line.label, graph))
    # Numbers of steps that were picked on validation among the runs of figure-scale, as its table says.
    steps = ("local-gcl", "bgrl", "cca-ssg", "grace")
    assert late == {("table-arxiv", label, "arxiv-structure") for label in steps}


@functools.cache
def _recipe_at(commit: str, method: str, graph: str) -> dict[str, Any] | None:
    listed = _git("ls-tree", "--name-only", commit, "src/localgcl/recipes/").decode().split()
    path = f"src/localgcl/recipes/{method}.toml"
    if method == "local-gcl-single" and path not in listed:
        path = "src/localgcl/recipes/local-gcl.toml"  # its name before there were channels
    table = tomllib.loads(_content(commit, path).decode()).get(graph) if path in listed else None
    return table and {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}


@functools.cache
def _content(commit: str, file: str) -> bytes:
    return _git("show", f"{commit}:{file}")


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=True).stdout
