"""Scikit-learn's linear models: logistic regression for classes and for several labels of a node, ridge for numbers."""

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from localgcl.evaluation.scores import METRICS, Array, Kind, accuracy
from localgcl.evaluation.task import Probe, SplitScore, Task, normalised_rows, select, to_scikit

STRENGTHS = tuple(4.0**power for power in range(-3, 6))
"""Inverse penalties of the logistic regressions of several labels."""
PENALTIES = tuple(10.0**power for power in range(-2, 6))
"""Penalties of ridge regression on standardised columns."""


@dataclasses.dataclass(frozen=True)
class LogisticProbe(Probe):
    """L2-normalised rows, liblinear, one classifier per class, the inverse penalty C picked from a grid.

    The protocol of GRACE, BGRL and their descendants.

    Args:
        strengths: The values of C to try; ties go to the first.
        pick: "validation": fit on train, pick on validation. "kfold" (GRACE): 5 folds of the training nodes, refit on
            all of them, tested on validation and test nodes together. "shuffle" (BGRL): 5 random halves of training and
            validation nodes together, refit on both, tested on the test nodes. Both cross-validations score C as those
            codes do, by the share of nodes whose every one-vs-rest answer is right.
    """

    strengths: tuple[float, ...] = tuple(2.0**power for power in range(-10, 11))
    pick: Literal["validation", "kfold", "shuffle"] = "validation"

    def __post_init__(self) -> None:
        if not self.strengths or not all(strength > 0 for strength in self.strengths):
            raise ValueError(f"strengths is {self.strengths}; give one or more above 0, for example (1.0,)")

    @property
    def description(self) -> str:
        how = {
            "validation": "picked on validation",
            "kfold": "picked by 5 folds of train, tested on val + test",
            "shuffle": "picked by 5 random halves of train + val, refitted on both",
        }[self.pick]
        grid = f"{len(self.strengths)} values of C from {min(self.strengths):g} to {max(self.strengths):g}"
        return f"logistic regression: scikit-learn liblinear, one-vs-rest; {grid}, {how}; embeddings with unit rows"

    @property
    def validates(self) -> bool:
        return self.pick == "validation"

    def run(self, task: Task, seed: int, device: torch.device) -> SplitScore:  # noqa: ARG002  # scikit-learn runs on the CPU
        fitted = torch.cat([task.train, task.val]) if self.pick == "shuffle" else task.train
        tested = torch.cat([task.val, task.test]) if self.pick == "kfold" else task.test
        x, target = _rows(task, fitted), _indicator(task, fitted)
        if self.pick == "validation":
            model, strength, validation = self._pick_on_validation(task, x, target)
        else:
            model, strength, validation = self._pick_by_folds(x, target, seed)
        predicted = _predict(model, _rows(task, tested))
        return self.score(task.y[tested].numpy(), predicted, validation=validation, pick={"C": strength})

    def _pick_on_validation(self, task: Task, x: Any, target: Array) -> tuple[Any, float, float]:
        held, truth = _rows(task, task.val), task.y[task.val].numpy()
        return _best(
            self.strengths,
            lambda strength: _fit(_classifier(strength), x, target),
            lambda model: accuracy(truth, _predict(model, held)),
        )

    def _pick_by_folds(self, x: Any, target: Array, seed: int) -> tuple[Any, float, float]:
        from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit

        if target.shape[0] < 5:
            raise ValueError(f"a split has {target.shape[0]} nodes to fit on, too few for 5 folds; use protocol='sklearn'")
        # GRACE asks for cv=5 on 0/1 columns: folds that ignore the classes, of nodes in the random order of their draw. A
        # split lists its nodes in increasing order, hence the shuffling.
        folds = (
            KFold(5, shuffle=True, random_state=seed)
            if self.pick == "kfold"
            else ShuffleSplit(5, test_size=0.5, random_state=seed)
        )
        search = GridSearchCV(_classifier(1.0), {"estimator__C": list(self.strengths)}, cv=folds)
        _fit(search, x, target)
        return search, float(search.best_params_["estimator__C"]), 100.0 * float(search.best_score_)


@dataclasses.dataclass(frozen=True)
class MultiLabelProbe(Probe):
    """One logistic regression (liblinear) for each 0/1 label, on unit rows; C is picked by micro F1 on validation nodes."""

    predicts: ClassVar[Kind] = "multi-label"
    metric: ClassVar[str] = "micro F1"

    strengths: tuple[float, ...] = STRENGTHS

    @property
    def description(self) -> str:
        return f"one-vs-rest logistic regression: {len(self.strengths)} values of C picked on validation; unit rows"

    def run(self, task: Task, seed: int, device: torch.device) -> SplitScore:  # noqa: ARG002  # scikit-learn runs on the CPU
        x, held, tested = (_rows(task, nodes) for nodes in (task.train, task.val, task.test))
        train_y, val_y, test_y = (task.y[nodes].numpy() for nodes in (task.train, task.val, task.test))
        model, strength, best = _best(
            self.strengths,
            lambda strength: _fit(_classifier(strength), x, train_y.astype(int)),
            lambda model: METRICS[self.metric].score(val_y, model.predict(held)),
        )
        return self.score(test_y, model.predict(tested), validation=best, pick={"C": strength})


@dataclasses.dataclass(frozen=True)
class RidgeProbe(Probe):
    """Ridge regression on standardised columns and targets; the penalty is picked by R2 on validation nodes."""

    predicts: ClassVar[Kind] = "regression"
    metric: ClassVar[str] = "R2"
    unit: ClassVar[str] = ""

    penalties: tuple[float, ...] = PENALTIES

    @property
    def description(self) -> str:
        return f"ridge regression: {len(self.penalties)} penalties picked on validation; embeddings standardised"

    def run(self, task: Task, seed: int, device: torch.device) -> SplitScore:  # noqa: ARG002  # scikit-learn runs on the CPU
        from sklearn.linear_model import Ridge
        from sklearn.preprocessing import StandardScaler

        rows = [to_scikit(select(task.x, nodes)) for nodes in (task.train, task.val, task.test)]
        # Columns of sparse features stay sparse: they are scaled, not centred.
        scaler = StandardScaler(with_mean=isinstance(task.x, Tensor)).fit(rows[0])
        x, held, tested = (scaler.transform(part) for part in rows)
        train_y, val_y, test_y = (task.y[nodes].numpy() for nodes in (task.train, task.val, task.test))
        mean, deviation = train_y.mean(axis=0), np.maximum(train_y.std(axis=0), 1e-12)

        def predict(model: Any, rows: Any) -> Array:
            answers: Array = np.asarray(model.predict(rows)).reshape(-1, train_y.shape[1]) * deviation + mean
            return answers

        model, penalty, best = _best(
            self.penalties,
            lambda penalty: Ridge(alpha=penalty).fit(x, (train_y - mean) / deviation),
            lambda model: METRICS[self.metric].score(val_y, predict(model, held)),
        )
        return self.score(test_y, predict(model, tested), validation=best, pick={"penalty": penalty})


def _best(grid: Sequence[float], fit: Callable[[float], Any], score: Callable[[Any], float]) -> tuple[Any, float, float]:
    """The model of the highest validation score, ties to the first, with its setting and that score."""
    best: tuple[Any, float, float] = (None, 0.0, -np.inf)
    for value in grid:
        model = fit(value)
        found = score(model)
        if found > best[2]:
            best = (model, value, found)
    return best


def _classifier(strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    return OneVsRestClassifier(LogisticRegression(solver="liblinear", C=strength))


def _fit(model: Any, x: Any, target: Array) -> Any:
    with warnings.catch_warnings():
        # A class absent from the fitted nodes: the evaluator has already warned. A label that all fitted nodes have, or none,
        # is always answered so.
        warnings.filterwarnings("ignore", message="Label .* is present in all training examples")
        return model.fit(x, target)


def _predict(model: Any, x: Any) -> Array:
    """The class of the highest probability, also where no node of a class was fitted."""
    answers: Array = np.asarray(model.predict_proba(x)).argmax(1)
    return answers


def _rows(task: Task, nodes: Tensor) -> Any:
    return to_scikit(normalised_rows(select(task.x, nodes)))


def _indicator(task: Task, nodes: Tensor) -> Array:
    """0/1 columns, one per class, so that a class absent from the nodes keeps its column."""
    return torch.nn.functional.one_hot(task.y[nodes], task.num_classes).numpy()
