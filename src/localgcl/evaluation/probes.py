"""The probes without gradient steps: logistic regression, also of several labels, ridge, the nearest neighbours, k-means."""

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from localgcl.evaluation.scores import METRICS, Array, Kind, accuracy
from localgcl.evaluation.task import Matrix, Probe, SplitScore, Task, normalised_rows, select, to_scikit, to_tensor

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
        x, target = _rows(task, fitted), _indicator(task, fitted)
        if self.pick == "validation":
            held, tested = _rows(task, task.val), _rows(task, task.test)

            def fit(strength: float) -> Any:
                return _fit(_classifier(strength), x, target)

            return _best_on_validation(self, task, "C", self.strengths, fit, _predict, held, tested)
        return self._pick_by_folds(task, x, target, seed)

    def _pick_by_folds(self, task: Task, x: Any, target: Array, seed: int) -> SplitScore:
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
        tested = torch.cat([task.val, task.test]) if self.pick == "kfold" else task.test
        predicted, picked = _predict(search, _rows(task, tested)), {"C": float(search.best_params_["estimator__C"])}
        return self.score(task.y[tested].numpy(), predicted, validation=100.0 * float(search.best_score_), pick=picked)


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
        target = task.y[task.train].numpy().astype(int)

        def fit(strength: float) -> Any:
            return _fit(_classifier(strength), x, target)

        return _best_on_validation(self, task, "C", self.strengths, fit, lambda model, z: model.predict(z), held, tested)


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
        y = task.y[task.train].numpy()
        mean, deviation = y.mean(axis=0), np.maximum(y.std(axis=0), 1e-12)

        def fit(penalty: float) -> Any:
            return Ridge(alpha=penalty).fit(x, (y - mean) / deviation)

        def predict(model: Any, rows: Any) -> Array:
            answers: Array = np.asarray(model.predict(rows)).reshape(-1, y.shape[1]) * deviation + mean
            return answers

        return _best_on_validation(self, task, "penalty", self.penalties, fit, predict, held, tested)


def _best_on_validation(
    probe: Probe,
    task: Task,
    setting: str,
    grid: Sequence[float],
    fit: Callable[[float], Any],
    predict: Callable[[Any, Any], Array],
    held: Any,
    tested: Any,
) -> SplitScore:
    """The test score of the model whose `setting` has the highest validation score, ties to the first of `grid`."""
    truth = task.y[task.val].numpy()
    best: tuple[Any, float, float] = (None, 0.0, -np.inf)
    for value in grid:
        model = fit(value)
        found = METRICS[probe.metric].score(truth, predict(model, held))
        if found > best[2]:
            best = (model, value, found)
    model, value, found = best
    return probe.score(task.y[task.test].numpy(), predict(model, tested), validation=found, pick={setting: value})


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


@dataclasses.dataclass(frozen=True)
class NeighbourProbe(Probe):
    """Majority vote of the k training nodes of largest cosine; k picked on validation, ties to the first of `ks`.

    Equal votes go to the lowest class, as in scikit-learn. Similarities are computed `chunk` rows at a time: memory is
    O(chunk |train|), never |V|^2. Values of k above the number of training nodes are left out.
    """

    ks: tuple[int, ...] = (5, 10, 20)
    chunk: int = 1024

    def __post_init__(self) -> None:
        if not self.ks or min(self.ks) < 1:
            raise ValueError(f"ks is {self.ks}; give one or more from 1 up, for example (5, 10, 20)")
        if self.chunk < 1:
            raise ValueError(f"chunk is {self.chunk}; it must be at least 1, for example 1024")

    @property
    def description(self) -> str:
        return f"k nearest neighbours: cosine, majority vote, k in {', '.join(map(str, self.ks))} picked on validation"

    def run(self, task: Task, seed: int, device: torch.device) -> SplitScore:  # noqa: ARG002  # nothing here is random
        ks = tuple(k for k in self.ks if k <= len(task.train))
        if not ks:
            raise ValueError(f"ks is {self.ks}, but {task.name!r} has {len(task.train)} training nodes; pass smaller ks")
        truth = task.y[task.val].numpy()
        validation = [accuracy(truth, votes.numpy()) for votes in self._votes(task, task.val, ks, device)]
        best = max(range(len(ks)), key=lambda i: (validation[i], -i))
        (predicted,) = self._votes(task, task.test, (ks[best],), device)
        return self.score(task.y[task.test].numpy(), predicted.numpy(), validation=validation[best], pick={"k": ks[best]})

    def _votes(
        self, task: Task, nodes: Int[Tensor, " m"], ks: tuple[int, ...], device: torch.device
    ) -> list[Int[Tensor, " m"]]:
        """The class each node is given, one tensor per k."""
        train = to_tensor(normalised_rows(select(task.x, task.train)), device)
        known = task.y[task.train].to(device)
        found: list[list[Tensor]] = [[] for _ in ks]
        for part in nodes.split(self.chunk):
            similarity = (train @ _dense(normalised_rows(select(task.x, part)), device).T).T
            nearest = known[similarity.topk(max(ks), dim=1).indices]
            ballots = torch.nn.functional.one_hot(nearest, task.num_classes).cumsum(1)
            for votes, k in zip(found, ks, strict=True):
                votes.append(ballots[:, k - 1].argmax(-1))
        return [torch.cat(votes).cpu() for votes in found]


def _dense(x: Matrix, device: torch.device) -> Tensor:
    return x.to(device) if isinstance(x, Tensor) else torch.from_numpy(x.toarray()).to(device)


@dataclasses.dataclass(frozen=True)
class ClusterProbe(Probe):
    """k-means (k-means++ start) on unit rows of all nodes, k the number of classes, scored on the labelled nodes.

    Each of `repeats` seeds is a value of its own, so the deviation shows how much the start matters; `starts` above 1 keeps
    the start of lowest inertia within a seed.
    """

    predicts: ClassVar[Kind] = "clusters"
    metric: ClassVar[str] = "NMI"
    uses_splits: ClassVar[bool] = False

    repeats: int = 10
    starts: int = 1

    def __post_init__(self) -> None:
        if self.repeats < 1 or self.starts < 1:
            raise ValueError(f"repeats is {self.repeats} and starts is {self.starts}; both must be at least 1")

    @property
    def description(self) -> str:
        return f"k-means: unit rows, k = number of classes, {self.starts} k-means++ start{'s' * (self.starts > 1)} a seed"

    @property
    def runs(self) -> int:
        return self.repeats

    def run(self, task: Task, seed: int, device: torch.device) -> SplitScore:  # noqa: ARG002  # scikit-learn runs on the CPU
        from sklearn.cluster import KMeans

        model = KMeans(task.num_classes, n_init=self.starts, random_state=seed % 2**32)
        found = model.fit_predict(to_scikit(normalised_rows(task.x)))
        known = (task.y >= 0).numpy()
        return self.score(task.y.numpy()[known], found[known])
