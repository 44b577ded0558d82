"""The Local-GCL loss as its formulas read: dense, float64, O(N^2) and O(N D) memory. What the library must agree with."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from localgcl.graph import Graph


def adjacency(graph: Graph, *, include_self: bool = False) -> Tensor:
    """A_ij is the weight of j in N(i): weights, or ones, of parallel edges summed; self-loops dropped, or of weight 1."""
    a = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.float64)
    weights = torch.ones(graph.num_edges) if graph.weights is None else graph.weights
    a.index_put_((graph.rows, graph.indices), weights.double(), accumulate=True)
    return a.fill_diagonal_(1.0 if include_self else 0.0)


def unit_rows(z: Tensor) -> Tensor:
    """Rows with a direction, at unit length; rows of zeros are left out."""
    z = z.double()
    return torch.nn.functional.normalize(z[z.norm(dim=1) > 0], dim=1)


def positive_mean(u: Tensor, a: Tensor, tau: float) -> Tensor:
    """Sum over i of -log sum_j a_ij e^(u_i.u_j/tau) / sum_j a_ij: the first half of Eq. 5, where a_ij is 1 for neighbours."""
    u_i, a = u[a.sum(1) > 0], a[a.sum(1) > 0]
    return -((a * (u_i @ u.T / tau).exp()).sum(1) / a.sum(1)).log().sum()


def positive_max(u: Tensor, a: Tensor, tau: float) -> Tensor:
    """Sum over i of -max_j u_i.u_j/tau."""
    u_i, a = u[a.sum(1) > 0], a[a.sum(1) > 0]
    return -(u_i @ u.T / tau).masked_fill(a == 0, -math.inf).max(dim=1).values.sum()


def positive_weighted(u: Tensor, a: Tensor, tau: float, *, weight_gradient: bool = False) -> Tensor:
    """Sum over i of -log sum_j w_ij e^(u_i.u_j/tau), w_ij = a_ij e^(u_i.u_j) divided by its sum over j."""
    u_i, a = u[a.sum(1) > 0], a[a.sum(1) > 0]
    w = a * (u_i @ u.T).exp()
    w = w / w.sum(1, keepdim=True)
    w = w if weight_gradient else w.detach()
    return -(w * (u_i @ u.T / tau).exp()).sum(1).log().sum()


def negative_exact(u: Tensor, tau: float) -> Tensor:
    """Sum over i of log sum_k e^(u_i.u_k/tau): the second half of Eq. 5."""
    return (u @ u.T / tau).exp().sum(1).log().sum()


def negative_kernel(psi: Tensor, floor: float, offset: float) -> Tensor:
    """Sum over i of offset + log max(psi_i.S, floor) with S the sum of the rows of psi (Eq. 8)."""
    return (psi @ psi.sum(0)).clamp(min=floor).log().sum() + offset * len(psi)


def rff(u: Tensor, frequencies: Tensor) -> Tensor:
    """psi(u) = [cos(W^T u), sin(W^T u)] / sqrt(D) for each row u, W of shape (d, D)."""
    angles = u @ frequencies
    return torch.cat([angles.cos(), angles.sin()], dim=1) / math.sqrt(frequencies.shape[1])


def kernel_floor(num_nodes: int, tau: float) -> float:
    """The kernel is 1 at the node itself and at least e^(-2/tau) elsewhere on the sphere."""
    return 1 + (num_nodes - 1) * math.exp(-2 / tau)


def exponential_floor(num_nodes: int, tau: float) -> float:
    """The same bound for e^(u_i.u_k/tau) itself: e^(1/tau) at the node, at least e^(-1/tau) elsewhere."""
    return math.exp(1 / tau) + (num_nodes - 1) * math.exp(-1 / tau)


def local_loss(
    z: Tensor,
    graph: Graph,
    tau: float,
    positives: str = "mean",
    *,
    weight_gradient: bool = False,
    include_self: bool = False,
    negative: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Eq. 5; `negative` maps the unit rows to the sum of the negative terms and is exact when not given."""
    u, alive = unit_rows(z), z.norm(dim=1) > 0
    a = adjacency(graph, include_self=include_self)[alive][:, alive]
    if positives == "weighted":
        attraction = positive_weighted(u, a, tau, weight_gradient=weight_gradient)
    else:
        attraction = {"mean": positive_mean, "max": positive_max}[positives](u, a, tau)
    repulsion = negative_exact(u, tau) if negative is None else negative(u)
    return (attraction + repulsion) / len(z)
