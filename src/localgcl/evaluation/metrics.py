"""METRICS: every score of predictions, by name. One registration adds one to `evaluate` and to `localgcl evaluate`:

    METRICS["balanced accuracy"] = Metric("classes", lambda truth, predicted: 100 * balanced_accuracy_score(truth, predicted))

A protocol's main metric is the `metric` of its `Probe`; the others that score the same kind of predictions are `Scores.extra`.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Kind = Literal["classes", "clusters", "multi-label", "regression", "links"]


@dataclasses.dataclass(frozen=True)
class Metric:
    """A score of predictions.

    Args:
        predicts: The predictions that it scores. "classes": one class number a node. "clusters": one cluster number a node,
            beside its class. "multi-label": a row of 0 and 1 a node. "regression": a row of numbers a node. "links": a
            similarity for each pair of nodes, beside 1 where they are joined and 0 where not.
        score: Takes the truth and the predictions of the same nodes, as arrays, and returns the score in percent; of
            "regression", in its own unit.
    """

    predicts: Kind
    score: Callable[[Array, Array], float]


def accuracy(truth: Array, predicted: Array) -> float:
    """Percentage of equal entries."""
    return 100.0 * float(np.mean(predicted == truth))


def recall(truth: Array, predicted: Array) -> dict[int, float]:
    """By class, the percentage of its nodes that are predicted correctly.

    Example:
        >>> recall(np.array([0, 0, 1]), np.array([0, 1, 1]))
        {0: 50.0, 1: 100.0}
    """
    return {label: accuracy(truth[truth == label], predicted[truth == label]) for label in np.unique(truth).tolist()}


def _mutual_information(truth: Array, predicted: Array) -> float:
    """NMI, normalised by the arithmetic mean of the entropies."""
    from sklearn.metrics import normalized_mutual_info_score

    return 100.0 * float(normalized_mutual_info_score(truth, predicted))


def _rand(truth: Array, predicted: Array) -> float:
    from sklearn.metrics import adjusted_rand_score

    return 100.0 * float(adjusted_rand_score(truth, predicted))


def _f1(truth: Array, predicted: Array, average: str) -> float:
    from sklearn.metrics import f1_score

    return 100.0 * float(f1_score(truth.astype(int), predicted, average=average, zero_division=0))


def _r2(truth: Array, predicted: Array) -> float:
    """R2, averaged over targets."""
    from sklearn.metrics import r2_score

    if len(truth) < 2:
        raise ValueError("R2 needs at least two nodes in the validation and test parts of a split; label more nodes")
    return float(r2_score(truth, predicted))


def _absolute_error(truth: Array, predicted: Array) -> float:
    from sklearn.metrics import mean_absolute_error

    return float(mean_absolute_error(truth, predicted))


def _auc(truth: Array, predicted: Array) -> float:
    from sklearn.metrics import roc_auc_score

    return 100.0 * float(roc_auc_score(truth, predicted))


def _average_precision(truth: Array, predicted: Array) -> float:
    from sklearn.metrics import average_precision_score

    return 100.0 * float(average_precision_score(truth, predicted))


METRICS: dict[str, Metric] = {
    "accuracy": Metric("classes", accuracy),
    "NMI": Metric("clusters", _mutual_information),
    "ARI": Metric("clusters", _rand),
    "micro F1": Metric("multi-label", lambda truth, predicted: _f1(truth, predicted, "micro")),
    "macro F1": Metric("multi-label", lambda truth, predicted: _f1(truth, predicted, "macro")),
    "R2": Metric("regression", _r2),
    "MAE": Metric("regression", _absolute_error),
    "AUC": Metric("links", _auc),
    "AP": Metric("links", _average_precision),
}


def all_scores(predicts: Kind, truth: Array, predicted: Array) -> dict[str, float]:
    """Every metric of such predictions, by name."""
    return {name: metric.score(truth, predicted) for name, metric in METRICS.items() if metric.predicts == predicts}
