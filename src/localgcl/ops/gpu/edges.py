r"""Dot products along edges on a GPU: $s_e = z_{row(e)}^T z_{column(e)}$.

A program owns a fixed number of edges, so nodes of high degree cost no more than others; edges of one row are neighbours in
memory, so that row is read from the cache.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

_EDGES = 32


def edge_dot(z: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """z[rows] . z[columns] for every edge. O(|E| d) time, O(|E|) memory."""
    z, m = z.contiguous(), rows.numel()
    out = torch.empty(m, device=z.device, dtype=z.dtype)
    if m:
        width = min(128, triton.next_power_of_2(z.shape[1]))
        _edge_dot[(triton.cdiv(m, _EDGES),)](z, rows, columns, out, m, z.shape[1], EDGES=_EDGES, WIDTH=width)
    return out


@triton.jit
def _edge_dot(z, rows, columns, out, m, d, EDGES: tl.constexpr, WIDTH: tl.constexpr):
    e = tl.program_id(0).to(tl.int64) * EDGES + tl.arange(0, EDGES)
    i = tl.load(rows + e, mask=e < m, other=0).to(tl.int64)
    j = tl.load(columns + e, mask=e < m, other=0).to(tl.int64)
    k = tl.arange(0, WIDTH)
    total = tl.zeros((EDGES, WIDTH), tl.float32)
    for start in range(0, d, WIDTH):
        inside = (k < d - start)[None, :]
        a = tl.load(z + i[:, None] * d + start + k[None, :], mask=inside, other=0.0)
        b = tl.load(z + j[:, None] * d + start + k[None, :], mask=inside, other=0.0)
        total += a * b
    tl.store(out + e, tl.sum(total, 1), mask=e < m)
