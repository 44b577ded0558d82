r"""Adam for many heads at once: one tensor holds them all, each head with its own learning rate and weight decay.

Heads trained one after another would each read the embeddings again; side by side, all logits are one matrix product.
Column k of the weights belongs to one head, so learning rates and weight decays are row vectors over columns. The update is
that of `torch.optim.Adam`, operation by operation:

$g \leftarrow g + \lambda w$, $m \leftarrow \beta_1 m + (1 - \beta_1) g$, $v \leftarrow \beta_2 v + (1 - \beta_2) g^2$,
$w \leftarrow w - \frac{\eta}{1 - \beta_1^t} m / (\sqrt{v} / \sqrt{1 - \beta_2^t} + \epsilon)$.
"""

import dataclasses

import torch
from jaxtyping import Float
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
