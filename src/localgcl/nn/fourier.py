r"""Random Fourier features beside the columns of a narrow table.

A linear channel over three columns has three dimensions, whatever its network. Cosines of random combinations of the columns
make room: averaged over neighbours, they tell apart neighbourhoods with equal means.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn


class FourierColumns(nn.Module):
    r"""$[x, \sqrt{2f/D}\,(\cos(\omega^\top x + b) - \mathbb{E}\cos)]$ with $\omega \sim N(0, I/f)$ and b uniform.

    For standardised columns: rows of a table of f columns are then about $\sqrt{2f}$ apart, and $\omega^\top x$ tells them
    apart without being noise. The expectation is that of normal x: $\cos(b)\,e^{-|\omega|^2/2}$. Both halves have rows of about
    the same length. The draws are kept with the weights, so new nodes get the same columns.
    """

    frequencies: Tensor
    phases: Tensor

    def __init__(self, num_inputs: int, count: int) -> None:
        super().__init__()
        self.columns = num_inputs + count
        self.register_buffer("frequencies", torch.randn(num_inputs, count) / math.sqrt(num_inputs))
        self.register_buffer("phases", 2 * math.pi * torch.rand(count))

    def forward(self, x: Float[Tensor, "n f"]) -> Float[Tensor, "n g"]:
        centre = torch.cos(self.phases) * torch.exp(-self.frequencies.square().sum(dim=0) / 2)
        columns = torch.cos(torch.addmm(self.phases, x, self.frequencies)) - centre
        return torch.cat([x, math.sqrt(2 * x.shape[1] / len(centre)) * columns], dim=1)
