"""ProGCL-mix as its formulas read: one anchor, one candidate, one mix at a time, float64; densities by scipy."""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import beta as beta_distribution
from torch import Tensor

from localgcl.graph import Graph

Parameters = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def posterior(s: NDArray[np.float64], parameters: Parameters) -> NDArray[np.float64]:
    """Probability of component 0, by Bayes."""
    joint = [w * beta_distribution.pdf(s, a, b) for a, b, w in zip(*parameters, strict=True)]
    return np.asarray(joint[0] / (joint[0] + joint[1]))


def beta_mixture(s: NDArray[np.float64], iterations: int = 10, false_share: float = 0.05) -> Parameters:
    """EM with the method of moments."""
    alpha, beta, weight = np.array([1.0, 2.0]), np.array([2.0, 1.0]), np.array([1 - false_share, false_share])
    for _ in range(iterations):
        first = posterior(s, (alpha, beta, weight))
        for c, r in enumerate((first, 1 - first)):
            mean = np.average(s, weights=r)
            variance = np.average((s - mean) ** 2, weights=r)
            alpha[c] = mean * (mean * (1 - mean) / variance - 1)
            beta[c] = alpha[c] * (1 - mean) / mean
            weight[c] = r.sum() / len(s)
        beta[1] = max(beta[1], 1.01)
    return alpha, beta, weight


def hard_log_sums(
    z: Tensor, graph: Graph, tau: float, candidates: list[int], order: list[int], parameters: Parameters
) -> list[Tensor]:
    """log of the sum over the mixes of each node, given pool, permutation of ranks and mixture; minus infinity if none."""
    alive = z.norm(dim=1) > 0
    u = torch.where(alive[:, None], z / z.norm(dim=1, keepdim=True).clamp_min(1e-30), 0.0)
    edges = set(zip(graph.rows.tolist(), graph.indices.tolist(), strict=True))
    result = []
    for i in range(len(z)):
        ranked = []
        for j in candidates:
            if j == i or (i, j) in edges or not alive[j]:
                continue
            s = (float(u[i].detach() @ u[j].detach()) + 1) / 2
            ranked.append((float(posterior(np.array([s]), parameters)[0]) * s, j))
        ranked.sort(reverse=True)
        ranked = ranked[: len(order)]
        mixes = []
        for p, q in enumerate(order):
            if p < len(ranked) and q < len(ranked):
                (b_p, j_p), (b_q, j_q) = ranked[p], ranked[q]
                mixes.append((b_p * (u[i] @ u[j_p]) + b_q * (u[i] @ u[j_q])) / (b_p + b_q + 1e-12))
        result.append((torch.stack(mixes) / tau).exp().sum().log() if mixes else torch.tensor(-math.inf, dtype=z.dtype))
    return result
