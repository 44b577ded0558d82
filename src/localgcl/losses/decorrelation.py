r"""CCA-SSG: two embeddings of a node agree, and the columns of each are uncorrelated. No pairs of nodes, no negatives.

$\tilde Z$ is Z with columns of zero mean, divided by their deviation (with N - 1) and by $\sqrt N$, so that
$\tilde Z_1^T \tilde Z_2$ is their correlation times (N-1)/N. A column without spread has no correlation: it becomes zeros,
with zero gradient, and adds 1 to the decorrelation term, where the released code would divide by zero.

Two forms of the first term are in use. Across views the code has $-\mathrm{tr}(\tilde Z_1^T \tilde Z_2)$; the Local-GCL paper
has $\|\tilde H - \tilde Z\|_F^2 = 2 d (N-1)/N - 2\,\mathrm{tr}(\tilde H^T \tilde Z)$, which pulls twice as hard. The
same balance therefore needs twice the $\lambda$ in the second form: $\lambda_F = 2 \lambda_{tr}$.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.graph import Graph
from localgcl.ops import spmm
from localgcl.ops.propagation import adjacency


class CorrelationTerms(NamedTuple):
    """The loss is invariance + lambda * decorrelation."""

    invariance: Float[Tensor, ""]
    decorrelation: Float[Tensor, ""]


def view_correlation(z1: Float[Tensor, "n d"], z2: Float[Tensor, "n d"]) -> CorrelationTerms:
    r"""CCA-SSG: $-\mathrm{tr}(\tilde Z_1^T \tilde Z_2)$ and $\sum_v \|I - \tilde Z_v^T \tilde Z_v\|_F^2$.

    O(N d^2) time, O(d^2) memory beside copies of the embeddings.
    """
    a, b = standardised(z1), standardised(z2)
    return CorrelationTerms(-(a * b).sum(), _off_identity(a) + _off_identity(b))


def neighbour_correlation(h: Float[Tensor, "n d"], graph: Graph) -> CorrelationTerms:
    r"""CCA-SSG-Local: $\|\tilde H - \tilde Z\|_F^2$ and the decorrelation of both, with $z_i$ the mean of h over N(i).

    Edge weights weigh the mean. N(i) has no self-loop; a node without neighbours keeps $z_i = h_i$. O(|E| d + N d^2) time,
    O(|E| + d^2) memory beside copies of the embeddings.
    """
    size = graph.neighbourhoods.strength[:, None]
    mean = torch.where(size > 0, (spmm(adjacency(graph), h) / torch.where(size > 0, size, 1)).to(h.dtype), h)
    a, b = standardised(h), standardised(mean)
    return CorrelationTerms((a - b).square().sum(), _off_identity(a) + _off_identity(b))


def standardised(z: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    r"""$\tilde Z$: columns of zero mean and of squared length (N-1)/N, or zeros where they have no spread. O(N d)."""
    n = z.shape[0]
    wide = z.float() if z.dtype in (torch.bfloat16, torch.float16) else z
    centred = wide - wide.mean(0)
    variance = centred.square().sum(0) / max(n - 1, 1)
    # A deviation within rounding of the largest entry is that of a constant. NaN is not below: it stays in, to be seen.
    rounding = 16 * torch.finfo(wide.dtype).eps * wide.detach().abs().amax(0)
    alive = ~(variance <= rounding.square())
    return torch.where(alive, centred / (torch.where(alive, variance, 1.0) * n).sqrt(), 0.0)


def _off_identity(z: Float[Tensor, "n d"]) -> Float[Tensor, ""]:
    return (z.T @ z - torch.eye(z.shape[1], dtype=z.dtype, device=z.device)).square().sum()
