import dataclasses
import functools
from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl.config import LocalGCLWarning
from localgcl.datasets import hide_test_labels, random_splits, stratified_splits
from localgcl.evaluation import evaluate, validate
from localgcl.experiments.compare import comparing
from localgcl.experiments.compare.comparing import chosen_methods
from localgcl.experiments.compare.comparison import FIELDS
from localgcl.graph import Graph
from localgcl.methods import METHODS, configure
from localgcl.methods.baselines import RandomInit
from localgcl.methods.dgi import DGI
from localgcl.methods.settings import choose_settings, untrained
from localgcl.recipes import recipes
from localgcl.system.files import RowFile
from localgcl.system.memory import OutOfMemory
from localgcl.training import Interrupted, fit
from tests.experiments.compare.problems import BASELINES, graph, lasting, quick
from tests.experiments.copying import Copying


class Counted:
    """`fit`, which counts its calls, keeps what it was called with, and raises `error` at call number `last`."""

    def __init__(self) -> None:
        self.calls: list[tuple[Graph, Any]] = []
        self.last, self.error = -1, BaseException()

    def __call__(self, graph: Graph, config: Any, **others: Any) -> Any:
        self.calls.append((graph, config))
        if len(self.calls) == self.last:
            raise self.error
        return fit(graph, config, **others)


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counted = Counted()
    monkeypatch.setattr(comparing, "fit", counted)
    return counted


def test_a_result_is_what_one_gets_by_hand() -> None:
    loaded, found = graph(), {(row["method"], int(row["seed"])): row for row in quick().rows}
    given = {"steps": 2, "dim": 8, "device": "cpu", "seed": 1}
    split = stratified_splits(loaded, num=1, seed=1)
    ours = choose_settings("local-gcl", loaded, given=given).config
    raw = configure("raw-features", {"scaling": ours.preparation.scaling, "device": "cpu"})
    configs = {"local-gcl": ours, "dgi": choose_settings("dgi", loaded, given=given).config, "random-init": untrained(ours)}
    for method, config in {**configs, "raw-features": raw}.items():
        z = fit(loaded, config).embed(loaded)
        score = evaluate(z, loaded, split, protocol="knn", seed=1)
        assert float(found[method, 1]["score"]) == pytest.approx(score.mean, abs=1e-4), method  # rounded to four digits
        assert int(found[method, 1]["dim"]) == z.shape[1]
    assert {int(row["steps"]) for (method, _), row in found.items() if method not in BASELINES} == {2}


def test_methods_are_trained_without_labels(fits: Counted) -> None:
    quick(graph=graph(splits=2))
    assert len(fits.calls) == 2 * 3  # raw-features are not trained
    assert all(seen.y is None and not seen.splits for seen, _ in fits.calls)


@pytest.mark.parametrize(
    ("own", "share", "evaluator", "expected"),
    [
        (0, None, "1 stratified split of 50/10/40 for each seed", {0: [0], 1: [1]}),
        (0, 0.3, "1 stratified split of 30/10/60 for each seed", {0: [0], 1: [1]}),
        (2, 0.1, "1 stratified split of 10/10/80 for each seed", {0: [0], 1: [1]}),
        (2, None, "2 splits of the graph", {0: [7, 8], 1: [7, 8]}),
    ],
)
def test_splits_are_the_same_for_all_methods(
    own: int, share: float | None, evaluator: str, expected: dict[int, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[int, list[Any]] = {}

    def watched(z: Any, loaded: Graph, splits: Any, *, seed: int, **others: Any) -> Any:
        seen.setdefault(seed, []).append(splits)
        return evaluate(z, loaded, splits, seed=seed, **others)

    monkeypatch.setattr("localgcl.experiments.compare.contest.evaluate", watched)
    loaded = graph(splits=own, seed=7)
    found = quick(graph=loaded, train_share=share)
    assert found.evaluator == f"knn on test nodes, {evaluator}"
    for seed, drawn in expected.items():
        draws = random_splits if own and share is None else functools.partial(stratified_splits, train=share or 0.5)
        wanted = [draws(loaded, num=1, seed=number)[0] for number in drawn]
        assert len(seen[seed]) == 4
        for splits in seen[seed]:
            for split, other in zip(splits, wanted, strict=True):
                assert all(torch.equal(getattr(split, part), getattr(other, part)) for part in ("train", "val", "test"))


def test_no_two_seeds_share_a_random_split() -> None:
    found = quick(splits=3)
    problem_splits = [row["scores"] for row in found.rows if row["method"] == "raw-features"]
    by_hand = [stratified_splits(graph(), num=3, seed=first) for first in (0, 3)]
    raw = {"scaling": choose_settings("local-gcl", graph()).config.preparation.scaling, "device": "cpu"}
    z = fit(graph(), configure("raw-features", raw)).embed(graph())
    for seed, (text, splits) in enumerate(zip(problem_splits, by_hand, strict=True)):
        expected = evaluate(z, graph(), splits, protocol="knn", seed=seed).values
        assert [float(part) for part in text.strip("[]").split(",")] == pytest.approx(expected, abs=1e-4)


def test_validation_reads_no_test_label() -> None:
    loaded = graph()
    splits = [split for seed in range(2) for split in random_splits(loaded, num=1, seed=seed)]
    own = loaded.with_splits(splits[:1])
    hidden = hide_test_labels(own, splits[:1])
    assert not torch.equal(hidden.y, own.y)  # type: ignore[arg-type]
    seen, blind = (quick(graph=each, on="validation", methods=("dgi",), seeds=1) for each in (own, hidden))
    scores = [[row["score"] for row in each.rows] for each in (seen, blind)]
    assert scores[0] == scores[1]
    assert "on validation nodes" in seen.evaluator
    z = fit(loaded, choose_settings("dgi", loaded, given={"steps": 2, "dim": 8, "device": "cpu"}).config).embed(loaded)
    by_hand = validate(z, own, splits[:1], protocol="knn").mean
    assert float(next(row["score"] for row in seen.rows if row["method"] == "dgi")) == pytest.approx(by_hand, abs=1e-4)


def test_a_repeated_comparison_goes_on(tmp_path: Path, fits: Counted) -> None:
    fits.last, fits.error = 3, Interrupted("stopped", [])
    with pytest.raises(
        KeyboardInterrupt, match=r"^stopped after 2 of 8 results; results are kept, repeat the command to go on$"
    ):
        quick(tmp_path)
    assert len(RowFile(tmp_path / "compare.csv", FIELDS).rows()) == 2
    assert not (tmp_path / "compare-table.md").exists()
    said: list[str] = []
    whole = quick(tmp_path, say=said.append)
    assert len(fits.calls) == 3 + 4
    assert any(line.endswith("compare.csv already: 2") for line in said)
    assert lasting(whole.rows) == lasting(quick().rows)
    again, done = quick(tmp_path), len(fits.calls)
    assert (str(again), again.rows) == (str(whole), whole.rows)
    assert len(quick(tmp_path, seeds=3).rows) == 12
    assert len(fits.calls) == done + 3  # the third seed alone


@pytest.mark.parametrize(
    ("change", "fitted", "kept"),
    [
        ({"graph": graph().with_features(graph().x + 1)}, 2, 0),
        ({"graph": dataclasses.replace(graph(), name="another name")}, 0, 3),
        ({"settings": {"steps": 3}}, 2, 1),  # raw features are the same
        ({"settings": {"steps": 2, "cca-ssg.learning_rate": 0.01}, "methods": ("dgi", "cca-ssg")}, 1, 3),
        ({"train_share": 0.2}, 2, 0),
        ({"on": "validation"}, 2, 0),
        ({"baselines": False}, 0, 1),
    ],
)
def test_results_of_another_graph_or_setting_are_not_mixed(
    change: dict[str, Any], fitted: int, kept: int, tmp_path: Path, fits: Counted
) -> None:
    options: dict[str, Any] = {"methods": ("dgi",), "seeds": 1}
    first = quick(tmp_path, **options)
    before = len(fits.calls)
    changed = quick(tmp_path, **{**options, **change})
    assert len(fits.calls) - before == fitted
    assert sum(row in first.rows for row in changed.rows) == kept
    assert sorted(row["method"] for row in changed.rows) == sorted(
        [*change.get("methods", options["methods"]), *(BASELINES if change.get("baselines", True) else ())]
    )


class Refusing(DGI):
    """A method that cannot be trained on any graph."""

    error: Exception = ValueError("the graph has\ntoo few edges")

    def check(self, graph: Graph) -> None:  # noqa: ARG002
        raise self.error


@pytest.mark.parametrize("error", [ValueError("too few\nedges"), OutOfMemory("too few edges"), RuntimeError("too few edges")])
def test_a_method_that_fails_is_a_row(error: Exception, tmp_path: Path, fits: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "mine", Refusing)
    monkeypatch.setattr(Refusing, "error", error)
    found = quick(tmp_path, methods=("mine", "local-gcl"))
    assert [line.method for line in found.lines] == ["local-gcl", "mine", *(line.method for line in found.lines[2:])]
    assert {row["outcome"] for row in found.rows if row["method"] == "mine"} == {"too few edges"}
    assert "mine: failed: too few edges" in str(found)
    assert "mine,0," in found.to_csv()
    before, said = len(fits.calls), list[str]()
    quick(tmp_path, methods=("mine", "local-gcl"), say=said.append)
    assert len(fits.calls) == before
    assert any("of which 2 failed (--retry runs them again)" in line for line in said)
    quick(tmp_path, methods=("mine", "local-gcl"), retry=True)
    assert len(fits.calls) == before + 2


def test_warnings_become_notes(recwarn: pytest.WarningsRecorder) -> None:
    settings = {"steps": 6, "dgi.keep": "best", "dgi.patience": 1, "dgi.learning_rate": 5.0}
    found = quick(settings=settings, methods=("dgi",), seeds=1, baselines=False)
    assert "the weights that are kept are the initial ones" in " ".join(str(found).split())
    assert not [warning for warning in recwarn if issubclass(warning.category, LocalGCLWarning)]


def test_recipes_are_those_of_a_named_data_set(fits: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localgcl.datasets.source.load", lambda _: graph())
    fits.error, shares = ValueError("only the settings matter here"), {}
    for fits.last, recipe in enumerate((True, False), start=1):
        quick(graph="cora", methods=("local-gcl",), seeds=1, recipe=recipe, settings={}, dim=None, baselines=False)
        shares[recipe] = fits.calls[-1][1].encoder.dropout
    assert shares[True] == recipes("local-gcl")["cora"]["dropout"] != shares[False]
    assert shares[False] == choose_settings("local-gcl", graph()).config.encoder.dropout


def test_nothing_is_written_unless_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    quick(seeds=1)
    assert not list(tmp_path.iterdir())
    quick(tmp_path / "new" / "folder", seeds=1)
    assert {path.name for path in (tmp_path / "new" / "folder").iterdir()} == {
        "compare.csv",
        "compare-table.md",
        "compare-table.tex",
        "compare-table.csv",
    }


def test_workers_do_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localgcl.experiments.sweep.Workers", Copying)
    found = quick(tmp_path, jobs=2)
    assert lasting(found.rows) == lasting(quick().rows)
    assert len(RowFile(tmp_path / "compare.csv", FIELDS).rows()) == 8
    assert {row["jobs"] for row in found.rows} == {"2"}


@pytest.mark.slow
def test_processes_do_the_same(tmp_path: Path) -> None:
    assert lasting(quick(tmp_path, jobs=2).rows) == lasting(quick().rows)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"methods": ("grase",)}, "did you mean 'grace'"),
        ({"methods": ("raw-features",)}, "methods are raw-features, which are not trained"),
        ({"seeds": 0}, "seeds is 0"),
        ({"train_share": 0.95}, "train-share is 0.95"),
        ({"protocol": "liner"}, "did you mean 'linear'"),
        ({"protocol": "kmeans", "on": "validation"}, "picks nothing on validation nodes"),
        ({"settings": {"stepps": 3}}, "did you mean 'steps'"),
        (
            {"settings": {"temperature": 0.5}},
            "'dgi' has no option 'temperature'.*; a setting of one method is written METHOD.NAME",
        ),
        ({"settings": {"grace.steps": 3}}, "setting 'grace.steps' is for 'grace', which is not compared"),
        ({"settings": {"seed": 3}}, "seed cannot be set for a method; use seeds"),
        ({"graph": graph().derived(y=None)}, "has no labels"),
        ({"graph": graph().derived(y=torch.zeros(80, dtype=torch.int64))}, "all labels are class 0"),
        ({"device": "tpu"}, "device is 'tpu'"),
    ],
)
def test_slips_cost_nothing(wrong: dict[str, Any], message: str, tmp_path: Path, fits: Counted) -> None:
    with pytest.raises(ValueError, match=message):
        quick(tmp_path / "out", **wrong)
    assert not fits.calls
    assert not (tmp_path / "out").exists()


def test_a_table_of_the_users_own_is_not_added_to(tmp_path: Path, fits: Counted) -> None:
    (tmp_path / "compare.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="has other columns than these rows"):
        quick(tmp_path)
    assert (tmp_path / "compare.csv").read_text() == "a,b\n1,2\n"
    assert not fits.calls


def test_costs_are_those_of_training() -> None:
    found = {row["method"]: row for row in quick(seeds=1).rows}
    for method in ("local-gcl", "dgi", "random-init"):
        assert (found[method]["seconds"], found[method]["peak_mib"]) == ("2.5", "3.0")
    assert (found["raw-features"]["seconds"], found["raw-features"]["peak_mib"]) == ("0.0", "")


def test_methods_may_have_commas_between() -> None:
    assert chosen_methods(["local-gcl,grace", "dgi"], baselines=False) == ["local-gcl", "grace", "dgi"]
    with pytest.raises(ValueError, match="no method 'gracee'"):
        chosen_methods(["local-gcl,gracee"], baselines=False)


@pytest.mark.parametrize("named", [("dgi", "random-init"), ("raw-features,dgi",), ("random-init", "dgi", "raw-features")])
def test_baselines_that_are_named_are_shown(named: tuple[str, ...]) -> None:
    """Without the others, and with the scores that they have beside all methods."""
    everyone = {row["method"]: row for row in lasting(quick(methods=("dgi",), seeds=1).rows)}
    found = quick(methods=named, seeds=1, baselines=False)
    wanted = {name for text in named for name in text.split(",")}
    assert {row["method"]: row for row in lasting(found.rows)} == {name: everyone[name] for name in wanted}
    assert ("random-init: the encoder of dgi" in str(found)) == ("random-init" in wanted)
    assert ("raw-features: the features, scaled as for dgi" in " ".join(str(found).split())) == ("raw-features" in wanted)


class Solved(DGI):
    """A method that is fitted by something else than steps."""

    fitter = "none"


class Guess(RandomInit):
    """A baseline from outside."""


def test_a_method_that_does_not_train_by_steps_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "solved", Solved)
    monkeypatch.setitem(METHODS, "guess", Guess)
    found = quick(methods=("solved", "guess"), baselines=False, seeds=1, settings={})
    assert {row["method"]: row["outcome"] for row in found.rows} == {"solved": "ok", "guess": "ok"}
    assert {row["steps"] for row in found.rows} == {"0"}
    assert found.reference == "solved"
