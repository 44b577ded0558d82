"""The linear probe: logistic regression on frozen embeddings, trained with Adam, everything else picked on validation."""

import dataclasses
import itertools
import math
from typing import Any, Literal

import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from localgcl.evaluation.head_grid import BatchedAdam, HeadGrid
from localgcl.evaluation.metrics import accuracy
from localgcl.evaluation.task import Matrix, Normalise, Probe, SplitScore, Task, normalised_rows, select, to_tensor


@dataclasses.dataclass(frozen=True)
class LinearProbe(Probe):
    r"""Softmax regression with bias, full-batch Adam, and the L2 penalty of `torch.optim.Adam(weight_decay=...)`.

    One head is trained for each pair of learning rate and weight decay, all heads at once from the same initial weights.
    Validation accuracy is computed every `check_every` steps. The head and step with the highest one win; ties go to the
    lowest validation loss. Only that head, with its weights of that step, reads the test nodes.

    Why this grid: methods produce embeddings whose scales differ by orders of magnitude, and one fixed penalty favours
    some scale. Published evaluators use learning rates 1e-3 to 1e-2 and penalties 0 to 1e-2, chosen by hand for each
    data set. The default grid covers both ranges and lets validation choose. 1000 steps are enough for the slower
    learning rate; the picked step is a third regulariser.

    Cost: O(steps |train| d H C) for H heads and C classes. The penalised optimum depends on the training rows only
    through their Gram matrix, but Adam's path does not (it is not invariant to rotation), so d is not reduced.

    Args:
        learning_rates: Adam's learning rates to try.
        weight_decays: L2 penalties to try, on weights and bias.
        steps: Number of Adam steps.
        check_every: Steps between validations; the last step is always validated.
        pick: "best": highest validation accuracy, ties to the lowest validation loss. "first": highest validation
            accuracy, ties to the earliest step. "final": the last step, validation unused.
        initial: "xavier": Xavier-uniform weights, zero bias. "torch": as `torch.nn.Linear` starts.
        normalise: Embeddings as they are ("none"), with rows of unit L2 norm, or with columns standardised by the mean
            and deviation of the training rows.
        repeats: Initialisations per split; each gives one value.
    """

    learning_rates: tuple[float, ...] = (1e-3, 1e-2)
    weight_decays: tuple[float, ...] = (0.0, 1e-4, 1e-3, 5e-3, 1e-2, 3e-2)
    steps: int = 1000
    check_every: int = 10
    pick: Literal["best", "first", "final"] = "best"
    initial: Literal["xavier", "torch"] = "xavier"
    normalise: Normalise = "none"
    repeats: int = 1

    def __post_init__(self) -> None:
        if not self.learning_rates or not all(rate > 0 for rate in self.learning_rates):
            raise ValueError(f"learning_rates is {self.learning_rates}; give one or more above 0, for example (0.01,)")
        if not self.weight_decays or not all(decay >= 0 for decay in self.weight_decays):
            raise ValueError(f"weight_decays is {self.weight_decays}; give one or more from 0 up, for example (0.0,)")
        for name in ("steps", "check_every", "repeats"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.pick == "final" and len(self.learning_rates) * len(self.weight_decays) > 1:
            raise ValueError("pick is 'final', which chooses nothing; give one learning rate and one weight decay")

    @property
    def description(self) -> str:
        rates = ", ".join(f"{rate:g}" for rate in self.learning_rates)
        decays = ", ".join(f"{decay:g}" for decay in self.weight_decays)
        settings = f"lr {rates}; weight decay {decays}; {self.steps} steps"
        how = {
            "best": f"best validation, looked at every {self.check_every} steps, ties to the lowest loss",
            "first": f"first best validation, looked at every {self.check_every} steps",
            "final": "last step, no validation",
        }[self.pick]
        scale = {"none": "as they are", "rows": "with unit rows", "columns": "standardised"}[self.normalise]
        return f"linear probe: Adam, {settings}; {how}; embeddings {scale}"

    @property
    def runs(self) -> int:
        return self.repeats

    @property
    def validates(self) -> bool:
        return self.pick != "final"

    def run(self, task: Task, seed: int, device: torch.device) -> SplitScore:
        train, val, test = (select(task.x, nodes) for nodes in (task.train, task.val, task.test))
        if self.normalise == "rows":
            train, val, test = normalised_rows(train), normalised_rows(val), normalised_rows(test)
        elif self.normalise == "columns":
            train, val, test = _standardised(train, val, test)
        grid = list(itertools.product(self.learning_rates, self.weight_decays))
        start = initial_weights(task.x.shape[1], task.num_classes, self.initial, seed)
        head, step, weights = self._fit(train, task.y[task.train], val, task.y[task.val], grid, start, device)
        # Test nodes are read here and nowhere else.
        predicted = _predict(test, weights, device)
        validation = accuracy(task.y[task.val].numpy(), _predict(val, weights, device)) if len(task.val) else None
        picked = {"learning_rate": grid[head][0], "weight_decay": grid[head][1], "step": step}
        return self.score(task.y[task.test].numpy(), predicted, validation=validation, pick=picked)

    @torch.no_grad()
    def _fit(
        self,
        train: Matrix,
        train_y: Int[Tensor, " a"],
        val: Matrix,
        val_y: Int[Tensor, " b"],
        grid: list[tuple[float, float]],
        start: Float[Tensor, "d c"],
        device: torch.device,
    ) -> tuple[int, int, Float[Tensor, "d c"]]:
        """The picked head, its step, and its weights."""
        heads, classes = len(grid), start.shape[1]
        x, validation = _with_bias(train, device), _with_bias(val, device)
        # Sparse products from the left are fast and those from the right are not: keep the transpose too.
        transposed = x.T if isinstance(train, Tensor) else to_tensor(sp.csr_array(_append_ones(train).T), device)
        head_grid = HeadGrid(
            x,
            transposed,
            torch.nn.functional.one_hot(train_y.to(device), classes).float()[:, None],
            validation,
            val_y.to(device),
            BatchedAdam(start.to(device).repeat(1, heads), *_columns(grid, classes, device), self.steps),
            ties_by_loss=self.pick == "best",
        )
        head_grid.run(self.steps, self.check_every, look=self.validates)
        return head_grid.picked() if self.validates else (0, self.steps, head_grid.adam.weights)


def initial_weights(
    dim: int, classes: int, initial: Literal["xavier", "torch"], seed: int
) -> Float[Tensor, "{dim}+1 {classes}"]:
    """Weights and, as the last row, bias; drawn on the CPU, so that all devices start alike."""
    generator = torch.Generator().manual_seed(seed)
    limit = math.sqrt(6 / (dim + classes)) if initial == "xavier" else 1 / math.sqrt(dim)
    weights = torch.empty(dim + 1, classes).uniform_(-limit, limit, generator=generator)
    if initial == "xavier":
        weights[-1] = 0
    return weights


def _columns(grid: list[tuple[float, float]], classes: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Learning rate and weight decay of each column of the weights."""
    rates, decays = (torch.tensor(column, device=device).repeat_interleave(classes) for column in zip(*grid, strict=True))
    return rates, decays


@torch.no_grad()
def _predict(x: Matrix, weights: Float[Tensor, "d c"], device: torch.device) -> NDArray[Any]:
    return (_with_bias(x, device) @ weights.to(device)).argmax(-1).cpu().numpy()


def _with_bias(x: Matrix, device: torch.device) -> Tensor:
    """A column of ones makes the bias a row of the weights: penalised like them, as in torch's Adam."""
    return to_tensor(_append_ones(x), device)


def _append_ones(x: Matrix) -> Matrix:
    if isinstance(x, Tensor):
        return torch.cat([x, x.new_ones(len(x), 1)], 1)
    return sp.csr_array(sp.hstack([x, sp.csr_array([[1.0]] * x.shape[0], dtype=x.dtype)]))


def _standardised(train: Matrix, *others: Matrix) -> tuple[Matrix, ...]:
    if not isinstance(train, Tensor):
        raise ValueError("normalise is 'columns', which would fill a sparse matrix; use 'rows' or 'none', or pass dense z")
    mean, deviation = train.mean(0), train.std(0, correction=0)
    deviation = torch.where(deviation > 0, deviation, torch.ones_like(deviation))
    return tuple((part - mean) / deviation for part in (train, *others) if isinstance(part, Tensor))
