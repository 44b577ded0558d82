"""Few labels: splits of the labelled nodes only, by the share to train on."""

from typing import Any

import numpy as np
import pytest
import torch

from localgcl.datasets.splits import Drawn, drawn_splits
from localgcl.evaluation import evaluate
from localgcl.graph import Graph, Split
from tests.evaluation.toys import clouds, thirds


def few_labels(n: int = 20_000, known: int = 300, classes: int = 6) -> tuple[np.ndarray, Graph]:
    z, y = clouds(n, classes=classes)
    hidden = np.full(n, -1)
    chosen = np.random.default_rng(0).choice(n, known, replace=False)
    hidden[chosen] = y[chosen]
    return z, Graph.from_edges([], [], x=np.zeros((n, 1)), y=hidden)


def test_300_labels_of_20_000_nodes_are_scored_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    z, graph = few_labels()
    scores = evaluate(z, graph, num_splits=3, protocol="sklearn")
    assert scores.mean > 95  # the clouds are ten deviations apart
    assert scores.over == "3 splits"
    assert scores.splits == "stratified, 50/10/40% of each class, of 300 labelled nodes"
    assert not recwarn.list


def test_a_share_takes_the_place_of_the_graphs_own_splits() -> None:
    z, y = clouds(90)
    graph = Graph.from_edges([], [], x=np.zeros((90, 1)), y=y, splits=[thirds(90)])
    own, drawn = evaluate(z, graph, protocol="knn"), evaluate(z, graph, protocol="knn", train_share=0.2, num_splits=4)
    assert (own.over, own.splits) == ("1 split", "those of the graph")
    assert (drawn.over, drawn.splits) == ("4 splits", "stratified, 20/10/70% of each class, of 90 labelled nodes")
    assert drawn.names == tuple(f"stratified-{seed}" for seed in range(4))


def test_settings_are_picked_on_nodes_that_are_not_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores on random labels stay at chance: no test node is among those that are learnt from or picked on."""
    rng = np.random.default_rng(0)
    z, y = rng.standard_normal((400, 20)), rng.integers(0, 2, 400)
    seen: list[Split] = []

    def watched(*given: Any, **named: Any) -> Drawn:
        found = drawn_splits(*given, **named)
        seen.extend(found.splits)
        return found

    monkeypatch.setattr("localgcl.datasets.splits.drawn_splits", watched)
    scores = evaluate(z, y, train_share=0.5, num_splits=10, protocol="sklearn", strengths=(0.1, 1.0))
    assert len(seen) == 10
    for split in seen:
        assert not torch.isin(split.test, torch.cat([split.train, split.val])).any()
    # 160 test nodes a split: a deviation of 4 points each, about 3 for the mean of 10 that share nodes.
    assert abs(scores.mean - 50) < 10


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_share": 0.5, "splits": [thirds(30)]}, "train_share is 0.5, and splits are given too"),
        ({"train_share": 0.5, "protocol": "kmeans"}, "clusters all nodes at once; leave splits and train_share"),
        ({"train_share": 0.95}, "train is 0.95 and val 0.1"),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, object], message: str) -> None:
    z, y = clouds(30)
    with pytest.raises(ValueError, match=message):
        evaluate(z, y, **changes)  # type: ignore[arg-type]
