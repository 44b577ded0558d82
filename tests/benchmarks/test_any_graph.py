"""The page of defaults on graphs that nobody tuned for, and its entries in the ledger."""

from pathlib import Path

import pytest
from benchmarks.any_graph import COLUMNS, END, START, enter, means_table, page
from benchmarks.development import GRAPHS

from localgcl.experiments.compare.contenders import Row
from localgcl.system.store import RowFile
from paper.store import LEDGER_FIELDS

ROOT = Path(__file__).parents[2]
STORED = RowFile(ROOT / "benchmarks/results/any-graph.csv", COLUMNS).rows()


def rows(**scores: list[float]) -> list[Row]:
    blank = dict.fromkeys(COLUMNS, "") | {"asked": "0", "graph": "acm", "outcome": "ok", "dim": "8", "commit": "a" * 40}
    return [
        blank | {"method": method.replace("_", "-"), "seed": str(seed), "score": str(score), "key": method, "date": f"d{seed}"}
        for method, found in scores.items()
        for seed, score in enumerate(found)
    ]


def test_marks_and_sentences() -> None:
    made = page(
        rows(local_gcl=[80, 82, 84], grace=[85.0, 87.1, 89.0], dgi=[70, 71, 75], gca=[79, 83, 84], raw_features=[90, 90, 90])
    )
    assert "| grace | 8 | 87.0\N{NO-BREAK SPACE}▲ | 87.0 |" in made
    assert "| dgi | 8 | 72.0\N{NO-BREAK SPACE}▽ | 72.0 |" in made
    assert "| gca | 8 | 82.0 | 82.0 |" in made
    assert "Clearly better than Local-GCL: grace on acm. Raw features are ahead on: acm." in made


def test_methods_of_a_higher_mean_are_named() -> None:
    made = page([row | {"graph": "cora"} for row in rows(local_gcl=[80, 82, 84], grace=[81, 82, 84], dgi=[70, 71, 75])])
    assert "Higher mean over the 1 benchmarks: grace." in made


def test_a_look_is_entered_once(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.csv"
    found = rows(local_gcl=[80, 82])
    assert (enter(found, ledger), enter(found, ledger)) == (2, 0)
    assert [row["seed"] for row in RowFile(ledger, LEDGER_FIELDS).rows()] == ["0", "1"]


def test_the_stored_page_is_made_from_the_stored_rows() -> None:
    assert (ROOT / "docs/any-graph.md").read_text(encoding="utf-8") == page(STORED)


def test_the_readmes_table_is_made_from_the_stored_rows() -> None:
    assert f"{START}\n{means_table(STORED)}\n{END}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_means_are_over_graphs_that_a_method_has_all_of() -> None:
    everywhere = rows(local_gcl=[80, 82], grace=[79, 79], raw_features=[60, 60])
    found = [row | {"graph": graph, "asked": asked} for graph in GRAPHS for asked in ("0", "512") for row in everywhere]
    found += [row | {"asked": asked} for asked in ("0", "512") for row in rows(dgi=[99, 99])]  # on acm alone
    assert "| 10 benchmarks | 512 for all | 81.0 | 79.0 grace | 60.0 |" in means_table(found)
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
