"""Task, SplitScore, Probe: the evaluator checks input once and makes tasks of it; a probe, which is a protocol, scores them."""

import abc
import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor

from localgcl.evaluation.scores import Array, Kind, all_scores, recall
from localgcl.graph.csr import csr_tensor

Matrix = Tensor | sp.csr_array  # dense rows are a tensor; sparse ones stay sparse, since a bag of words may not fit densely
Normalise = Literal["none", "rows", "columns"]


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """Embeddings, what is to be predicted, and the labelled nodes of one split.

    Args:
        x: A row for each node.
        y: Classes 0..num_classes-1 (-1 unknown), or a row of targets for each node (NaN where unknown).
        num_classes: Number of classes; 0 for targets.
        train: Nodes to learn from.
        val: Nodes to pick settings on.
        test: Nodes to score.
        name: Of the split.
    """

    x: Matrix
    y: Int[Tensor, " n"] | Float[Tensor, "n t"]
    num_classes: int
    train: Int[Tensor, " a"]
    val: Int[Tensor, " b"]
    test: Int[Tensor, " c"]
    name: str


@dataclasses.dataclass(frozen=True)
class SplitScore:
    """One value of `Scores`, with its validation score, the settings that were picked, and further metrics by name."""

    value: float
    validation: float | None = None
    pick: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    extra: Mapping[str, float] = dataclasses.field(default_factory=dict)
    recall: Mapping[int, float] = dataclasses.field(default_factory=dict)
    """By class that has test nodes, the share of them that is classified correctly, in percent."""


class Probe(abc.ABC):
    """A protocol with its settings. Subclasses are frozen dataclasses: their fields are the settings."""

    predicts: ClassVar[Kind] = "classes"
    metric: ClassVar[str] = "accuracy"
    """The main metric: a name of `METRICS`."""
    unit: ClassVar[str] = "%"
    uses_splits: ClassVar[bool] = True

    @property
    @abc.abstractmethod
    def description(self) -> str:
        """The protocol in one line, with everything that matters for comparing scores."""

    @property
    def runs(self) -> int:
        """Values per split."""
        return 1

    @property
    def validates(self) -> bool:
        """True if settings are picked on the validation nodes; a split then needs some."""
        return True

    @abc.abstractmethod
    def run(self, task: Task, seed: int, device: torch.device) -> SplitScore:
        """Fits on the training nodes and reads the test nodes once."""

    def score(
        self, truth: Array, predicted: Array, *, validation: float | None = None, pick: Mapping[str, Any] | None = None
    ) -> SplitScore:
        """Scores predictions by all metrics of their kind."""
        scores = all_scores(self.predicts, truth, predicted)
        found = recall(truth, predicted) if self.predicts == "classes" else {}
        return SplitScore(scores.pop(self.metric), validation, pick or {}, scores, found)


def to_tensor(x: Matrix, device: torch.device) -> Tensor:
    """Dense rows as they are, sparse ones as a sparse CSR tensor."""
    if isinstance(x, Tensor):
        return x.to(device)
    parts = (torch.from_numpy(x.indptr).long(), torch.from_numpy(x.indices).long(), torch.from_numpy(x.data))
    return csr_tensor(*parts, x.shape).to(device)


def to_scikit(x: Matrix) -> Any:
    """What scikit-learn reads: a numpy array or a scipy matrix with 32-bit indices."""
    if isinstance(x, Tensor):
        return x.cpu().numpy()
    parts = (x.data, x.indices.astype(np.int32), x.indptr.astype(np.int32))
    return sp.csr_array(parts, shape=x.shape)


def select(x: Matrix, nodes: Int[Tensor, " k"]) -> Matrix:
    """The rows of `nodes`, on the device where the matrix is."""
    if isinstance(x, Tensor):
        return x[nodes.to(x.device)]
    return x[nodes.cpu().numpy()]


def normalised_rows(x: Matrix) -> Matrix:
    """Rows of unit L2 norm; zero rows stay zero."""
    if isinstance(x, Tensor):
        return torch.nn.functional.normalize(x, dim=1)
    norm = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
    scale = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0).astype(np.float32)
    return sp.csr_array(sp.diags_array(scale) @ x)
