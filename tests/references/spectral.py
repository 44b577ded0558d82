"""The spectral contrastive loss over a pool, node by node."""

import torch
from torch import Tensor


def spectral_loss(z: Tensor, positives: list[list[int]], negatives: list[list[int]]) -> Tensor:
    total = torch.zeros((), dtype=z.dtype)
    u = [row / row.norm() if row.norm() > 0 else row for row in z]
    for i in range(len(z)):
        total = total - 2 / len(positives[i]) * sum(u[i] @ u[j] for j in positives[i])
        total = total + sum((u[i] @ u[k]) ** 2 for k in negatives[i])
    return total / len(z)
