"""Small problems and tools that the tests of the loss share."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from localgcl.graph import Graph
from tests.references import local as reference
from tests.references.graphs import random_rows

# float64 against float64: only the order of additions differs.
CLOSE: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12}


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def linked(num_nodes: int, *pairs: tuple[int, int]) -> Graph:
    return Graph.from_edges([i for i, _ in pairs], [j for _, j in pairs], x=torch.zeros(num_nodes, 1))


def ring(num_nodes: int) -> Graph:
    nodes = torch.arange(num_nodes)
    return Graph.from_edges(nodes, (nodes + 1) % num_nodes, x=torch.zeros(num_nodes, 1)).symmetrized()


def directions(num_nodes: int, dim: int, seed: int = 0) -> Tensor:
    return torch.nn.functional.normalize(random_rows(num_nodes, dim, seed), dim=1)


def with_gradient(function: Callable[[Tensor], Tensor], z: Tensor) -> tuple[Tensor, Tensor]:
    leaf = z.detach().clone().requires_grad_()
    value = function(leaf)
    (grad,) = torch.autograd.grad(value, leaf)
    return value.detach(), grad


def number(loss: Tensor) -> float:
    return float(loss.detach())


def kernel_reference(draw: Any, tau: float) -> Callable[[Tensor], Tensor]:
    return lambda u: reference.negative_kernel(draw.psi(u), reference.kernel_floor(len(u), tau), 1 / tau)
