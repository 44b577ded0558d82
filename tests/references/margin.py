"""The loss of SUGRL as its formula reads, node by node, in double precision."""

import torch
from torch import Tensor


def margin_loss(
    h: Tensor, p: Tensor, q: Tensor, permutations: list[list[int]], m1: float, m2: float, w: float, w_bound: float
) -> Tensor:
    n, k = len(h), len(permutations)
    zero = torch.zeros((), dtype=h.dtype)
    total = zero
    for order in permutations:
        for i in range(n):
            near, close, apart = (((h[i] - other) ** 2).sum() for other in (p[i], q[i], h[order[i]]))
            near, close, apart = (torch.sqrt(d) if d > 0 else zero for d in (near, close, apart))
            total = total + w / n * torch.maximum(m1 + near - apart, zero)
            total = total + w / n * torch.maximum(m1 + close - apart, zero)
            total = total + w_bound / k * torch.maximum(apart - near.detach() - (m1 + m2), zero)
    return total
