import re

import pytest

from localgcl.datasets import CATALOGUE
from localgcl.methods import METHODS, configure
from paper.printed import (
    Printed,
    _tables,
    printed,
    printed_rows,
    printed_settings,
    printed_statistics,
    search_space,
)

ACCURACIES = ("tbl-exp-main", "tbl-exp-arxiv", "tbl-exp-hete", "tbl-abl-pos", "tbl-abl-hard", "tbl-abl-non-contrastive")
VARIANTS = ("local-gcl-max", "local-gcl-weight", "local-gcl-progcl-mix", "bgrl-local", "cca-ssg-local")
MAIN = ("cora", "citeseer", "pubmed", "computers", "photo", "cs", "physics")
SHAPES = {
    ("tbl-exp-main", "test"): (11, 7),
    ("tbl-exp-arxiv", "validation"): (9, 1),
    ("tbl-exp-arxiv", "test"): (9, 1),
    ("tbl-exp-hete", "test"): (8, 3),
    ("tbl-abl-pos", "test"): (3, 3),
    ("tbl-abl-hard", "test"): (2, 3),
    **{("tbl-abl-non-contrastive", quantity): (4, 2) for quantity in ("test", "minutes", "gigabytes")},
}


def test_every_table_is_there_and_nothing_else() -> None:
    assert set(_tables()) == {*ACCURACIES, "tbl-statistics", "tbl-para", "search-space"}
    assert {(table, quantity) for table in ACCURACIES for quantity in _tables()[table]} == set(SHAPES)


@pytest.mark.parametrize(("table", "quantity"), SHAPES)
def test_every_cell_is_there_under_our_names(table: str, quantity: str) -> None:
    rows, graphs = printed_rows(table, quantity)
    assert (len(rows), len(graphs)) == SHAPES[table, quantity]
    assert set(rows) <= {*METHODS, *VARIANTS}
    assert set(graphs) <= set(CATALOGUE)
    for row in rows:
        assert len(_tables()[table][quantity][row]) == len(graphs)
        for graph in graphs:
            cell = printed(table, row, graph, quantity)
            assert cell is not None
            if cell.text == "OOM":
                assert cell.mean is None
                assert cell.deviation is None
                continue
            assert cell.mean is not None
            if quantity in ("test", "validation"):
                assert re.fullmatch(r"\d\d\.\d{1,2} ± \d\.\d{1,2}", cell.text)
                assert 20 < cell.mean < 100
                assert cell.deviation is not None
                assert 0 < cell.deviation < 1.5
            else:
                assert re.fullmatch(r"\d+\.\d", cell.text)
                assert cell.deviation is None


def test_rows_of_the_main_table() -> None:
    rows, graphs = printed_rows("tbl-exp-main")
    assert set(rows) == set(METHODS) - {"random-init", "raw-features"}
    assert tuple(graphs) == MAIN


def test_spot_values() -> None:
    assert printed("tbl-exp-main", "afgrl", "computers") == Printed(89.88, 0.33, "89.88 ± 0.33")
    assert printed("tbl-exp-main", "gmi", "cs") == Printed(None, None, "OOM")
    assert printed("tbl-exp-arxiv", "local-gcl", "arxiv") == Printed(71.34, 0.25, "71.34 ± 0.25")
    assert printed("tbl-exp-arxiv", "local-gcl", "arxiv", "validation") == Printed(72.29, 0.25, "72.29 ± 0.25")
    assert printed("tbl-abl-non-contrastive", "bgrl", "physics", "minutes") == Printed(57.7, None, "57.7")
    assert printed("tbl-exp-hete", "local-gcl", "actor") == Printed(33.91, 0.57, "33.91 ± 0.57")
    assert printed_statistics("actor") == {
        "nodes": 7600,
        "edges": 33544,
        "classes": 5,
        "features": 931,
        "homophily": 0.219,
    }


def test_what_is_repeated_in_the_paper_is_the_same_everywhere() -> None:
    for table in ("tbl-abl-pos", "tbl-abl-hard"):
        for graph in ("cora", "citeseer", "pubmed"):
            assert printed(table, "local-gcl", graph) == printed("tbl-exp-main", "local-gcl", graph)
    for row in ("bgrl", "cca-ssg"):
        for graph in ("cs", "physics"):
            assert printed("tbl-abl-non-contrastive", row, graph) == printed("tbl-exp-main", row, graph)


def test_what_is_not_printed_is_none() -> None:
    assert printed("tbl-exp-main", "local-gcl", "arxiv") is None
    assert printed("tbl-exp-main", "random-init", "cora") is None
    assert printed("tbl-exp-main", "columns", "cora") is None
    assert printed("tbl-exp-main", "dgi", "cora", "minutes") is None
    assert printed_settings("actor") is None
    assert printed_settings("columns") is None
    assert printed_statistics("digits") is None


def test_names_nobody_prints_are_refused() -> None:
    with pytest.raises(ValueError, match="did you mean 'tbl-exp-main'"):
        printed("tbl-main", "dgi", "cora")
    with pytest.raises(ValueError, match="does not print 'minutes'"):
        printed_rows("tbl-exp-main", "minutes")


def test_statistics_match_the_catalogue_but_for_the_known_slips() -> None:
    slips = {("physics", "features"), ("actor", "features")}
    printed_graphs = [name for name in _tables()["tbl-statistics"] if name != "columns"]
    assert set(printed_graphs) == {
        name for name in CATALOGUE if name not in ("arxiv-structure", "digits") and not name.endswith("-filtered")
    }
    for name in printed_graphs:
        statistics = printed_statistics(name)
        assert statistics is not None
        entry = CATALOGUE[name]
        assert (statistics["nodes"], statistics["classes"], statistics["homophily"]) == (
            entry.nodes,
            entry.classes,
            entry.homophily,
        )
        assert (statistics["features"] != entry.features) == ((name, "features") in slips)


@pytest.mark.parametrize("graph", MAIN)
def test_settings_are_options_of_local_gcl(graph: str) -> None:
    settings = printed_settings(graph)
    assert settings is not None
    configure("local-gcl", settings)  # raises for an unknown option or a value out of range
    assert settings["negatives"] == "sorf"
    assert ("batch_norm" in settings) == (graph in ("cs", "physics"))
    # Every printed setting is a point of the printed grid.
    space = search_space()
    assert set(space) | {"encoder", "negatives", "batch_norm"} >= set(settings)
    assert all(settings[name] in values for name, values in space.items())
