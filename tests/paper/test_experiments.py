import dataclasses
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from localgcl.datasets import CATALOGUE
from localgcl.methods import METHODS, configure
from paper import lines as module
from paper.cells import Cell
from paper.experiments import BASELINES, EXPERIMENTS, FILTERED, FLOOR, GROUPS, MAIN, OURS
from paper.lines import Experiment, Line, arxiv
from paper.printed import printed_rows, printed_settings
from paper.store import Results, Store

ROOT = Path(__file__).parents[2]


def lines() -> Iterator[tuple[str, Line]]:
    yield from ((name, line) for name, experiment in EXPERIMENTS.items() for line in experiment.lines)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_line_has_settings_that_can_be_run_and_are_what_it_says(name: str) -> None:
    experiment = EXPERIMENTS[name]
    assert set(experiment.columns()) <= set(CATALOGUE)
    anywhere = set()
    for line, graph in experiment.places():
        assert line.method in METHODS
        settings = line.settings(graph)
        if settings is None:
            continue
        anywhere.add(line.label)
        flat = configure(line.method, settings).flat()  # raises for an option or a value that is not allowed
        assert {option: flat[option] for option in line.changes} == line.changes
        found = line.cell(graph, 3, timed=experiment.timed)
        assert found is not None
        assert (found.graph, found.seed, found.timed, found.protocol) == (graph, 3, experiment.timed, line.protocol)
        assert line.protocol == ("linear" if line.published is None else line.method)
    # What nobody has written a recipe for yet.
    without = {line.label for line in experiment.lines} - anywhere
    assert without <= ({"gca", "gmi", "mvgrl", "afgrl"} if name == "table-arxiv" else set())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_rows_have_names_of_their_own_and_points_a_place_on_the_axis(name: str) -> None:
    experiment = EXPERIMENTS[name]
    points = [(line.label, line.graphs, line.value) for line in experiment.lines]
    assert len(set(points)) == len(points)
    curve = experiment.layout == "curve"
    assert curve == bool(experiment.axis)
    option = {"steps": "steps", "d": "dim", "D": "num_features"}.get(experiment.axis, "")
    for line in experiment.lines:
        assert (line.value is not None) == curve
        assert not curve or line.changes[option] == line.value


@pytest.mark.parametrize("name", [name for name, experiment in EXPERIMENTS.items() if experiment.table])
def test_every_printed_row_is_shown_and_every_row_that_claims_one_has_it(name: str) -> None:
    experiment = EXPERIMENTS[name]
    rows, graphs = printed_rows(experiment.table)
    assert tuple(graphs) == tuple(graph for graph in experiment.graphs if graph not in FILTERED)
    claimed = {line.printed or line.label for line in experiment.lines}
    assert set(rows) <= claimed
    assert claimed - set(rows) <= {"local-gcl, channels", "random-init", "raw-features"}
    assert all(line.printed in rows for line in experiment.lines if line.printed)


def test_only_experiments_of_a_table_claim_printed_rows() -> None:
    for name, line in lines():
        assert not line.printed or EXPERIMENTS[name].table


def test_the_main_table_has_eleven_methods_and_seven_graphs() -> None:
    experiment = EXPERIMENTS["table-main"]
    assert experiment.columns() == MAIN
    assert len(MAIN) == 7
    methods = [line.label for line in experiment.lines if line.label == line.method]
    assert len(methods) == 13
    assert set(methods) == set(METHODS)  # eleven, and the two that do not train
    assert {line.label: line.seeds for line in experiment.lines}["local-gcl"] == 20


def test_lines_start_from_the_recipe_or_from_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {("local-gcl", "cora"): {"dim": 7, "scaling": "l2", "temperature": 0.9, "learning_rate": 0.5}}
    known["local-gcl-single", "cora"] = {**known["local-gcl", "cora"], "dim": 8}
    monkeypatch.setattr(module, "recipe", lambda *key: known.get(key))
    assert Line("a", "local-gcl", {"dim": 9}).settings("cora") == {**known["local-gcl", "cora"], "dim": 9}
    assert Line("a", "local-gcl", start="single").settings("cora") == known["local-gcl-single", "cora"]
    assert Line("a", "local-gcl", {"dim": 9}, start="printed").settings("cora") == {
        **(printed_settings("cora") or {}),
        "dim": 9,
    }
    for method in ("local-gcl", "random-init", "raw-features"):
        assert Line("a", method).settings("citeseer") is None
        assert Line("a", method).cell("citeseer", 0, timed=False) is None
    assert Line("a", "local-gcl", start="printed").settings("actor") is None
    # The untrained encoder is Local-GCL's; raw features depend on the preparation alone.
    untrained, raw = (Line("a", method).cell("cora", 0, timed=False) for method in ("random-init", "raw-features"))
    assert untrained is not None
    assert raw is not None
    assert (untrained.config.method, raw.config.method) == ("random-init", "raw-features")
    parent = configure("local-gcl", known["local-gcl-single", "cora"])
    assert untrained.config.encoder == parent.encoder
    assert untrained.config.preparation == raw.config.preparation == parent.preparation
    assert raw.config.encoder == configure("raw-features", {}).encoder


def test_experiments_share_cells_but_not_times() -> None:
    def keys(name: str) -> set[tuple[str, int]]:
        return {cell.key for cell in EXPERIMENTS[name].cells(["cora"])}

    ours = OURS.cell("cora", 0, timed=False)
    assert ours is not None
    assert ours.key in keys("table-main") & keys("table-hard-negatives") & keys("table-choices")
    assert not keys("table-feature-maps") & keys("table-main")
    assert all(cell.timed for cell in EXPERIMENTS["table-feature-maps"].cells(["cora"]))


SMALL = Experiment(
    "t", "", (Line("one", "local-gcl", seeds=2), Line("two", "dgi", {"dim": 8}, seeds=3), Line("three", "dgi")), ("cora", "cs")
)


def test_cells_come_row_by_row_and_can_be_narrowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "recipe", lambda method, graph: None if (method, graph) == ("dgi", "cs") else {})

    def told(*arguments: object, **narrowed: int) -> list[tuple[str, str, int]]:
        return [(cell.config.method, cell.graph, cell.seed) for cell in SMALL.cells(*arguments, **narrowed)]  # type: ignore[arg-type]

    ours = [("local-gcl", graph, seed) for graph in ("cora", "cs") for seed in (0, 1)]
    theirs = [("dgi", "cora", seed) for seed in range(3)]
    assert told() == [*ours, *theirs, *(("dgi", "cora", seed) for seed in range(5))]
    assert told(["cs"]) == ours[2:]
    assert told(["cora"], ["two"]) == theirs  # by label
    assert len(told([], ["dgi"])) == 8  # by method
    assert told(["cora"], ["one", "two"], seeds=1) == [ours[0], theirs[0]]
    assert told(["cora"], ["two"], seeds=9) == theirs


def test_arxiv_is_the_published_task_where_its_features_are_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALGCL_HOME", str(tmp_path))
    experiment = dataclasses.replace(SMALL, graphs=("arxiv", "cora"))
    assert arxiv() == "arxiv-structure"
    assert experiment.columns() == ("arxiv-structure", "cora")
    (tmp_path / "ogbn_arxiv" / "raw").mkdir(parents=True)
    (tmp_path / "ogbn_arxiv" / "raw" / "node-feat.csv.gz").touch()
    assert experiment.columns() == ("arxiv", "cora")


def test_groups_are_made_of_experiments() -> None:
    assert all(part in EXPERIMENTS for parts in GROUPS.values() for part in parts)
    assert not set(GROUPS) & set(EXPERIMENTS)


def test_choices_differ_from_the_recipe_somewhere() -> None:
    ours, *others = EXPERIMENTS["table-choices"].lines
    for line in others:
        assert any(line.settings(graph) != ours.settings(graph) for graph in EXPERIMENTS["table-choices"].graphs), line.label


def test_lines_come_from_the_registry_of_methods() -> None:
    names = [line.method for line in (*BASELINES, *FLOOR)]
    assert sorted([*names, "local-gcl"]) == sorted(METHODS)
    assert [line.method for line in FLOOR] == [name for name, kind in METHODS.items() if not kind.learns]


def test_only_rows_of_equal_budget_are_ranked() -> None:
    for name in ("table-main", "table-heterophily"):
        assert {line.label for line in EXPERIMENTS[name].lines if not line.ranked} == {
            "local-gcl",
            "local-gcl, channels",
            "random-init",
            "raw-features",
        }


def test_a_line_can_be_about_some_graphs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "recipe", lambda *_: {})
    experiment = dataclasses.replace(SMALL, lines=(Line("all", "dgi", seeds=1), Line("one", "dgi", graphs=("cs",), seeds=1)))
    assert [(line.label, graph) for line, graph in experiment.places()] == [("all", "cora"), ("all", "cs"), ("one", "cs")]
    assert len(list(experiment.cells())) == 3


def test_published_lines_are_scored_as_published() -> None:
    lines = {(line.method, graph): line for line, graph in EXPERIMENTS["table-published"].places()}
    assert len(lines) == len(EXPERIMENTS["table-published"].lines) == 26
    cell = lines["sugrl", "photo"].cell("photo", 0, timed=False)
    assert cell is not None
    assert cell.evaluator == "sugrl steps=200 weight_decays=[0.0]"
    cell = lines["grace", "cora"].cell("cora", 0, timed=False)
    assert cell is not None
    assert cell.evaluator == "grace splits=random"
    assert lines["af-gcl", "cora"].settings("cora") == {"dim": 1024, "batch_norm": False, "scaling": "raw"}


@pytest.fixture
def stored() -> Results:
    """The repository's own results."""
    folder = ROOT / "results"
    if not (folder / "results.csv").exists():
        pytest.skip("the results are not part of this build")
    return Store(folder).rows()


def test_stored_results_are_found_by_their_settings(stored: Results) -> None:
    """A recipe's hash must not change, or results would be run again and evaluated again on test nodes."""
    for (recipe, seed), row in stored.items():
        config = configure(row["method"], json.loads(row["settings"]))
        cell = Cell(config, row["graph"], seed, row["timed"] == "True", row["protocol"])
        assert cell.recipe == recipe, (row["method"], row["graph"])


def test_experiments_have_their_results(stored: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "arxiv", lambda: "arxiv-structure")
    wanted = {cell.key for name in EXPERIMENTS if name != "table-published" for cell in EXPERIMENTS[name].cells()}
    assert len(wanted & set(stored)) >= 1448
    # Seeds of bgrl and grace on arXiv, frequencies drawn once on PubMed, 11 seeds of SORF on Physics.
    assert len(wanted - set(stored)) <= 380  # 360 of them on fresh splits


def test_recipes_that_were_evaluated_before_are_marked(stored: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that no experiment asks for any more are those of earlier recipes. Local-GCL's also stem from ablations."""
    monkeypatch.setattr(module, "arxiv", lambda: "arxiv-structure")
    asked: dict[bool, set[tuple[str, str, str]]] = {False: set(), True: set()}  # by whether the evaluator is a publication's
    for experiment in EXPERIMENTS.values():
        for line, graph in experiment.places():
            if (settings := line.settings(graph)) is not None:
                for published in (False, True) if line.published is None else (True,):
                    asked[published].add((line.method, graph, _flat(line.method, json.dumps(settings))))
    history = [row for row in Store(ROOT / "results").history.rows() if not row["source"].endswith("causes.csv")]
    before = {
        (row["method"], row["graph"])
        for row in (*stored.values(), *history)
        if row["method"] not in ("local-gcl", "random-init", "raw-features")
        and (row["method"], row["graph"], _flat(row["method"], row["settings"])) not in asked[row["protocol"] != "linear"]
    }
    before.add(("cca-ssg", "arxiv-structure"))  # its first recipe is a point of figure-scale now
    marked = {place for experiment in EXPERIMENTS.values() for place in experiment.recipes_tried if "local-gcl" not in place[0]}
    assert marked == before


@cache
def _flat(method: str, settings: str) -> str:
    return json.dumps(configure(method, json.loads(settings)).flat(), sort_keys=True)


def test_recipes_of_local_gcl_that_were_evaluated_before_are_marked() -> None:
    """And what was searched until test accuracy reached a target says so."""
    main = EXPERIMENTS["table-main"]
    tried = {graph: count for (label, graph), count in main.recipes_tried.items() if label == "local-gcl"}
    assert tried == {"cora": 2, "citeseer": 4, "pubmed": 2}
    assert any("Citeseer" in note and "until a target on test nodes" in note for note in main.notes)
    for name in ("table-positives", "table-hard-negatives", "table-choices"):  # which share the recipes
        assert tried.items() == {graph: count for (_, graph), count in EXPERIMENTS[name].recipes_tried.items()}.items()
