"""Losses that predict a target, pair by pair as their formulas read, in float64."""

import torch
from torch import Tensor

from localgcl.graph import Graph
from tests.references.local import adjacency


def cosine(q: Tensor, h: Tensor) -> Tensor:
    """All cosines, 0 where a row is zero; nothing flows into h."""

    def unit(z: Tensor) -> Tensor:
        norm = z.norm(dim=1, keepdim=True)
        return torch.where(norm > 0, z, 0.0) / torch.where(norm > 0, norm, 1.0)

    return unit(q.double()) @ unit(h.double().detach()).T


def view_prediction(q: Tensor, h: Tensor) -> Tensor:
    return 1 - cosine(q, h).diagonal().mean()


def neighbour_prediction(q: Tensor, h: Tensor, graph: Graph, aggregate: str = "mean") -> Tensor:
    """-(2/N) sum_i agg_{j in N(i)} cos(q_j, h_i)."""
    a = adjacency(graph)
    total = torch.zeros((), dtype=torch.float64)
    for i in range(len(a)):
        size = a[i].sum()
        if size > 0:
            total = total + (a[i] * cosine(q, h)[:, i]).sum() / (size if aggregate == "mean" else 1)
    return -2 / len(a) * total


def pair_prediction(q: Tensor, h: Tensor, pairs: list[tuple[int, int]]) -> Tensor:
    c = cosine(q, h)
    return torch.stack([(2 - 2 * c[i, j]) + (2 - 2 * c[j, i]) for i, j in pairs]).mean()


def found_pairs(nearest: Tensor, clusters: Tensor, graph: Graph) -> list[tuple[int, int]]:
    """Of the nearest: neighbours and the node itself, and members of the node's cluster in any clustering."""
    edges = set(zip(graph.rows.tolist(), graph.indices.tolist(), strict=True))
    return [
        (i, j)
        for i, row in enumerate(nearest.tolist())
        for j in row
        if i == j or (i, j) in edges or any(run[i] == run[j] for run in clusters.tolist())
    ]
