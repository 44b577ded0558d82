"""The page of defaults on graphs that nobody tuned for, and its entries in the ledger."""

from pathlib import Path

import pytest
from benchmarks import convergence
from benchmarks.any_graph import COLUMNS, CURVES, END, START, enter, means_table, page, training_lengths
from benchmarks.development import GRAPHS

from localgcl.experiments.compare.comparison import Row
from localgcl.system.files import RowFile
from paper.store import LEDGER_FIELDS

ROOT = Path(__file__).parents[2]
STORED = RowFile(ROOT / "benchmarks/results/any-graph.csv", COLUMNS).rows()
STORED_CURVES = RowFile(CURVES, convergence.FIELDS).rows()


def rows(**scores: list[float]) -> list[Row]:
    blank = dict.fromkeys(COLUMNS, "") | {"asked": "0", "graph": "acm", "outcome": "ok", "dim": "8", "commit": "a" * 40}
    return [
        blank | {"method": method.replace("_", "-"), "seed": str(seed), "score": str(score), "key": method, "date": f"d{seed}"}
        for method, found in scores.items()
        for seed, score in enumerate(found)
    ]


def test_marks_and_sentences() -> None:
    made = page(
        rows(local_gcl=[80, 82, 84], grace=[85.0, 87.1, 89.0], dgi=[70, 71, 75], gca=[79, 83, 84], raw_features=[90, 90, 90]),
        [],
    )
    assert "| grace | 8 | 87.0\N{NO-BREAK SPACE}▲ | 87.0 |" in made
    assert "| dgi | 8 | 72.0\N{NO-BREAK SPACE}▽ | 72.0 |" in made
    assert "| gca | 8 | 82.0 | 82.0 |" in made
    assert "Clearly better than Local-GCL: grace on acm. Raw features are ahead on: acm." in made


def test_methods_of_a_higher_mean_are_named() -> None:
    made = page([row | {"graph": "cora"} for row in rows(local_gcl=[80, 82, 84], grace=[81, 82, 84], dgi=[70, 71, 75])], [])
    assert "Higher mean over the 1 benchmarks: grace." in made


def test_the_page_and_the_readme_say_which_graph_makes_the_lead() -> None:
    found = []
    for graph, ours in (("acm", 81.0), ("dblp", 79.0), ("flickr", 90.0)):
        found += [row | {"graph": graph} for row in rows(local_gcl=[ours, ours], grace=[80, 80], raw_features=[99, 99])]
    made = page(found, [])
    assert "| 80.0 |\n" in made  # the mean of grace
    assert "Of the lead of Local-GCL's mean over that of grace, 100% is flickr; over the other graphs" in made
    assert "the difference is +0.0 points." in made
    behind = [row | {"score": "70"} if row["method"] == "local-gcl" else row for row in found]
    assert "Of the lead" not in page(behind, [])
    assert "| acm, dblp, flickr | each method's own | 85.5 | 78.1 sugrl | flickr, 91% | 77.1 |" in means_table(STORED)


def test_the_page_says_which_baselines_train_as_long_as_their_loss_falls() -> None:
    """Of the stored curves: the 50 steps of CCA-SSG end before 90% of the fall on each graph."""
    said = training_lengths(STORED_CURVES)
    assert "How long dgi, mvgrl, gca, bgrl and afgrl train was chosen by the convergence of their own loss" in said
    assert (
        "for gmi that is so of the patience alone, and grace, cca-ssg, sugrl and af-gcl keep a published number of steps"
        in said
    )
    assert said.endswith("at the last step of grace (200 steps, 3 of 4 graphs) and cca-ssg (50 steps, 4 of 4 graphs).")
    curve = {"method": "dgi", "graph": "cora", "steps": "3000", "step_90": "2001"}
    assert training_lengths([curve]).endswith("last step of dgi (2000 steps, 1 of 1 graphs).")
    assert "less than 90%" not in training_lengths([curve | {"step_90": "2000"}])


def test_a_look_is_entered_once(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.csv"
    found = rows(local_gcl=[80, 82])
    assert (enter(found, ledger), enter(found, ledger)) == (2, 0)
    assert [row["seed"] for row in RowFile(ledger, LEDGER_FIELDS).rows()] == ["0", "1"]


def test_the_stored_page_is_made_from_the_stored_rows() -> None:
    assert (ROOT / "docs/any-graph.md").read_text(encoding="utf-8") == page(STORED, STORED_CURVES)


def test_the_readmes_table_is_made_from_the_stored_rows() -> None:
    assert f"{START}\n{means_table(STORED)}\n{END}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_means_are_over_graphs_that_a_method_has_all_of() -> None:
    everywhere = rows(local_gcl=[80, 82], grace=[79, 79], raw_features=[60, 60])
    found = [row | {"graph": graph, "asked": asked} for graph in GRAPHS for asked in ("0", "512") for row in everywhere]
    found += [row | {"asked": asked} for asked in ("0", "512") for row in rows(dgi=[99, 99])]  # on acm alone
    assert "| 10 benchmarks | 512 for all | 81.0 | 79.0 grace | cora, 10% | 60.0 |" in means_table(found)
    assert "dgi" not in means_table(found)


def test_every_stored_look_is_in_the_ledger() -> None:
    entered = {
        tuple(row[name] for name in LEDGER_FIELDS[:3]) for row in RowFile(ROOT / "results/ledger.csv", LEDGER_FIELDS).rows()
    }
    missing = [row for row in STORED if (row["date"], row["commit"], row["key"]) not in entered]
    assert not missing


@pytest.mark.parametrize("graph", ["acm", "dblp", "flickr"])
def test_each_stored_graph_has_all_methods_and_seeds(graph: str) -> None:
    found = [(row["method"], row["seed"]) for row in STORED if row["graph"] == graph and row["asked"] == "0"]
    assert len(found) == len(set(found)) == 13 * 3
