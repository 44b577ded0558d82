"""Targets that are no classes: several 0/1 labels of a node, or numbers. Linear models on frozen embeddings."""

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from localgcl.datasets.splits import VALIDATION, default_share, draw_splits, in_percent
from localgcl.evaluation.inputs import read_embeddings
from localgcl.evaluation.scores import Scores
from localgcl.evaluation.task import Matrix, normalised_rows, select, to_scikit
from localgcl.graph import Split

TargetTask = Literal["multi-label", "regression"]
Array = NDArray[Any]

STRENGTHS = tuple(4.0**power for power in range(-3, 6))
"""Inverse penalties of the logistic regressions."""
PENALTIES = tuple(10.0**power for power in range(-2, 6))
"""Penalties of ridge regression on standardised columns."""


class Fitted(NamedTuple):
    """What was picked on validation nodes, the score there, and metrics on test nodes by name, the main one first."""

    pick: Mapping[str, float]
    validation: float
    scores: Mapping[str, float]


@dataclasses.dataclass(frozen=True)
class Rows:
    """Embeddings and targets of the nodes of one part of a split."""

    x: Any
    y: Array


def evaluate_targets(
    z: Any,
    targets: Any,
    splits: Sequence[Split] | None = None,
    *,
    task: Literal["auto", "multi-label", "regression"] = "auto",
    train_share: float | None = None,
    num_splits: int = 20,
    seed: int = 0,
) -> Scores:
    """Scores embeddings against several 0/1 labels of each node, or against numbers.

    Multi-label: one logistic regression for each label on unit rows, micro and macro F1 in percent. Regression: ridge on
    standardised columns, R2 and mean absolute error, averaged over targets. Penalties are picked on validation nodes.

    Args:
        z: One row per node, as for `evaluate`.
        targets: One row per node, shape (n,) or (n, targets). Nodes with a NaN are unlabelled and left out.
        splits: Which nodes to learn, validate and test on; random ones when not given.
        task: "auto" is multi-label for several columns of 0 and 1, else regression.
        train_share: Share of the labelled nodes to train on; a tenth is for validation. By default 0.1, or 0.5 of fewer than
            1,000 labelled nodes.
        num_splits: Random splits.
        seed: Seed of the first split.

    Example:
        >>> z = np.random.default_rng(0).normal(size=(200, 4))
        >>> evaluate_targets(z, 3 * z[:, 0] + 1, num_splits=2).mean > 0.99
        True
    """
    x, y = read_embeddings(z), read_target_values(targets)
    if x.shape[0] != len(y):
        raise ValueError(f"z has {x.shape[0]} rows, but there are {len(y)} rows of targets; give one row per node, in order")
    known = np.asarray(~np.isnan(y).any(axis=1))
    kind = _kind(y[known]) if task == "auto" else task
    _check(y[known], kind)
    told = ""
    if splits is None:
        splits, told = _draw(known, train_share, num_splits, seed)
    elif train_share is not None:
        raise ValueError(f"train_share is {train_share}, and splits are given too; give one of them")
    found = [_scored(kind, *(_part(x, y, nodes, known) for nodes in (split.train, split.val, split.test))) for split in splits]
    main, *others = found[0].scores
    return Scores(
        protocol=_PROTOCOLS[kind],
        metric=main,
        values=tuple(one.scores[main] for one in found),
        validation=tuple(one.validation for one in found),
        picks=tuple(one.pick for one in found),
        names=tuple(split.name for split in splits),
        over=f"{len(splits)} split{'s' * (len(splits) != 1)}",
        seed=seed,
        extra={name: tuple(one.scores[name] for one in found) for name in others},
        splits=told,
        unit="%" if kind == "multi-label" else "",
    )


def read_target_values(targets: Any) -> Array:
    """Targets as a float64 matrix; ValueError if they are none."""
    try:
        y = np.asarray(targets.detach().cpu() if isinstance(targets, torch.Tensor) else targets, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"targets are a {type(targets).__name__} that holds no numbers; give one row of them per node"
        ) from error
    if y.ndim not in (1, 2) or 0 in y.shape:
        raise ValueError(f"targets have shape {y.shape}; give shape (n,) or (n, targets), a row per node")
    if np.isinf(y).any():
        raise ValueError(
            f"targets of row {int(np.argwhere(np.isinf(y))[0, 0])} are infinite; set them to NaN if they are unknown"
        )
    return y.reshape(len(y), -1)


def are_targets(values: Any) -> bool:
    """Whether labels are no classes: several columns of numbers, or numbers that are not whole."""
    try:
        y = read_target_values(values)
    except ValueError:
        return False
    known = y[~np.isnan(y)]
    return y.shape[1] > 1 or bool((known != np.floor(known)).any())


def _kind(y: Array) -> TargetTask:
    return "multi-label" if y.shape[1] > 1 and np.isin(y, (0, 1)).all() else "regression"


def _check(y: Array, kind: TargetTask) -> None:
    if kind == "multi-label" and not np.isin(y, (0, 1)).all():
        raise ValueError(f"multi-label targets hold {y[~np.isin(y, (0, 1))][0]:g}; give 0 and 1, and NaN where unknown")
    if not len(y):
        raise ValueError("no node has all targets; give numbers, and NaN only where they are unknown")
    constant = np.flatnonzero((y == y[:1]).all(axis=0))
    if len(constant) == y.shape[1] or (kind == "regression" and len(constant)):
        raise ValueError(f"target {int(constant[0])} has the same value for all {len(y)} labelled nodes; leave it out")


def _draw(known: NDArray[np.bool_], train_share: float | None, num: int, seed: int) -> tuple[list[Split], str]:
    labelled = int(known.sum())
    share = default_share(labelled) if train_share is None else train_share
    y = torch.where(torch.from_numpy(known), 0, -1)
    return draw_splits(y, num, share, VALIDATION, seed), f"random, {in_percent(share)}% of {labelled:,} labelled nodes"


def _part(x: Matrix, y: Array, nodes: torch.Tensor, known: NDArray[np.bool_]) -> Rows:
    kept = nodes.cpu()[torch.from_numpy(known)[nodes.cpu()]]
    if not len(kept):
        raise ValueError("a split has no labelled nodes in one of its parts; label more nodes, or give other splits")
    return Rows(select(x, kept), y[kept.numpy()])


def _scored(kind: TargetTask, train: Rows, val: Rows, test: Rows) -> Fitted:
    return (_one_vs_rest if kind == "multi-label" else _ridge)(train, val, test)


def _one_vs_rest(train: Rows, val: Rows, test: Rows) -> Fitted:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score
    from sklearn.multiclass import OneVsRestClassifier

    x, held, tested = (to_scikit(normalised_rows(part.x)) for part in (train, val, test))

    def fit(strength: float) -> Any:
        with warnings.catch_warnings():
            # A label that no training node has, or all have, is always answered so.
            warnings.filterwarnings("ignore", message="Label .* is present in all training examples")
            return OneVsRestClassifier(LogisticRegression(solver="liblinear", C=strength)).fit(x, train.y.astype(int))

    def f1(truth: Array, predicted: Any, average: str) -> float:
        return 100.0 * float(f1_score(truth.astype(int), predicted, average=average, zero_division=0))

    model, strength, best = _best(STRENGTHS, fit, lambda model: f1(val.y, model.predict(held), "micro"))
    answers = model.predict(tested)
    return Fitted({"C": strength}, best, {f"{how} F1": f1(test.y, answers, how) for how in ("micro", "macro")})


def _ridge(train: Rows, val: Rows, test: Rows) -> Fitted:
    from sklearn.linear_model import Ridge
    from sklearn.metrics import mean_absolute_error, r2_score
    from sklearn.preprocessing import StandardScaler

    # Columns of sparse features stay sparse: they are scaled, not centred.
    scaler = StandardScaler(with_mean=isinstance(train.x, torch.Tensor)).fit(to_scikit(train.x))
    x, held, tested = (scaler.transform(to_scikit(part.x)) for part in (train, val, test))
    mean, deviation = train.y.mean(axis=0), np.maximum(train.y.std(axis=0), 1e-12)

    def predict(model: Any, rows: Any) -> Array:
        answers: Array = np.asarray(model.predict(rows)).reshape(-1, train.y.shape[1]) * deviation + mean
        return answers

    def fit(penalty: float) -> Any:
        return Ridge(alpha=penalty).fit(x, (train.y - mean) / deviation)

    model, penalty, best = _best(PENALTIES, fit, lambda model: _r2(val.y, predict(model, held), r2_score))
    answers = predict(model, tested)
    error = float(mean_absolute_error(test.y, answers))
    return Fitted({"penalty": penalty}, best, {"R2": _r2(test.y, answers, r2_score), "MAE": error})


def _r2(truth: Array, predicted: Array, r2_score: Callable[..., Any]) -> float:
    """R2, averaged over targets."""
    if len(truth) < 2:
        raise ValueError("R2 needs at least two nodes in the validation and test parts of a split; label more nodes")
    return float(r2_score(truth, predicted))


def _best(grid: Sequence[float], fit: Callable[[float], Any], score: Callable[[Any], float]) -> tuple[Any, float, float]:
    """The model of the highest validation score, ties to the first, with its setting and that score."""
    best: tuple[Any, float, float] = (None, 0.0, -np.inf)
    for value in grid:
        model = fit(value)
        found = score(model)
        if found > best[2]:
            best = (model, value, found)
    return best


_PROTOCOLS: dict[TargetTask, str] = {
    "multi-label": f"one-vs-rest logistic regression: {len(STRENGTHS)} values of C picked on validation; unit rows",
    "regression": f"ridge regression: {len(PENALTIES)} penalties picked on validation; embeddings standardised",
}
