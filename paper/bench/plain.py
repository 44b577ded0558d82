r"""The same computations in plain PyTorch with autograd, which the library is compared with.

Each keeps everything its backward needs. They take unit rows z; negative terms are sums over nodes of
$\log \sum_k e^{z_i^T z_k/\tau}$, exact or through random features, without the clamping that the library adds.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.utils.checkpoint import checkpoint

Hadamard = Callable[[Tensor], Tensor]


# The Walsh-Hadamard transform along the last axis


def hadamard_matrix(size: int, like: Tensor) -> Float[Tensor, "{size} {size}"]:
    """The normalised matrix, by Sylvester's construction, in the type and place of another tensor."""
    matrix = like.new_ones(1, 1)
    while matrix.shape[0] < size:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)], 0) / math.sqrt(2)
    return matrix


def dense_hadamard(x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
    """One product with the d x d matrix. O(d^2) a row."""
    return x @ hadamard_matrix(x.shape[-1], x)


def kronecker_hadamard(x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
    r"""Two products with matrices of about $\sqrt d$. O(d^{1.5}) a row."""
    small = 1 << (x.shape[-1].bit_length() - 1) // 2
    left, right = (hadamard_matrix(size, x) for size in (x.shape[-1] // small, small))
    return (left @ x.reshape(*x.shape[:-1], -1, small) @ right).reshape(x.shape)


def butterfly_hadamard(x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
    """log2(d) rounds of sums and differences. O(d log d) a row, each round a pass over memory."""
    shape, half = x.shape, 1
    while half < shape[-1]:
        a, b = x.reshape(*shape[:-1], -1, 2, half).unbind(-2)
        x = torch.stack([a + b, a - b], dim=-2)
        half *= 2
    return x.reshape(shape) / math.sqrt(shape[-1])


# Random features


def rff(z: Float[Tensor, "n d"], frequencies: Float[Tensor, "d D"]) -> Float[Tensor, "n D2"]:
    """[cos(z W), sin(z W)] / sqrt(D)."""
    return _fourier(z @ frequencies)


def sorf(
    z: Float[Tensor, "n d"], signs: Float[Tensor, "3 b p"], num_features: int, temperature: float, hadamard: Hadamard
) -> Float[Tensor, "n D2"]:
    """The same with W^T = sqrt(p / tau) H D_1 H D_2 H D_3 in each of b blocks, by the given transform."""
    x = torch.nn.functional.pad(z, (0, signs.shape[2] - z.shape[1]))[:, None]
    for diagonal in signs:
        x = hadamard(diagonal * x)
    return _fourier(math.sqrt(signs.shape[2] / temperature) * x.flatten(1)[:, :num_features])


def _fourier(angles: Float[Tensor, "n D"]) -> Float[Tensor, "n D2"]:
    return torch.cat([angles.cos(), angles.sin()], dim=1) / math.sqrt(angles.shape[1])


# Negative terms


def kernel_negative(psi: Float[Tensor, "n w"], temperature: float) -> Float[Tensor, ""]:
    """Sum over nodes of 1/tau + log(psi_i.S), S the sum of the rows of psi."""
    return (psi @ psi.sum(0)).log().sum() + len(psi) / temperature


def dense_negative(z: Float[Tensor, "n d"], temperature: float) -> Float[Tensor, ""]:
    """The exact term through the N x N matrix."""
    return torch.logsumexp(z @ z.T / temperature, dim=1).sum()


def checkpointed_negative(z: Float[Tensor, "n d"], temperature: float, rows: int = 8192) -> Float[Tensor, ""]:
    """The exact term in chunks of rows, each computed once more in the backward."""

    def part(chunk: Tensor, z: Tensor) -> Tensor:
        return torch.logsumexp(chunk @ z.T / temperature, dim=1).sum()

    return torch.stack([checkpoint(part, chunk, z, use_reentrant=False) for chunk in z.split(rows)]).sum()


# Positive term


def gathered_positive(
    z: Float[Tensor, "n d"], rows: Int[Tensor, " m"], columns: Int[Tensor, " m"], temperature: float, positives: str = "mean"
) -> Float[Tensor, ""]:
    """Both ends of every edge gathered into |E| x d tensors, then scattered back to nodes."""
    n = z.shape[0]
    cosine = (z[rows] * z[columns]).sum(1)
    degree = torch.bincount(rows, minlength=n)
    if positives == "mean":
        aggregate = _scatter_logsumexp(cosine / temperature, rows, n) - degree.to(z.dtype).log()
    elif positives == "max":
        aggregate = (cosine / temperature).new_full((n,), -torch.inf).scatter_reduce(0, rows, cosine / temperature, "amax")
    else:
        weight = cosine.detach()
        aggregate = _scatter_logsumexp(cosine / temperature + weight, rows, n) - _scatter_logsumexp(weight, rows, n)
    return -aggregate[degree > 0].sum()


def _scatter_logsumexp(values: Tensor, rows: Tensor, n: int) -> Tensor:
    top = values.new_full((n,), -torch.inf).scatter_reduce(0, rows, values.detach(), "amax")
    return values.new_zeros(n).index_add(0, rows, (values - top[rows]).exp()).log() + top


# Encoder


def sparse_gcn(x: Tensor, adjacency: Tensor, weights: list[Tensor], biases: list[Tensor]) -> Float[Tensor, "n d"]:
    """Graph convolutions with torch.sparse: A (H W^T) + b, ReLU between; x and A in any layout that torch.sparse.mm takes."""
    h = x
    for depth, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        product = h @ weight.T if h.layout == torch.strided else torch.sparse.mm(h, weight.T)
        h = torch.sparse.mm(adjacency, product) + bias
        if depth < len(weights) - 1:
            h = torch.relu(h)
    return h
