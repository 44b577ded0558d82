r"""Adam for many heads at once: one tensor holds them all, each head with its own learning rate and weight decay.

Training the heads of a grid one after another reads the same embeddings again for each of them; side by side, all
logits are one matrix product. Column k of the weights belongs to one head, so that settings of a head are a row vector
over columns. The update is that of `torch.optim.Adam`, operation by operation:

$g \leftarrow g + \lambda w$, $m \leftarrow \beta_1 m + (1 - \beta_1) g$, $v \leftarrow \beta_2 v + (1 - \beta_2) g^2$,
$w \leftarrow w - \frac{\eta}{1 - \beta_1^t} m / (\sqrt{v} / \sqrt{1 - \beta_2^t} + \epsilon)$.
"""

import dataclasses
import math

import torch
from jaxtyping import Float
from torch import Tensor

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # torch's defaults, which every protocol of the field keeps


@dataclasses.dataclass(eq=False)
class BatchedAdam:
    """Weights of shape (d, k) with one learning rate and weight decay per column; `step` changes them in place."""

    weights: Float[Tensor, "d k"]
    learning_rate: Float[Tensor, " k"]
    weight_decay: Float[Tensor, " k"]

    def __post_init__(self) -> None:
        self._mean = torch.zeros_like(self.weights)
        self._square = torch.zeros_like(self.weights)
        self._update = torch.empty_like(self.weights)
        self._time = 0

    def step(self, gradient: Float[Tensor, "d k"]) -> None:
        """One update; `gradient` is overwritten."""
        self._time += 1
        first, second = 1 - BETA1**self._time, 1 - BETA2**self._time
        gradient.addcmul_(self.weights, self.weight_decay)
        self._mean.lerp_(gradient, 1 - BETA1)
        self._square.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        torch.sqrt(self._square, out=self._update).div_(math.sqrt(second)).add_(EPSILON)
        torch.div(self._mean, self._update, out=self._update)
        self.weights.addcmul_(self._update, self.learning_rate, value=-1 / first)
