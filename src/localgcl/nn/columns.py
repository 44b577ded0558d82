r"""Column maps: what transforms X before the hops.

Random Fourier features widen a narrow table. A linear channel over three columns has three dimensions, whatever its network.
Cosines of random combinations of the columns make room: averaged over neighbours, they tell apart neighbourhoods with equal
means.

A sparse random projection narrows wide sparse features. Averages over neighbours fill up: the rows of $B^2 X$ of 8,000 words
may have thousands of entries each, too many to keep on disk for every node. A few hundred random sums of the columns keep
lengths and angles of rows, up to noise.
"""

import abc
import math
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Tensor, nn

from localgcl.graph.csr import features_to_scipy


class ColumnMap(nn.Module, abc.ABC):
    """Transforms X before the hops. What it draws is kept with the weights, so new nodes get the same columns."""

    width: int
    """Columns of the result."""

    @abc.abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """The columns of some rows of X, which may be sparse. A row does not depend on the others."""


class FourierColumns(ColumnMap):
    r"""$[x, \sqrt{2f/D}\,(\cos(\omega^\top x + b) - \mathbb{E}\cos)]$ with $\omega \sim N(0, I/f)$ and b uniform.

    For standardised columns: rows of a table of f columns are then about $\sqrt{2f}$ apart, and $\omega^\top x$ tells them
    apart without being noise. The expectation is that of normal x: $\cos(b)\,e^{-|\omega|^2/2}$. Both halves have rows of about
    the same length.
    """

    frequencies: Tensor
    phases: Tensor

    def __init__(self, num_inputs: int, count: int) -> None:
        super().__init__()
        self.width = num_inputs + count
        self.register_buffer("frequencies", torch.randn(num_inputs, count) / math.sqrt(num_inputs))
        self.register_buffer("phases", 2 * math.pi * torch.rand(count))

    def forward(self, x: Float[Tensor, "n f"]) -> Float[Tensor, "n g"]:
        if x.layout == torch.sparse_csr:
            raise ValueError(
                f"fourier is {self.phases.numel()}, but the features are sparse; it is for dense tables, set it to 0"
            )
        centre = torch.cos(self.phases) * torch.exp(-self.frequencies.square().sum(dim=0) / 2)
        columns = torch.cos(torch.addmm(self.phases, x, self.frequencies)) - centre
        return torch.cat([x, math.sqrt(2 * x.shape[1] / len(centre)) * columns], dim=1)


_SPREAD = 8


class SparseProjection(ColumnMap):
    r"""$X P$: each column of X is added to eight of the p columns, one in each eighth, with random signs and weight $8^{-1/2}$.

    This is the sparse Johnson-Lindenstrauss transform of Kane and Nelson: $\mathbb{E}\,|P^\top x|^2 = |x|^2$. Inner products
    deviate by about $p^{-1/2}$ of the lengths.
    """

    places: Tensor
    signs: Tensor

    def __init__(self, num_inputs: int, count: int) -> None:
        super().__init__()
        spread = min(_SPREAD, count)
        bounds = torch.arange(spread + 1) * count // spread
        drawn = bounds[:-1] + (torch.rand(num_inputs, spread, dtype=torch.float64) * bounds.diff()).long()
        self.width = count
        self.register_buffer("places", drawn.int())
        self.register_buffer("signs", (2 * torch.randint(2, (num_inputs, spread)) - 1).to(torch.int8))

    @torch.no_grad()
    def forward(self, x: Float[Tensor, "n f"] | Tensor) -> Float[Tensor, "n p"]:
        """Dense rows, where x is. O(eight times the entries of x)."""
        rows: Any = features_to_scipy(x) if x.layout == torch.sparse_csr else x.cpu().numpy()
        projected: Any = rows @ self._matrix()
        return torch.from_numpy(projected.toarray() if x.layout == torch.sparse_csr else projected).to(x.device)

    def _matrix(self) -> sp.csr_array:
        num_inputs, spread = self.places.shape
        values = self.signs.cpu().numpy().ravel() * np.float32(1 / math.sqrt(spread))
        starts = np.arange(num_inputs + 1) * spread
        return sp.csr_array((values, self.places.cpu().numpy().ravel(), starts), shape=(num_inputs, self.width))
