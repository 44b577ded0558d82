"""Scores; METRICS, and metrics that somebody outside the package adds by one registration each."""

import json

import numpy as np
import pytest

import localgcl as lg
from localgcl.evaluation import METRICS, PRESETS, Metric, Scores, evaluate, evaluate_links, hold_out_edges
from localgcl.evaluation.presets import TARGET_PROBES
from localgcl.evaluation.scores import Array, accuracy, recall
from tests.evaluation.toys import clouds, thirds


def test_mean_and_sample_deviation() -> None:
    scores = Scores("probe", "accuracy", (80.0, 82.0, 87.0), over="3 splits")
    assert scores.mean == pytest.approx(83.0)
    assert scores.std == pytest.approx(13**0.5)  # (9 + 1 + 16) / 2
    assert str(scores) == "83.00 ± 3.61 (accuracy in %, 3 splits, probe)"


def test_one_value_has_no_deviation() -> None:
    assert str(Scores("probe", "accuracy", (80.0,))) == "80.00 ± 0.00 (accuracy in %, 1 split, probe)"


def test_json_holds_everything() -> None:
    z, y = clouds()
    scores = evaluate(z, y, [thirds(120), thirds(120, 1, "other")], steps=50)
    kept = json.loads(json.dumps(scores.to_dict()))
    assert kept["values"] == list(scores.values)
    assert kept["names"] == ["thirds", "other"]
    assert kept["mean"] == scores.mean
    assert kept["unit"] == "percent"
    assert kept["picks"][0].keys() == {"learning_rate", "weight_decay", "step"}
    assert kept["protocol"].startswith("linear probe: Adam")


def test_metrics_of_other_kinds_are_added_too(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    z, y = clouds(n=60)
    numbers = z[:, :2] @ rng.standard_normal((2, 2)) + rng.standard_normal((60, 2))

    def purity(truth: Array, predicted: Array) -> float:
        largest = [np.bincount(truth[predicted == cluster]).max() for cluster in np.unique(predicted)]
        return 100.0 * float(np.sum(largest)) / len(truth)

    def worst(truth: Array, predicted: Array) -> float:
        assert truth.shape == predicted.shape
        return float(np.abs(truth - predicted).max())

    def exact(truth: Array, predicted: Array) -> float:
        return 100.0 * float((truth == predicted).all(axis=1).mean())

    def best(truth: Array, similarity: Array) -> float:
        return 100.0 * float(truth[similarity.argmax()])

    monkeypatch.setitem(METRICS, "purity", Metric("clusters", purity))
    monkeypatch.setitem(METRICS, "largest error", Metric("regression", worst))
    monkeypatch.setitem(METRICS, "exact", Metric("multi-label", exact))
    monkeypatch.setitem(METRICS, "best", Metric("links", best))

    assert evaluate(z, y, protocol="kmeans").extra["purity"] == (100.0,) * 10
    split = thirds(60)
    scores = evaluate(z, numbers, [split])
    assert scores.extra["largest error"][0] >= scores.extra["MAE"][0] > 0
    labels = evaluate(z, (numbers > 0).astype(int), [split])
    assert list(labels.extra) == ["macro F1", "exact"]
    assert labels.extra["exact"][0] <= labels.values[0]
    graph = lg.sbm(60, classes=2, features=4, splits=0)
    training, holdout = hold_out_edges(graph, 0.2)
    assert set(evaluate_links(training.x, holdout).extra) == {"AP", "best"}


def test_every_protocol_has_its_main_metric() -> None:
    for probe in (*PRESETS.values(), *TARGET_PROBES.values()):
        assert METRICS[probe.metric].predicts == probe.predicts


def test_accuracy_and_recall() -> None:
    truth, predicted = np.array([0, 0, 0, 2]), np.array([0, 1, 0, 2])
    assert accuracy(truth, predicted) == 75.0
    assert recall(truth, predicted) == {0: pytest.approx(200 / 3), 2: 100.0}
