"""The frequencies W of random Fourier features, dense or structured, the angles W^T z, and the Walsh-Hadamard transform."""

import dataclasses
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor


@dataclasses.dataclass(frozen=True, eq=False)
class DenseFrequencies:
    """W as a matrix."""

    matrix: Float[Tensor, "d D"]

    @property
    def count(self) -> int:
        """D."""
        return self.matrix.shape[1]

    def angles(self, z: Float[Tensor, "n d"]) -> Float[Tensor, "n D"]:
        """W^T z for each row z. O(n d D)."""
        return z @ self.matrix


@dataclasses.dataclass(frozen=True, eq=False)
class StructuredFrequencies:
    r"""$W^T = c\, H D_3 H D_2 H D_1$ in blocks of p = 2^k rows, never formed; `signs[l - 1]` is the diagonal of D_l.

    H is the normalised Hadamard matrix. Vectors are padded with zeros to p, which changes neither norms nor inner products;
    blocks are stacked and cut to `count` frequencies.
    """

    signs: Float[Tensor, "3 blocks p"]
    scale: float
    count: int

    def angles(self, z: Float[Tensor, "n d"]) -> Float[Tensor, "n D"]:
        """W^T z for each row z. O(n D log p) additions' worth of work, done as products with two factors of H."""
        _, blocks, size = self.signs.shape
        x = torch.nn.functional.pad(z, (0, size - z.shape[1])).T.contiguous()
        for signs in self.signs:
            x = hadamard(signs[..., None] * x)
        return (self.scale * x.reshape(blocks * size, -1)[: self.count]).T


def padded_size(dim: int) -> int:
    """The length p to which structured frequencies pad vectors of `dim` entries: a power of two, at least 64.

    All frequencies of a block have one length, so the kernel they estimate is not quite Gaussian. The error falls as 1/p, and
    padding changes neither norms nor inner products.
    """
    return max(64, 1 << (dim - 1).bit_length())


Frequencies = DenseFrequencies | StructuredFrequencies


def inverses(q: Float[Tensor, " n"], living: Float[Tensor, " n"], floor: Float[Tensor, ""]) -> Float[Tensor, " n"]:
    """1/q; zero for dead rows and for rows below the floor, which are clamped and pass no gradient."""
    return torch.where(q >= floor, living / q, 0.0)


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
