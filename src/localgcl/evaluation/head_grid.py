r"""Trains all heads of a grid side by side and keeps the one that leads on the validation nodes.

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
import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # torch's defaults, which every protocol of the field keeps


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
        transposed: The same, transposed.
        target: One-hot labels of the training rows, with an axis for the heads.
        validation: Validation rows, as `x`.
        val_y: Their labels.
        adam: Weights and optimiser; columns are ordered by head, then by class.
        ties_by_loss: Break ties of validation accuracy by the lower validation loss; otherwise the earlier step wins.
    """

    def __init__(
        self,
        x: Tensor,
        transposed: Tensor,
        target: Float[Tensor, "a 1 c"],
        validation: Tensor,
        val_y: Int[Tensor, " b"],
        adam: BatchedAdam,
        *,
        ties_by_loss: bool,
    ) -> None:
        self.x, self.transposed, self.target = x, transposed, target
        self.validation, self.val_y = validation, val_y
        self.adam, self.ties_by_loss = adam, ties_by_loss
        self.classes = target.shape[-1]
        self.heads = adam.weights.shape[1] // self.classes
        device = adam.weights.device
        self.right = torch.tensor(-1, device=device)
        self.loss = torch.tensor(math.inf, device=device)
        self.head, self.at = (torch.tensor(0, device=device) for _ in range(2))
        self.best = adam.weights[:, : self.classes].clone()

    def run(self, steps: int, every: int, *, look: bool) -> None:
        """Takes `steps` steps; with `look`, validates every `every` steps and after the last."""
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
