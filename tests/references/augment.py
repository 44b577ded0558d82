"""GCA's drop rates and the diffusion of MVGRL, from the formulas, dense and in double precision."""

from typing import Any

import numpy as np

Array = Any


def normalised_adjacency(a: Array) -> Array:
    """D^-1/2 (A + I) D^-1/2 with row i the edges that point to i; `a[i, j]` counts edges from i to j, loops aside."""
    incoming = a.T - np.diag(np.diag(a)) + np.eye(len(a))
    scale = incoming.sum(1) ** -0.5
    return scale[:, None] * incoming * scale[None]


def diffusion(a: Array, alpha: float) -> Array:
    return alpha * np.linalg.inv(np.eye(len(a)) - (1 - alpha) * normalised_adjacency(a))


def top_rows(s: Array, k: int) -> Array:
    """The k largest entries of each row, scaled to the row's sum."""
    result = np.zeros_like(s)
    for i, row in enumerate(s):
        kept = np.argsort(-row)[:k]
        result[i, kept] = row[kept] * row.sum() / row[kept].sum()
    return result


def drop_rates(centrality: Array, rate: float, cap: float) -> Array:
    s = np.log(centrality)
    return np.minimum((s.max() - s) / (s.max() - s.mean()) * rate, cap)
