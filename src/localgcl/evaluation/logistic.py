"""Scikit-learn's one-vs-rest logistic regression on unit rows: the protocol of GRACE, BGRL and their descendants."""

import dataclasses
import warnings
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from localgcl.evaluation.task import Probe, SplitScore, Task, accuracy, normalised_rows, recall, select, to_scikit


@dataclasses.dataclass(frozen=True)
class LogisticProbe(Probe):
    """L2-normalised rows, liblinear, one classifier per class, the inverse penalty C picked from a grid.

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
        predicted, truth = _predict(model, _rows(task, tested)), task.y[tested]
        return SplitScore(accuracy(predicted, truth), validation, {"C": strength}, recall=recall(predicted, truth))

    def _pick_on_validation(self, task: Task, x: Any, target: NDArray[Any]) -> tuple[Any, float, float]:
        best: tuple[Any, float, float] = (None, 0.0, -1.0)
        held, truth = _rows(task, task.val), task.y[task.val]
        for strength in self.strengths:
            model = _fit(_classifier(strength), x, target)
            right = accuracy(_predict(model, held), truth)
            if right > best[2]:
                best = (model, strength, right)
        return best

    def _pick_by_folds(self, x: Any, target: NDArray[Any], seed: int) -> tuple[Any, float, float]:
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


def _classifier(strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    return OneVsRestClassifier(LogisticRegression(solver="liblinear", C=strength))


def _fit(model: Any, x: Any, target: NDArray[Any]) -> Any:
    with warnings.catch_warnings():
        # A class absent from the fitted nodes: the evaluator has already warned.
        warnings.filterwarnings("ignore", message="Label .* is present in all training examples")
        return model.fit(x, target)


def _predict(model: Any, x: Any) -> Tensor:
    return torch.from_numpy(np.asarray(model.predict_proba(x)).argmax(1))


def _rows(task: Task, nodes: Tensor) -> Any:
    return to_scikit(normalised_rows(select(task.x, nodes)))


def _indicator(task: Task, nodes: Tensor) -> NDArray[Any]:
    """0/1 columns, one per class, so that a class absent from the nodes keeps its column."""
    return torch.nn.functional.one_hot(task.y[nodes], task.num_classes).numpy()
