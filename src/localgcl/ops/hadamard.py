"""The fast Walsh-Hadamard transform."""

from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor


def hadamard(x: Float[Tensor, "*batch d n"]) -> Float[Tensor, "*batch d n"]:
    r"""$H x$ along the second-last axis, H the normalised (orthogonal, symmetric) Walsh-Hadamard matrix of size d = 2^k.

    $H_{ab} = H_a \otimes H_b$ turns one product with a d x d matrix into two with matrices of about $\sqrt d$: fewer
    multiplications than memory moves for every d in use, and both run at matrix-product speed. Nodes lie along the last,
    fast axis, so both factors are plain products without a transpose. O(n d^{1.5}).
    """
    d, n = x.shape[-2:]
    if d & (d - 1):
        raise ValueError(f"the Hadamard transform needs a power of two, got {d}; pad with zeros to {1 << d.bit_length()}")
    small = 1 << (d.bit_length() - 1) // 2
    large = d // small
    grid = x.reshape(*x.shape[:-2], large, small * n)
    grid = _matrix(large, x.dtype, x.device) @ grid
    grid = _matrix(small, x.dtype, x.device) @ grid.reshape(*x.shape[:-2], large, small, n)
    return grid.reshape(x.shape)


@lru_cache(maxsize=64)
def _matrix(size: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """The dense normalised Hadamard matrix: entry (i, j) is (-1)^popcount(i & j) / sqrt(size)."""
    matrix = torch.ones(1, 1, dtype=torch.float64)
    while matrix.shape[0] < size:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)], 0) / 2**0.5
    return matrix.to(device=device, dtype=dtype)
