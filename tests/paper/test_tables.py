import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import pytest
from scipy import stats

from paper import lines as module
from paper.cells import Cell
from paper.experiments import EXPERIMENTS, OURS
from paper.lines import Experiment, Line
from paper.lookup import best, difference, means, missing, points
from paper.store import ResultRow, Results
from paper.tables import tables
from tests.paper.problems import out_of_memory, row

OUT = "out of memory (16 GiB)"


@pytest.fixture(autouse=True)
def _recipes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything has a recipe, but gca."""
    monkeypatch.setattr(module, "recipe", lambda method, _: None if method == "gca" else {"dim": 8})
    monkeypatch.setattr(module, "arxiv", lambda: "arxiv-structure")


def at(line: Line, graph: str, seed: int, timed: bool = False) -> Cell:
    cell = line.cell(graph, seed, timed=timed)
    assert cell is not None
    return cell


def results(*rows: ResultRow) -> Results:
    return {(row["recipe"], int(row["seed"])): row for row in rows}


def seeds(line: Line, graph: str, scores: list[Any], timed: bool = False, **changes: Any) -> list[ResultRow]:
    return [row(at(line, graph, seed, timed), score, **changes) for seed, score in enumerate(scores)]


def body(name: str, experiment: Experiment, known: Results) -> Mapping[str, dict[str, list[str]]]:
    """Cells by table and first column."""
    return {table.name: {first: cells for first, *cells in table.rows} for table in tables(name, experiment, known)}


DGI, GRACE, GCA = (Line(name, name, seeds=3) for name in ("dgi", "grace", "gca"))
MAIN = Experiment(
    "Main", "Read me.", (dataclasses.replace(OURS, seeds=20), DGI, GRACE, GCA), ("cora", "cs"), table="tbl-exp-main"
)


def test_ours_stand_beside_printed_numbers_and_the_best_is_bold() -> None:
    known = results(*seeds(OURS, "cora", [80.0, 82.0] * 10), *seeds(DGI, "cora", [70.0, 70.1]), *seeds(DGI, "cs", [90.0]))
    shown = body("t", MAIN, known)["t"]
    assert shown == {
        "local-gcl": ["20", "**81.00 ± 1.03** [84.5 ± 0.4]", "not run [94.90 ± 0.19]"],
        "dgi": ["3", "70.05 ± 0.07 (2) [82.3 ± 0.6]", "**90.00 (1)** [92.15 ± 0.63]"],
        "grace": ["3", "not run [81.9 ± 0.4]", "not run [92.93 ± 0.01]"],
        "gca": ["3", "no recipe [82.3 ± 0.4]", "no recipe [93.10 ± 0.01]"],
    }


def test_seeds_beyond_the_lines_own_do_not_count() -> None:
    known = results(*seeds(DGI, "cora", [80.0, 80.0, 80.0, 99.0]))
    assert body("t", MAIN, known)["t"]["dgi"][1] == "**80.00 ± 0.00** [82.3 ± 0.6]"


def test_runs_that_kept_their_initial_weights_are_counted() -> None:
    patience = at(DGI, "cora", 0).settings["patience"]
    known = results(
        row(at(DGI, "cora", 0), 80.0, steps=patience + 1),
        row(at(DGI, "cora", 1), 80.0, steps=patience + 2),
        row(at(GRACE, "cora", 0), 70.0, steps=patience + 1),  # which has no patience
    )
    first = tables("t", MAIN, known)[0]
    shown = {label: cells for label, *cells in first.rows}
    assert (shown["dgi"][1], shown["grace"][1]) == ("**80.00 ± 0.00 (2) †1** [82.3 ± 0.6]", "70.00 (1) [81.9 ± 0.4]")
    assert first.notes == ["†n: in n runs early stopping kept the initial weights."]
    assert tables("t", MAIN, results(row(at(DGI, "cora", 1), 80.0, steps=patience + 2)))[0].notes == []


def test_out_of_memory_stands_where_a_number_would() -> None:
    known = results(*seeds(OURS, "cora", [80.0, 81.0]), *(out_of_memory(at(GRACE, "cora", seed)) for seed in (0, 1)))
    shown = body("t", MAIN, known)
    assert shown["t"]["grace"][1] == f"{OUT} [81.9 ± 0.4]"
    assert shown["t-differences"]["grace"] == [OUT, "not run"]
    assert shown["t-memory"]["grace"] == [OUT, "not run"]
    # Where some seeds fitted, these are what is shown.
    known = results(out_of_memory(at(GRACE, "cora", 0)), row(at(GRACE, "cora", 1), 70.0))
    assert body("t", MAIN, known)["t"]["grace"][1] == "**70.00 (1)** [81.9 ± 0.4]"


def test_memory_is_the_largest_of_all_seeds_and_bold_above_the_papers() -> None:
    known = results(
        row(at(DGI, "cora", 0), peak_mib=1024),
        row(at(DGI, "cora", 1), peak_mib=1536),
        row(at(DGI, "cs", 0), peak_mib=16 * 1024),
        row(at(GRACE, "cora", 0), peak_mib=16 * 1024 + 100),
        row(at(GRACE, "cs", 0), peak_mib=""),  # ran on a CPU
    )
    shown = body("t", MAIN, known)["t-memory"]
    assert shown["dgi"] == ["1.50", "16.00"]
    assert shown["grace"] == ["**16.10**", ""]
    assert shown["gca"] == ["no recipe", "no recipe"]
    assert shown["local-gcl"] == ["not run", "not run"]


def test_differences_are_of_pairs_where_seeds_draw_the_split() -> None:
    # Differences 1, 2, 3 over three seeds: 2 ± t(0.975, 2) / sqrt(3); a fourth seed of ours has no partner.
    known = results(*seeds(OURS, "cs", [81.0, 92.0, 73.0, 10.0]), *seeds(DGI, "cs", [80.0, 90.0, 70.0]))
    shown = body("t", MAIN, known)["t-differences"]
    half = 4.302653 / 3**0.5
    assert shown["dgi"] == ["not run", f"+2.00 [{2 - half:+.2f}, {2 + half:+.2f}]"]
    assert shown["gca"] == ["no recipe", "no recipe"]
    assert "local-gcl" not in shown


def test_differences_are_of_all_seeds_on_public_splits() -> None:
    ours, theirs = [81.0, 92.0, 73.0, 98.0], [80.0, 90.0, 70.0]
    low, high = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95)
    shown = body("t", MAIN, results(*seeds(OURS, "cora", ours), *seeds(DGI, "cora", theirs)))["t-differences"]
    assert shown["dgi"][0] == f"+6.00 [{low:+.2f}, {high:+.2f}]"
    # A seed counts once, by its mean, where the graph brings several splits.
    several = [[score - 5, score + 5] for score in ours]
    shown = body("t", MAIN, results(*seeds(OURS, "cora", several), *seeds(DGI, "cora", theirs)))["t-differences"]
    assert shown["dgi"][0] == f"+6.00 [{low:+.2f}, {high:+.2f}]"


def test_a_drawn_split_is_known_by_the_evaluator_too() -> None:
    line = dataclasses.replace(DGI, splits="random")
    found = difference(seeds(line, "cora", [80.0, 90.0, 70.0]), seeds(line, "cora", [79.0, 89.0, 69.0]))
    assert found is not None
    assert (found.low, found.high) == (1.0, 1.0)


def test_what_is_within_noise_of_the_highest_is_bold_too() -> None:
    lines = (OURS, DGI, GRACE, Line("gmi", "gmi", seeds=3))
    experiment = dataclasses.replace(MAIN, lines=lines, graphs=("cora",))
    known = results(
        *seeds(OURS, "cora", [80.0, 84.0] * 10),
        *seeds(DGI, "cora", [79.0, 81.0, 83.0]),
        *seeds(GRACE, "cora", [70.0, 70.1, 70.2]),
        *seeds(lines[3], "cora", [81.9]),  # one seed says nothing about noise
    )
    assert best("cora", experiment, known) == {"local-gcl", "dgi"}
    shown = body("t", experiment, known)["t"]
    assert [shown[line.label][1].startswith("**") for line in lines] == [True, True, False, False]


def test_rows_of_one_recipe_are_level() -> None:
    """One of them may have fewer seeds, as the row of a choice that is the recipe's."""
    fewer = Line("fewer", "local-gcl", OURS.changes, seeds=2)
    experiment = dataclasses.replace(MAIN, lines=(OURS, fewer), graphs=("cora",))
    known = results(*seeds(OURS, "cora", [84.0, 84.1, *[80.0, 80.2] * 9]))
    assert best("cora", experiment, known) == {"local-gcl", "fewer"}


def test_tables_say_which_test_is_behind_an_interval() -> None:
    (_, differences, _) = tables("t", MAIN, results(*seeds(OURS, "cora", [80.0])))
    assert differences.notes == [
        "cora: Welch's t over all seeds of both rows, on the public splits.",
        "cs: Student's t over pairs of runs on one split, which their seed draws.",
    ]


def test_differences_need_two_seeds_and_ours() -> None:
    known = results(*seeds(OURS, "cora", [80.0, 81.0]), *seeds(DGI, "cora", [80.0]), *seeds(GRACE, "cs", [80.0, 81.0]))
    shown = body("t", MAIN, known)["t-differences"]
    assert shown["dgi"] == ["one seed", "not run"]
    assert shown["grace"] == ["not run", "not run"]
    known = results(out_of_memory(at(OURS, "cora", 0)), *seeds(GRACE, "cora", [80.0, 81.0]))
    assert body("t", MAIN, known)["t-differences"]["grace"][0] == OUT


def test_differences_are_to_the_tables_own_row() -> None:
    """Of the same name, but other settings, as in the table about positives."""
    own = dataclasses.replace(OURS, changes={**OURS.changes, "positives": "max"})
    same = Line("weighted", "local-gcl", {**OURS.changes, "positives": "max"}, seeds=2)
    experiment = dataclasses.replace(MAIN, lines=(own, DGI, same), graphs=("cora",), table="")
    known = results(*seeds(OURS, "cora", [10.0, 10.0]), *seeds(own, "cora", [80.0, 80.0]), *seeds(DGI, "cora", [70.0, 70.0]))
    shown = body("t", experiment, known)["t-differences"]
    assert shown == {"dgi": ["+10.00 [+10.00, +10.00]"], "weighted": ["same settings"]}


def test_without_our_row_there_are_no_differences() -> None:
    experiment = dataclasses.replace(MAIN, lines=(DGI, GRACE))
    assert set(body("t", experiment, {})) == {"t", "t-memory"}


def test_tables_say_where_numbers_come_from() -> None:
    first = seeds(DGI, "cora", [80.0], hardware="B", commit="aaaaaaaaaa+", date="2031-05-06T01:00:00+00:00", jobs=3)
    second = seeds(GRACE, "cora", [80.0], hardware="A", commit="bbbbbbbbbb")
    (accuracy, *_) = tables("t", MAIN, results(*first, *second))
    assert accuracy.caption == (
        "Test accuracy in %: mean ± standard deviation over seeds, in brackets what the paper prints, in bold the highest "
        "mean and those not different from it at the 95% level. Read me."
    )
    assert accuracy.source == "2 results; evaluator linear; A and B; 2030-01-02 to 2031-05-06; commit aaaaaaa+, bbbbbbb."
    (costs,) = tables("t", dataclasses.replace(MAIN, layout="costs"), results(*first))
    assert costs.source == "1 result; evaluator linear; B; 2031-05-06; commit aaaaaaa+."
    assert costs.notes == ["Up to 3 cells ran at a time, so times do not compare."]
    unknown = tables("t", MAIN, results(*seeds(DGI, "cora", [80.0], commit="")))
    assert unknown[0].source.endswith("a GPU; 2030-01-02; commit unknown.")
    assert tables("t", MAIN, {})[0].source == "nothing has been run yet."


COSTS = Experiment(
    "Costs",
    "Read me.",
    (Line("bgrl", "bgrl", seeds=3), Line("mine", "bgrl", {"dim": 9}, seeds=3, printed="bgrl-local"), GCA),
    ("cs",),
    layout="costs",
    table="tbl-abl-non-contrastive",
    timed=True,
)


def test_costs_stand_beside_printed_ones() -> None:
    bgrl = COSTS.lines[0]
    rows = [row(at(bgrl, "cs", seed, True), 90.0, seconds=9.0 * seed + 1, peak_mib=1024 * (seed + 1)) for seed in range(3)]
    untimed = seeds(COSTS.lines[1], "cs", [99.0])  # another recipe, since it was not timed
    (table,) = tables("t", COSTS, results(*rows, *untimed))
    assert table.columns == ["method", "seeds", "cs: accuracy", "cs: time", "cs: GiB"]
    assert table.rows == [
        ["bgrl", "3", "90.00 ± 0.00 [92.59 ± 0.17]", "10.00 s [30.4 min]", "3.00 [2.9]"],
        ["mine", "3", "not run [92.98 ± 0.23]", "[18.2 min]", "[1.8]"],
        ["gca", "3", "no recipe", "", ""],
    ]
    assert "in brackets what the paper prints, measured on its GPU" in table.caption
    (plain,) = tables("t", dataclasses.replace(COSTS, table=""), results(*rows))
    assert plain.rows[0] == ["bgrl", "3", "90.00 ± 0.00", "10.00 s", "3.00"]
    assert "brackets" not in plain.caption


def test_arxiv_shows_validation_and_test_and_warns_of_other_features(monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = Experiment("arxiv", "Read me.", (DGI, GRACE, GCA), ("arxiv",), layout="validation", table="tbl-exp-arxiv")
    known = results(
        *seeds(DGI, "arxiv-structure", [60.0, 62.0], validation=65.0, seconds=12.345, peak_mib=2048),
        out_of_memory(at(GRACE, "arxiv-structure", 0)),
    )
    (table,) = tables("t", experiment, known)
    assert table.title == "arxiv (arxiv-structure)"
    assert table.rows == [
        ["dgi", "3", "65.00 ± 0.00 (2)", "71.21 ± 0.23", "61.00 ± 1.41 (2)", "70.32 ± 0.25", "12.35 s", "2.00"],
        ["grace", "3", OUT, "OOM", OUT, "OOM", "", ""],
        ["gca", "3", "no recipe", "OOM", "no recipe", "OOM", "", ""],
    ]
    assert table.caption.endswith("so this is NOT the published task, and numbers do not compare with printed ones.")
    assert table.notes == ["Read me."]
    monkeypatch.setattr(module, "arxiv", lambda: "arxiv")
    (table,) = tables("t", experiment, results(*seeds(DGI, "arxiv", [60.0])))
    assert table.title == "arxiv (arxiv)"
    assert table.rows[0][2:] == ["70.00 (1)", "71.21 ± 0.23", "60.00 (1)", "70.32 ± 0.25", "1.50 s", "0.50"]
    assert table.caption.endswith("Read me.")


CURVE = Experiment(
    "Curve",
    "Read me.",
    (
        *(Line("local-gcl", "local-gcl", {"steps": steps}, seeds=2, value=steps) for steps in (10, 5)),
        Line("dgi", "dgi", {"steps": 10}, seeds=2, value=10),
        Line("gca", "gca", {"steps": 20}, seeds=2, value=20),
    ),
    ("arxiv", "cora"),
    layout="curve",
    axis="steps",
)
TEN, FIVE, OTHER, _ = CURVE.lines


def test_a_curve_has_a_column_a_value_and_a_row_a_graph_and_method() -> None:
    known = results(
        *seeds(TEN, "arxiv-structure", [60.0, 61.0]),
        *seeds(FIVE, "cora", [50.0]),
        out_of_memory(at(OTHER, "cora", 0)),
    )
    (table,) = tables("t", CURVE, known)
    assert table.columns == ["method", "graph", "steps = 5", "steps = 10", "steps = 20"]
    assert table.rows == [
        ["local-gcl", "arxiv-structure", "not run", "60.50 ± 0.71", ""],
        ["dgi", "arxiv-structure", "", "not run", ""],
        ["gca", "arxiv-structure", "", "", "no recipe"],
        ["local-gcl", "cora", "50.00 (1)", "not run", ""],
        ["dgi", "cora", "", OUT, ""],
        ["gca", "cora", "", "", "no recipe"],
    ]
    assert "Features were made from the edges" in table.caption
    assert "for values of steps." in table.caption
    drawn = points(CURVE, known)
    assert [(point["row"], point["value"], point["graph"], point["test"]) for point in drawn] == [
        ("local-gcl", "10", "arxiv-structure", "60.0"),
        ("local-gcl", "10", "arxiv-structure", "61.0"),
        ("local-gcl", "5", "cora", "50.0"),
    ]
    (plain,) = tables("t", dataclasses.replace(CURVE, graphs=("cora",)), known)
    assert plain.caption.endswith("Read me.")


def test_a_timed_curve_shows_times() -> None:
    timed = dataclasses.replace(CURVE, timed=True)
    rows = [row(at(TEN, "cora", seed, True), 60.0 + seed, seconds=seed + 1) for seed in (0, 1)]
    (table,) = tables("t", timed, results(*rows))
    assert table.rows[3] == ["local-gcl", "cora", "not run", "60.50 ± 0.71; 1.50 s", ""]
    assert "median time of the training loop" in table.caption


def test_what_is_missing_is_one_line_a_row() -> None:
    ours = dataclasses.replace(OURS, seeds=2)
    experiment = dataclasses.replace(MAIN, lines=(ours, DGI, GRACE, GCA), graphs=("cora", "cs", "photo"))
    known = results(
        *(one for graph in experiment.graphs for one in seeds(ours, graph, [80.0, 80.0])),
        *seeds(DGI, "cs", [80.0]),
        *(out_of_memory(at(GRACE, graph, seed)) for graph in experiment.graphs for seed in range(3)),
    )
    assert missing(experiment, known) == [
        "dgi: not run on cora, photo; 1 of 3 seeds on cs",
        "gca: no recipe on cora, cs, photo",
    ]
    assert missing(CURVE, results(*seeds(TEN, "cora", [60.0, 61.0]))) == [
        "local-gcl: not run on arxiv-structure (steps = 10, 5), cora (steps = 5)",
        "dgi: not run on arxiv-structure (steps = 10), cora (steps = 10)",
        "gca: no recipe on arxiv-structure (steps = 20), cora (steps = 20)",
    ]


def test_only_ranked_rows_are_compared() -> None:
    longer = dataclasses.replace(OURS, seeds=2, ranked=False)
    experiment = dataclasses.replace(MAIN, lines=(longer, DGI, GRACE), graphs=("cora",))
    known = results(*seeds(longer, "cora", [90.0, 90.0]), *seeds(DGI, "cora", [80.0]), *seeds(GRACE, "cora", [81.0]))
    shown = body("t", experiment, known)["t"]
    assert [shown[label][1].startswith("**") for label in ("local-gcl", "dgi", "grace")] == [False, False, True]
    assert "in bold the highest mean of the ranked rows and those" in tables("t", experiment, known)[0].caption
    assert means("cora", experiment, known) == {"dgi": 80.0, "grace": 81.0}
    assert (best("cora", experiment, known), best("cora", experiment, {})) == ({"grace"}, set())


def test_a_recipe_that_was_not_the_first_is_marked() -> None:
    experiment = dataclasses.replace(MAIN, recipes_tried={("dgi", "cora"): 2})
    known = results(*seeds(DGI, "cora", [80.0]), *seeds(DGI, "cs", [80.0]))
    (first, *_) = tables("t", experiment, known)
    assert {label: cells for label, *cells in first.rows}["dgi"][1:] == [
        "**80.00 (1) ‡2** [82.3 ± 0.6]",
        "**80.00 (1)** [92.15 ± 0.63]",
    ]
    assert first.notes == [
        "‡n: n recipes were evaluated on test nodes; this is the last one, so the number is slightly optimistic."
    ]


def test_published_results_stand_beside_ours() -> None:
    lines = (
        Line("dgi", "dgi", graphs=("cora",), protocol="dgi", published=82.0, seeds=2),
        Line("dgi", "dgi", graphs=("cs",), protocol="dgi", probe={"repeats": 3}, published=92.0, note="shorter", seeds=2),
        Line("gca", "gca", graphs=("cs",), protocol="gca", published=92.5, splits="random", seeds=2),
    )
    experiment = Experiment("Published", "Read me.", lines, ("cora", "cs"), layout="published")
    (table,) = tables("t", experiment, results(*seeds(lines[0], "cora", [81.0, 82.0]), *seeds(lines[1], "cs", [90.0])))
    assert table.columns == ["method", "graph", "evaluator", "test accuracy", "seeds", "published", "difference", "note"]
    assert table.rows == [
        ["dgi", "cora", "dgi", "81.50 ± 0.71", "2", "82.0", "-0.50", ""],
        ["dgi", "cs", "dgi repeats=3", "90.00", "1", "92.0", "-2.00 (miss)", "shorter"],
        ["gca", "cs", "gca", "no recipe", "0", "92.5", "", ""],
    ]
    assert missing(experiment, {}) == ["dgi: not run on cora, cs", "gca: no recipe on cs"]


def test_differences_of_fewer_than_two_seeds_are_none() -> None:
    assert difference(seeds(OURS, "cora", [80.0, 81.0]), seeds(DGI, "cora", [80.0])) is None
    found = difference(seeds(OURS, "cora", [80.0, 82.0]), seeds(DGI, "cora", [79.0, 81.0]))
    assert found is not None
    assert (found.n, found.difference) == (2, 1.0)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_captions_have_two_sentences_at_most(name: str) -> None:
    for table in tables(name, EXPERIMENTS[name], {}):
        assert len(re.findall(r"[.!?](?= |$)", table.caption)) <= 2, table.caption
