"""CCA-SSG and CCA-SSG-Local as their formulas read, with every correlation matrix written out, in float64."""

import math

import torch
from torch import Tensor

from localgcl.graph import Graph
from tests.references.local import adjacency


def standardised(z: Tensor) -> Tensor:
    """(Z - mean) / (deviation sqrt(N)), deviation with N - 1; columns without spread are zero."""
    columns = []
    for column in z.double().T:
        flat = bool((column == column[0]).all())
        columns.append(0 * column if flat else (column - column.mean()) / column.std() / math.sqrt(len(column)))
    return torch.stack(columns, dim=1)


def off_identity(z: Tensor) -> Tensor:
    return (torch.eye(z.shape[1], dtype=torch.float64) - z.T @ z).square().sum()


def view_loss(z1: Tensor, z2: Tensor, weight: float) -> Tensor:
    a, b = standardised(z1), standardised(z2)
    return -torch.trace(a.T @ b) + weight * (off_identity(a) + off_identity(b))


def neighbour_mean(h: Tensor, graph: Graph) -> Tensor:
    a = adjacency(graph)
    return torch.stack([h[i] if a[i].sum() == 0 else a[i] @ h.double() / a[i].sum() for i in range(len(h))])


def neighbour_loss(h: Tensor, graph: Graph, weight: float) -> Tensor:
    a, b = standardised(h), standardised(neighbour_mean(h, graph))
    return (a - b).square().sum() + weight * (off_identity(a) + off_identity(b))
