"""Scores: what every protocol returns; and METRICS, every score of predictions by name, to which one registration adds one:

    METRICS["balanced accuracy"] = Metric("classes", lambda truth, predicted: 100 * balanced_accuracy_score(truth, predicted))

`evaluate` and `localgcl evaluate` know it from then on. A protocol's main metric is the `metric` of its `Probe`; the others
that score the same kind of predictions are `Scores.extra`.
"""

import dataclasses
import statistics
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from localgcl.system.text import html_table

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


def _scikit(name: str, scale: float = 100.0, **settings: Any) -> Callable[[Array, Array], float]:
    """A metric of scikit-learn, which is imported at the first call; in percent by default."""

    def score(truth: Array, predicted: Array) -> float:
        import sklearn.metrics

        return scale * float(getattr(sklearn.metrics, name)(truth, predicted, **settings))

    return score


def _r2(truth: Array, predicted: Array) -> float:
    """R2, averaged over targets."""
    if len(truth) < 2:
        raise ValueError("R2 needs at least two nodes in the validation and test parts of a split; label more nodes")
    return _scikit("r2_score", 1.0)(truth, predicted)


METRICS: dict[str, Metric] = {
    "accuracy": Metric("classes", accuracy),
    "NMI": Metric("clusters", _scikit("normalized_mutual_info_score")),  # by the arithmetic mean of the entropies
    "ARI": Metric("clusters", _scikit("adjusted_rand_score")),
    "micro F1": Metric("multi-label", _scikit("f1_score", average="micro", zero_division=0)),
    "macro F1": Metric("multi-label", _scikit("f1_score", average="macro", zero_division=0)),
    "R2": Metric("regression", _r2),
    "MAE": Metric("regression", _scikit("mean_absolute_error", 1.0)),
    "AUC": Metric("links", _scikit("roc_auc_score")),
    "AP": Metric("links", _scikit("average_precision_score")),
}


def all_scores(predicts: Kind, truth: Array, predicted: Array) -> dict[str, float]:
    """Every metric of such predictions, by name."""
    return {name: metric.score(truth, predicted) for name, metric in METRICS.items() if metric.predicts == predicts}


@dataclasses.dataclass(frozen=True)
class Scores:
    """The result of one evaluation, in percent, except for regression.

    Args:
        protocol: What was done, in words: the classifier, its grid and what its settings were picked on.
        metric: Name of the main metric, such as "accuracy".
        values: The main metric, one value per split (and repeat).
        validation: The same metric on the validation nodes, with the picked settings; None if nothing was validated.
        picks: The settings picked on validation, one mapping per value.
        names: What each value belongs to, such as "split 3".
        over: What mean and deviation are taken over, such as "20 splits".
        seed: The seed every random choice was derived from.
        extra: Further metrics by name, as many values each.
        splits: How the splits were made, in words; empty where the caller gave them.
        unit: "%"; empty for regression.
        recall: By class, the share of its test nodes that are classified correctly, in percent: the mean over splits. Empty
            where nothing is classified.

    Example:
        >>> print(Scores("linear probe", "accuracy", (80.0, 82.0), over="2 splits"))
        81.00 ± 1.41 (accuracy in %, 2 splits, linear probe)
    """

    protocol: str
    metric: str
    values: tuple[float, ...]
    validation: tuple[float | None, ...] = ()
    picks: tuple[Mapping[str, Any], ...] = ()
    names: tuple[str, ...] = ()
    over: str = "1 split"
    seed: int = 0
    extra: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=dict)
    splits: str = dataclasses.field(default="", compare=False)  # the same splits may be described in several ways
    unit: str = "%"
    recall: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    @property
    def std(self) -> float:
        """Sample standard deviation (n - 1 below the line); 0 for a single value."""
        return _deviation(self.values)

    def __str__(self) -> str:
        text = f"{self.shown(self.values)} ({self.measure}, {self.over}, {self.protocol})"
        return "; ".join([text, *(f"{name} {self.shown(values)}" for name, values in self.extra.items())])

    @property
    def measure(self) -> str:
        """The metric with its unit."""
        return f"{self.metric} in {self.unit}" if self.unit else self.metric

    def shown(self, values: tuple[float, ...]) -> str:
        """Mean and deviation of some values, for people."""
        return f"{self._number(statistics.fmean(values))} ± {self._number(_deviation(values))}"

    def _number(self, value: float) -> str:
        if self.unit:
            return f"{value:.2f}"
        return f"{value:.3f}" if abs(value) < 100 else f"{value:,.1f}"

    def _repr_html_(self) -> str:
        columns = {self.metric: self.values, **self.extra}
        rows = [
            (name, self._number(statistics.fmean(values)), self._number(_deviation(values))) for name, values in columns.items()
        ]
        notes = [f"{'in %, ' * bool(self.unit)}{self.over}, {self.protocol}", *[self.splits] * bool(self.splits)]
        return html_table(rows, header=("score", "mean", "deviation"), notes=notes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: every field, and `mean` and `std`."""
        unit = "percent" if self.unit else None
        return dataclasses.asdict(self) | {"mean": self.mean, "std": self.std, "unit": unit}


def _deviation(values: tuple[float, ...]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0
