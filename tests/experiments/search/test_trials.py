import statistics

import pytest
import torch

from localgcl.datasets import sbm
from localgcl.evaluation import validate
from localgcl.experiments.search import trials
from localgcl.experiments.search.trials import Problem
from localgcl.methods import configure
from localgcl.training import fit
from paper.experiments import EXPERIMENTS
from tests.experiments.search.problems import graph

SETTINGS = {"dim": 8, "steps": 3, "negatives": "exact"}


def problem(seeds: int = 2, splits: int = 3) -> Problem:
    return Problem.of(graph(), "local-gcl", seeds=seeds, splits=splits, redraws=0, protocol="knn", device="cpu")


def test_the_score_is_the_mean_validation_accuracy_over_seeds() -> None:
    outcome = trials.run(problem(), SETTINGS)
    scores = []
    for seed in (1000, 1001):
        z = fit(graph(), configure("local-gcl", {**SETTINGS, "seed": seed, "device": "cpu"})).embed(graph())
        scores.append(validate(z, graph(), protocol="knn").mean)
    assert scores[0] != scores[1]
    assert outcome.validation == round(statistics.fmean(scores), 4)
    assert outcome.deviation == round(statistics.stdev(scores), 4)
    assert outcome.note == ""


def test_own_splits_serve_every_seed_and_random_ones_are_drawn_for_each() -> None:
    own = problem(seeds=3, splits=1)
    assert [[split.name for split in parts] for parts in own.splits] == [["random-0"]] * 3
    without = sbm(150, classes=3, features=8, splits=0)
    drawn = Problem.of(without, "local-gcl", seeds=3, splits=2, redraws=0, protocol="knn", device="cpu")
    assert [[split.name for split in parts] for parts in drawn.splits] == [["random-1000"], ["random-1001"], ["random-1002"]]


def test_no_seed_and_no_drawn_split_is_one_that_results_are_reported_on() -> None:
    reported = {seed for experiment in EXPERIMENTS.values() for line in experiment.lines for seed in range(line.seeds)}
    for given, redraws in ((0, 0), (1, 4)):
        one = sbm(150, classes=3, features=8, splits=given)
        made = Problem.of(one, "local-gcl", seeds=50, splits=3, redraws=redraws, protocol="knn", device="cpu")
        drawn = {int(split.name.rpartition("-")[2]) for parts in made.splits for split in parts[given:]}
        assert len(drawn) == (redraws or 50)
        assert reported.isdisjoint({*made.seeds, *drawn})


def test_labels_of_test_nodes_are_hidden_before_anything_runs() -> None:
    hidden = problem().graph.y
    assert hidden is not None
    used = torch.cat([nodes for split in graph().splits for nodes in (split.train, split.val)]).unique()
    assert (hidden >= 0).nonzero().flatten().tolist() == used.tolist()
    assert len(used) < graph().num_nodes


def test_settings_that_are_refused_are_noted() -> None:
    # Far too few random features for so low a temperature: sums are negative, and the library stops.
    outcome = trials.run(problem(), {**SETTINGS, "negatives": "rff", "num_features": 4, "temperature": 0.05})
    assert outcome.validation is None
    assert outcome.note.startswith("refused: ")
    assert "temperature" in outcome.note


def test_embeddings_that_are_not_finite_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localgcl.training.Model.embed", lambda *_: torch.full((150, 2), torch.nan))
    assert trials.run(problem(), SETTINGS).note == "refused: the embeddings are not finite"


def test_want_of_memory_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise torch.cuda.OutOfMemoryError

    monkeypatch.setattr(trials, "fit", full)
    assert trials.run(problem(), SETTINGS).note == "out of GPU memory"


def test_settings_that_do_not_fit_the_memory_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localgcl.training.preflight.free_memory", lambda: 0)
    assert trials.run(problem(), SETTINGS).note.startswith("refused: training local-gcl with dim ")


def test_a_bug_is_not_taken_for_bad_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("the evaluator is at fault")

    monkeypatch.setattr(trials, "validate", broken)
    with pytest.raises(ValueError, match="at fault"):
        trials.run(problem(), SETTINGS)


def test_what_the_library_warns_of_is_noted() -> None:
    # One dimension, scaled to unit length: every embedding is 1 or -1.
    outcome = trials.run(problem(), {**SETTINGS, "dim": 1, "steps": 20})
    assert outcome.validation is not None
    assert "collapse" in outcome.note


def test_a_single_split_can_be_redrawn_within_its_labelled_nodes() -> None:
    one = sbm(200, classes=3, features=8, splits=1)
    problem = Problem.of(one, "local-gcl", seeds=2, splits=3, redraws=2, protocol="knn", device="cpu")
    (own, *redrawn) = problem.splits[0]
    assert len(redrawn) == 2
    assert one.y is not None
    for split in redrawn:
        assert not torch.equal(split.train, own.train)
        assert torch.equal(torch.cat([split.train, split.val]).sort()[0], torch.cat([own.train, own.val]).sort()[0])
        assert torch.equal(one.y[split.train].bincount(), one.y[own.train].bincount())  # as many of each class
    assert problem.graph.y is not None
    assert (problem.graph.y[own.test] == -1).all()  # still hidden
    alone = Problem.of(one, "local-gcl", seeds=1, splits=0, redraws=2, protocol="knn", device="cpu")
    assert [split.name for split in alone.splits[0]] == [split.name for split in redrawn]  # the given one is left out
    with pytest.raises(ValueError, match="nothing to validate on"):
        Problem.of(one, "local-gcl", seeds=1, splits=0, redraws=0, protocol="knn", device="cpu")
    with pytest.raises(ValueError, match="a single given split"):
        Problem.of(sbm(200, splits=2), "local-gcl", seeds=1, splits=3, redraws=1, protocol="knn", device="cpu")
