r"""Sums over all pairs of unit rows on a GPU, flash-style: tiles of the N x N matrix are computed, used and forgotten.

**Forward.** On unit rows $z_i^T z_k \le 1$, so with the fixed shift $1/\tau$ no running maximum is needed:
$r_i = \sum_k e^{(z_i^T z_k - 1)/\tau}$ and the log-sum-exp is $\log r_i + 1/\tau$. A program owns a tile of rows and a share of
the columns.

**Backward.** With $e_{ik} = e^{(z_i^T z_k - 1)/\tau}$, symmetric in i and k, the softmax of row i is $p_{ik} = e_{ik}/r_i$ and

$$\partial z_i = \frac1\tau \sum_k (p_{ik} + p_{ki})\, z_k = \frac1\tau \sum_k e_{ik} (1/r_i + 1/r_k)\, z_k .$$

The matrix $P_{ik} = e_{ik}(1/r_i + 1/r_k)$ is symmetric too: a block of it, computed once, serves the rows i and, transposed,
the rows k. One block of at most 8192 x 8192 exists at a time, written by the kernel and read by two ordinary matrix products.

Rows are rounded to half precision (as many bits as TF32) unless torch is set to keep single precision. P is at most 2; it is
scaled by $2^{14}$ so that entries of size 1/N stay in half precision's normal range.
"""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from localgcl.ops.gpu.launch import interpreted, product, tile_product, working_copy

_BLOCK = 8192
_PROGRAMS = 132 * 4
_SCALE = 2.0**14


def row_sums(z: Tensor, alive: Tensor, temperature: float, *, include_self: bool = True) -> Tensor:
    """r_i = sum over living k of exp((z_i.z_k - 1) / tau), for unit rows z. O(n^2 d) time, O(n d) memory."""
    n, d = z.shape
    x = working_copy(z)
    tile = _tile(x)
    row_tiles, column_tiles = triton.cdiv(n, tile["BM"]), triton.cdiv(n, tile["BN"])
    # Few rows do not fill a GPU; their columns are then shared out, and the shares added in a fixed order.
    shares = min(column_tiles, max(1, triton.cdiv(_PROGRAMS, row_tiles)))
    partial = torch.empty(shares, n, device=z.device, dtype=torch.float32)
    _row_sums[(row_tiles, shares)](x, alive, partial, n, d, _log2e(temperature), column_tiles, SELF=include_self, **tile)
    return partial.sum(0)


def pullback(z: Tensor, inverse: Tensor, temperature: float, *, include_self: bool = True) -> Tensor:
    """sum_k e_ik (inverse_i + inverse_k) z_k for every row i. O(n^2 d) time, O(n d) memory."""
    n, d = z.shape
    x = working_copy(z)
    tile = _tile(x)
    out = torch.zeros(n, d, device=z.device, dtype=torch.float32)
    starts = range(0, n, _BLOCK)
    weights = torch.empty(min(n, _BLOCK) ** 2, device=z.device, dtype=x.dtype)
    for i in starts:
        rows = slice(i, min(i + _BLOCK, n))
        for k in starts:
            if k < i:
                continue
            columns = slice(k, min(k + _BLOCK, n))
            shape = (rows.stop - i, columns.stop - k)
            block = weights[: shape[0] * shape[1]].view(shape)
            grid = (triton.cdiv(shape[0], tile["BM"]), triton.cdiv(shape[1], tile["BN"]))
            _weights[grid](
                x[rows], x[columns], inverse[rows], inverse[columns], block, *shape, d, k - i,
                _log2e(temperature), _SCALE, SELF=include_self, **tile,
            )  # fmt: skip
            out[rows] += product(block, x[columns])
            if k > i:
                out[columns] += product(block.T, x[rows])
    return out.div_(_SCALE)


def _log2e(temperature: float) -> float:
    return math.log2(math.e) / temperature


def _tile(z: Tensor) -> dict[str, int | bool]:
    exact = z.dtype == torch.float32
    shape = (32, 128, 64) if interpreted() else (64, 64, 32) if exact else (128, 128, 64)
    constants: dict[str, int | bool] = dict(zip(("BM", "BN", "BK"), shape, strict=True))
    return constants | {"EXACT": exact, "num_warps": 4 if exact else 8, "num_stages": 3}


@triton.jit
def _exponentials(x, y, rows, columns, num_rows, num_columns, d, offset, scale, BK: tl.constexpr,
                  SELF: tl.constexpr, EXACT: tl.constexpr):  # fmt: skip
    """Tile of e_ik; column k of y is row k + offset of x's numbering."""
    s = tile_product(x, y, rows, columns, num_rows, num_columns, d, BK, EXACT)
    e = tl.exp2((s - 1.0) * scale)
    if not SELF:
        e = tl.where(rows[:, None] == columns[None, :] + offset, 0.0, e)
    return e


@triton.jit
def _row_sums(x, alive, out, n, d, scale, column_tiles, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
              SELF: tl.constexpr, EXACT: tl.constexpr):  # fmt: skip
    share, shares = tl.program_id(1), tl.num_programs(1)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros((BM,), tl.float32)
    for tile in range(share, column_tiles, shares):
        columns = tile * BN + tl.arange(0, BN)
        e = _exponentials(x, x, rows, columns, n, n, d, 0, scale, BK, SELF, EXACT)
        living = tl.load(alive + columns, mask=columns < n, other=0).to(tl.float32)
        total += tl.sum(e * living[None, :], 1)
    tl.store(out + share.to(tl.int64) * n + rows, total, mask=rows < n)


@triton.jit
def _weights(x, y, inverse_rows, inverse_columns, out, num_rows, num_columns, d, offset, scale, factor,
             BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SELF: tl.constexpr, EXACT: tl.constexpr):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    e = _exponentials(x, y, rows, columns, num_rows, num_columns, d, offset, scale, BK, SELF, EXACT)
    r = tl.load(inverse_rows + rows, mask=rows < num_rows, other=0.0)
    q = tl.load(inverse_columns + columns, mask=columns < num_columns, other=0.0)
    p = e * (r[:, None] + q[None, :]) * factor
    inside = (rows < num_rows)[:, None] & (columns < num_columns)[None, :]
    tl.store(out + rows[:, None].to(tl.int64) * num_columns + columns[None, :], p.to(out.dtype.element_ty), mask=inside)
