from typing import Any

import pytest
import torch

from localgcl.config import LocalGCLWarning
from localgcl.datasets import hide_test_labels, sbm
from localgcl.evaluation import PRESETS, evaluate, validate
from localgcl.graph import Graph, Split
from tests.evaluation.toys import clouds, thirds

QUICK: dict[str, dict[str, Any]] = {"linear": {"steps": 50}, "sklearn": {"strengths": (0.1, 1.0)}, "knn": {"ks": (1, 5)}}


@pytest.mark.parametrize("protocol", QUICK)
def test_the_values_are_the_validation_scores_of_evaluate(protocol: str) -> None:
    z, y = clouds(spread=0.8)
    splits = [thirds(120, seed) for seed in range(3)]
    scores = evaluate(z, y, splits, protocol=protocol, seed=4, **QUICK[protocol])
    validated = validate(z, y, splits, protocol=protocol, seed=4, **QUICK[protocol])
    assert validated.values == scores.validation
    assert validated.values != scores.values  # the clouds overlap, so the two differ
    assert validated.picks == scores.picks
    assert (validated.metric, validated.over) == ("validation accuracy", "3 splits")


@pytest.mark.parametrize("protocol", QUICK)
def test_labels_of_test_nodes_do_not_matter(protocol: str) -> None:
    z, y = clouds(spread=0.8)
    split = thirds(120)
    before = validate(z, y, [split], protocol=protocol, **QUICK[protocol])
    for wrong in (-1, 0, 7):  # unknown, another class, a class of their own
        changed = torch.from_numpy(y).clone()
        changed[split.test] = wrong
        assert validate(z, changed, [split], protocol=protocol, **QUICK[protocol]) == before


def test_test_nodes_are_not_needed() -> None:
    z, y = clouds()
    split = thirds(120)
    without = Split(split.train, split.val, split.test[:0], split.name)
    assert validate(z, y, [without], **QUICK["linear"]) == validate(z, y, [split], **QUICK["linear"])
    with pytest.raises(ValueError, match="no labelled test nodes"):
        evaluate(z, y, [without])
    with pytest.raises(ValueError, match="no labelled validation nodes"):
        validate(z, y, [Split(split.train, split.val[:0], split.test, "thirds")])


def test_a_graph_whose_test_labels_are_hidden_needs_no_splits_of_its_own() -> None:
    graph = sbm(200, classes=3, features=8, splits=2)
    hidden = hide_test_labels(graph, graph.splits)
    assert validate(graph.x, hidden, **QUICK["linear"]) == validate(graph.x, graph, graph.splits, **QUICK["linear"])


@pytest.mark.parametrize("protocol", sorted(set(PRESETS) - {"linear", "sklearn", "knn", "gca", "cca-ssg", "gmi", "af-gcl"}))
def test_protocols_that_validate_nothing_are_refused(protocol: str) -> None:
    z, y = clouds()
    with pytest.raises(ValueError, match=f"'{protocol}' picks nothing on validation nodes.*choose one of linear, sklearn"):
        validate(z, y, [thirds(120)] if protocol != "kmeans" else None, protocol=protocol)


def test_the_last_step_validates_nothing() -> None:
    z, y = clouds()
    with pytest.raises(ValueError, match="picks nothing"):
        validate(z, y, [thirds(120)], pick="final", learning_rates=0.1, weight_decays=0)


def test_a_class_without_training_nodes_is_told_of() -> None:
    z, y = clouds()
    split = thirds(120)
    blind = Split(split.train[y[split.train.numpy()] == 0], split.val, split.test, "blind")
    with pytest.warns(LocalGCLWarning, match="class 1: its validation nodes cannot be classified correctly"):
        validate(z, y, [blind], steps=10)


def test_bad_splits_are_named() -> None:
    z, y = clouds()
    with pytest.raises(ValueError, match="names node 120"):
        validate(z, y, [Split(torch.tensor([0, 1]), torch.tensor([120]), torch.tensor([2]), "far")])
    with pytest.raises(ValueError, match="list of splits is empty"):
        validate(z, y, [])


def test_hiding_keeps_what_splits_train_or_validate_on() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], x=torch.eye(5), y=[0, 1, 0, 1, -1])
    splits = [
        Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([2, 3, 4])),
        Split(torch.tensor([3]), torch.tensor([4]), torch.tensor([0, 1, 2])),
    ]
    hidden = hide_test_labels(graph, splits)
    assert hidden.y is not None
    assert hidden.y.tolist() == [0, 1, -1, 1, -1]
    assert graph.y is not None
    assert graph.y.tolist() == [0, 1, 0, 1, -1]
