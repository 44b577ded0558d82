r"""The linear probe: logistic regression on frozen embeddings, trained with Adam, everything else picked on validation.

Heads trained one after another would each read the embeddings again; side by side, all logits are one matrix product.
Column k of the weights belongs to one head, so learning rates and weight decays are row vectors over columns. The update is
that of `torch.optim.Adam`, operation by operation:

$g \leftarrow g + \lambda w$, $m \leftarrow \beta_1 m + (1 - \beta_1) g$, $v \leftarrow \beta_2 v + (1 - \beta_2) g^2$,
$w \leftarrow w - \frac{\eta}{1 - \beta_1^t} m / (\sqrt{v} / \sqrt{1 - \beta_2^t} + \epsilon)$.

A step is a dozen kernels of a few microseconds, so on a GPU launching them takes longer than running them, and reading each
validation accuracy would make the host wait. So the leader is kept on the device, and the steps between two validations are
recorded once and replayed as a whole.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal

import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from localgcl.evaluation.scores import accuracy
from localgcl.evaluation.task import Matrix, Normalise, Probe, SplitScore, Task, normalised_rows, select, to_tensor

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # torch's defaults, which every protocol of the field keeps


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
        x, y, validation, val_y = _with_bias(train, device), train_y.to(device), _with_bias(val, device), val_y.to(device)
        heads = HeadGrid(x, y, validation, val_y, start.to(device), grid, self.steps, ties_by_loss=self.pick == "best")
        heads.run(self.check_every, look=self.validates)
        return heads.picked() if self.validates else (0, self.steps, heads.adam.weights)


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


@torch.no_grad()
def _predict(x: Matrix, weights: Float[Tensor, "d c"], device: torch.device) -> NDArray[Any]:
    return (_with_bias(x, device) @ weights.to(device)).argmax(-1).cpu().numpy()


def _with_bias(x: Matrix, device: torch.device) -> Tensor:
    """A column of ones makes the bias a row of the weights: penalised like them, as in torch's Adam."""
    if isinstance(x, Tensor):
        return to_tensor(torch.cat([x, x.new_ones(len(x), 1)], 1), device)
    return to_tensor(sp.csr_array(sp.hstack([x, sp.csr_array([[1.0]] * x.shape[0], dtype=x.dtype)])), device)


def _standardised(train: Matrix, *others: Matrix) -> tuple[Matrix, ...]:
    if not isinstance(train, Tensor):
        raise ValueError("normalise is 'columns', which would fill a sparse matrix; use 'rows' or 'none', or pass dense z")
    mean, deviation = train.mean(0), train.std(0, correction=0)
    deviation = torch.where(deviation > 0, deviation, torch.ones_like(deviation))
    return tuple((part - mean) / deviation for part in (train, *others) if isinstance(part, Tensor))


@dataclasses.dataclass(eq=False)
class BatchedAdam:
    r"""Weights of shape (d, k) with one learning rate and weight decay per column; `step` changes them in place.

    Factors that depend on the time t are computed beforehand: `rates` holds $\eta / (1 - \beta_1^t)$ and `roots` holds
    $\sqrt{1 - \beta_2^t}$. `step` takes them as arguments, so every step does the same operations and can be recorded.
    """

    weights: Float[Tensor, "d k"]
    learning_rate: Float[Tensor, " k"]
    weight_decay: Float[Tensor, " k"]
    steps: int

    def __post_init__(self) -> None:
        self._mean = torch.zeros_like(self.weights)
        self._square = torch.zeros_like(self.weights)
        self._update = torch.empty_like(self.weights)
        time = torch.arange(1, self.steps + 1, dtype=torch.float64, device=self.weights.device)
        self.rates = (self.learning_rate.double() / (1 - BETA1**time)[:, None]).to(self.weights.dtype)
        self.roots = (1 - BETA2**time).sqrt().to(self.weights.dtype)

    def step(self, gradient: Float[Tensor, "d k"], rate: Float[Tensor, " k"], root: Float[Tensor, ""]) -> None:
        """One update with a row of `rates` and an entry of `roots`; `gradient` is overwritten."""
        gradient.addcmul_(self.weights, self.weight_decay)
        self._mean.lerp_(gradient, 1 - BETA1)
        self._square.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        torch.sqrt(self._square, out=self._update).div_(root).add_(EPSILON)
        torch.div(self._mean, self._update, out=self._update)
        self.weights.addcmul_(self._update, rate, value=-1)


class HeadGrid:
    """Softmax regression of many heads.

    Args:
        x: Training rows, a column of ones appended; dense or sparse.
        y: Their labels.
        validation: Validation rows, as `x`.
        val_y: Their labels.
        start: Initial weights of every head.
        grid: Learning rate and weight decay of each head.
        steps: Number of Adam steps.
        ties_by_loss: Break ties of validation accuracy by the lower validation loss; otherwise the earlier step wins.
    """

    def __init__(
        self,
        x: Tensor,
        y: Int[Tensor, " a"],
        validation: Tensor,
        val_y: Int[Tensor, " b"],
        start: Float[Tensor, "d c"],
        grid: Sequence[tuple[float, float]],
        steps: int,
        *,
        ties_by_loss: bool,
    ) -> None:
        self.heads, self.classes, self.ties_by_loss = len(grid), start.shape[1], ties_by_loss
        # Sparse products from the left are fast and those from the right are not: keep the transpose too.
        self.x, self.transposed = x, x.T if x.layout == torch.strided else x.transpose(0, 1).to_sparse_csr()
        self.target = torch.nn.functional.one_hot(y, self.classes).to(start.dtype)[:, None]  # with an axis for the heads
        self.validation, self.val_y = validation, val_y
        # Columns are ordered by head, then by class.
        rates, decays = (start.new_tensor(column).repeat_interleave(self.classes) for column in zip(*grid, strict=True))
        self.adam = BatchedAdam(start.repeat(1, self.heads), rates, decays, steps)
        self.right, self.loss = start.new_tensor(-1, dtype=torch.int64), start.new_tensor(math.inf, dtype=torch.float32)
        self.head, self.at = (start.new_tensor(0, dtype=torch.int64) for _ in range(2))
        self.best = start.clone()

    def run(self, every: int, *, look: bool) -> None:
        """Takes all steps; with `look`, validates every `every` steps and after the last."""
        steps = self.adam.steps
        whole = steps // every
        if self.x.device.type == "cuda" and whole > 2:
            self._replay(every, whole, look=look)
        else:
            for block in range(whole):
                self._block(self.adam.rates[block * every :], self.adam.roots[block * every :], every)
                if look:
                    self._look(torch.tensor((block + 1) * every, device=self.at.device))
        rest = steps - whole * every
        if rest:
            self._block(self.adam.rates[steps - rest :], self.adam.roots[steps - rest :], rest)
            if look:
                self._look(torch.tensor(steps, device=self.at.device))

    def picked(self) -> tuple[int, int, Float[Tensor, "d c"]]:
        """The leader: its head, its step and its weights."""
        return int(self.head), int(self.at), self.best

    def _block(self, rates: Float[Tensor, "t k"], roots: Float[Tensor, " t"], count: int) -> None:
        rows = self.x.shape[0]
        for index in range(count):
            logits = (self.x @ self.adam.weights).view(rows, self.heads, self.classes)
            error = logits.softmax(-1).sub_(self.target).div_(rows)
            self.adam.step(self.transposed @ error.view(rows, -1), rates[index], roots[index])

    def _look(self, step: Int[Tensor, ""]) -> None:
        """Validates all heads; replaces the leader if one beats it."""
        logits = (self.validation @ self.adam.weights).view(len(self.val_y), self.heads, self.classes)
        head, right, loss = leader(logits, self.val_y)
        better = right > self.right
        if self.ties_by_loss:
            better = better | ((right == self.right) & (loss < self.loss))
        weights = self.adam.weights.view(-1, self.heads, self.classes).index_select(1, head[None])[:, 0]
        for kept, new in ((self.right, right), (self.loss, loss), (self.head, head), (self.at, step), (self.best, weights)):
            kept.copy_(torch.where(better, new, kept))

    def _replay(self, every: int, blocks: int, *, look: bool) -> None:
        """Runs one block kernel by kernel, then records it once and replays it with the factors and step of every other."""
        rates, roots = self.adam.rates[:every].clone(), self.adam.roots[:every].clone()
        step = torch.tensor(every, device=self.at.device)

        def block() -> None:
            self._block(rates, roots, every)
            if look:
                self._look(step)

        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):  # the stream that records: libraries set up their state per stream
            block()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            block()
        for index in range(1, blocks):
            rates.copy_(self.adam.rates[index * every : (index + 1) * every])
            roots.copy_(self.adam.roots[index * every : (index + 1) * every])
            step += every
            graph.replay()


def leader(logits: Float[Tensor, "b h c"], y: Int[Tensor, " b"]) -> tuple[Int[Tensor, ""], Int[Tensor, ""], Float[Tensor, ""]]:
    """The head with the most right answers, ties to the lowest loss: its index, right answers and loss."""
    right = (logits.argmax(-1) == y[:, None]).sum(0)
    loss = -logits.log_softmax(-1).gather(2, y[:, None, None].expand(-1, logits.shape[1], 1)).mean((0, 2))
    head = loss.masked_fill(right < right.max(), math.inf).argmin(0, keepdim=True)
    return head[0], right.index_select(0, head)[0], loss.index_select(0, head)[0]
