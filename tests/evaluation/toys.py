"""Small labelled point clouds and splits, shared by the tests of the protocols."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from localgcl.graph import Split

Array = NDArray[Any]


def clouds(n: int = 120, dim: int = 8, classes: int = 3, spread: float = 0.1, seed: int = 0) -> tuple[Array, Array]:
    """Gaussian clouds around orthogonal unit vectors, and which cloud each point is of."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    z = np.eye(dim)[y] + spread * rng.standard_normal((n, dim))
    return z.astype(np.float32), y


def thirds(n: int, seed: int = 0, name: str = "thirds") -> Split:
    nodes = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return Split(nodes[: n // 3], nodes[n // 3 : 2 * n // 3], nodes[2 * n // 3 :], name)
