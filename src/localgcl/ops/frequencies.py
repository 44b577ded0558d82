"""The frequencies W of random Fourier features, dense or structured, and the angles W^T z."""

import dataclasses

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.ops.hadamard import hadamard


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
