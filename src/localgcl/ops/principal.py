"""Principal directions of many rows, without a matrix of all their columns."""

import torch
from jaxtyping import Float
from torch import Tensor

# More directions than asked for, and repeated products: the ones asked for are then accurate to a fraction of their spectrum.
_MORE, _ITERATIONS = 16, 4


@torch.no_grad()
def principal_directions(x: Float[Tensor, "n d"], count: int, *, generator: torch.Generator) -> Float[Tensor, "d k"]:
    r"""The first k = min(count, n, d) right singular vectors of x, the largest singular value first. O(n d k).

    Randomised subspace iteration (Halko, Martinsson & Tropp, 2011): $Q = \mathrm{qr}(X^T X Q)$ a few times from random Q. Exact
    up to rounding where d is at most k + 16. The largest entry of each vector is positive, so signs do not depend on the draw.

    Args:
        x: Rows; centre them first for principal components.
        count: How many directions.
        generator: Draws the start.
    """
    n, d = x.shape
    start = torch.randn(d, min(count + _MORE, n, d), generator=generator, dtype=x.dtype)
    basis = torch.linalg.qr(start)[0]
    for _ in range(_ITERATIONS):
        basis = torch.linalg.qr(x.T @ (x @ basis))[0]
    _, _, turn = torch.linalg.svd(x @ basis, full_matrices=False)
    found: Tensor = (basis @ turn.T)[:, :count]
    largest = found.gather(0, found.abs().argmax(dim=0, keepdim=True))
    return found * torch.where(largest < 0, -1.0, 1.0)
