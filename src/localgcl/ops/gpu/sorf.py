r"""Structured orthogonal features on a GPU: signs, Hadamard transforms, sine and cosine and their sums in one kernel.

**Angles.** For a row x of z, padded to p = 2^k entries, block b of the frequencies gives

$$\theta = c\, H D_3 H D_2 H D_1 x, \qquad \psi(x) = [\cos\theta, \sin\theta] / \sqrt D .$$

Nothing of size N x D exists: each of the three passes below recomputes $\theta$ where it needs it, tile by tile.

1. `feature_sum`: $\sum_i w_i [\cos\theta_i, \sin\theta_i]$, for S (w = 1) and for g (w = 1/q). A program owns one block of
   frequencies and one group of rows and keeps its sums in registers; the groups' sums are added in a fixed order afterwards.
2. `inner`: $[\cos\theta_i, \sin\theta_i] \cdot v$ for every row. A program owns a tile of rows and walks over the blocks.
3. `pullback`: with upstream $\partial\cos\theta_i = a_i u_c + b_i v_c$ and $\partial\sin\theta_i = a_i u_s + b_i v_s$,
   $\partial\theta = \cos\theta\,\partial\sin - \sin\theta\,\partial\cos$ and
   $\partial x = c\, D_1 H D_2 H D_3 H\,\partial\theta$, since H and the D are symmetric. A program owns a tile of rows
   and adds up over the blocks.

**Transform.** Entry j = a B + b of a row is entry (a, b) of a matrix, and $H_{AB} = H_A \otimes H_B$ acts on its two sides
one after the other: two products with matrices of 16 to 64 rows of +-1, which tensor cores do. A tile of rows is kept as
[rows * A, B] ("across") or, turned, as [rows * B, A] ("down"). The two factors commute, so consecutive transforms take them
in opposite order, and the tile is turned three times in three transforms instead of six.

**Precision.** +-1 is exact in half precision, so only the rows are rounded, to 11 bits: as many as TF32 has, at twice its
speed. With EXACT the rows are split in two halves of 11 bits, which gives single precision. Half precision has a short
range: rows are scaled so that what is rounded is of order one, and the upstream gradient is scaled row by row by its bound.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from localgcl.ops.frequencies import inverses
from localgcl.ops.gpu.launch import interpreted, sincos, single_precision

# Partial sums of `feature_sum`: enough programs to fill a GPU, few enough that their sums stay small.
_MAX_GROUPS = 256
_PROGRAMS = 132 * 16
# Entries in a tile of rows, warps and pipeline stages, for p up to a limit: the fastest of those tried on an H200.
_SHAPES = {
    "feature_sum": ((128, (4096, 4, 2)), (1024, (2048, 4, 1)), (4096, (4096, 4, 1))),
    "inner": ((128, (8192, 4, 1)), (256, (2048, 2, 1)), (4096, (8192, 4, 1))),
    "pullback": ((128, (4096, 4, 2)), (512, (2048, 2, 1)), (4096, (8192, 4, 1))),
}


def feature_sum(z: Tensor, weights: Tensor, signs: Tensor, scale: float, num_features: int) -> Tensor:
    """Sum over rows of weights_i [cos theta_i, sin theta_i], as (2, D). O(n D log d) operations, O(D) memory."""
    n, tile = z.shape[0], _Tile(z, signs, "feature_sum")
    tiles = triton.cdiv(n, tile.rows)
    groups = max(1, min(tiles, _MAX_GROUPS, _PROGRAMS // tile.blocks))
    partial = torch.empty(groups, 2, num_features, device=z.device, dtype=torch.float32)
    _feature_sum[(tile.blocks, groups)](
        z, weights, signs, tile.across, tile.down, partial, n, z.shape[1], num_features, tiles,
        *tile.scales(scale), *z.stride(), **tile.constants,
    )  # fmt: skip
    return partial.sum(0)


def inner(z: Tensor, vector: Tensor, signs: Tensor, scale: float, num_features: int) -> Tensor:
    """[cos theta_i, sin theta_i] . vector for every row, vector of shape (2, D). O(n D log d) operations, O(n) memory."""
    n, tile = z.shape[0], _Tile(z, signs, "inner")
    out = torch.empty(n, device=z.device, dtype=torch.float32)
    _inner[(triton.cdiv(n, tile.rows),)](
        z, vector.contiguous(), signs, tile.across, tile.down, out, n, z.shape[1], num_features, tile.blocks,
        *tile.scales(scale), *z.stride(), **tile.constants,
    )  # fmt: skip
    return out


def balance(
    z: Tensor, total: Tensor, signs: Tensor, scale: float, num_features: int, floor: Tensor, living: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """q_i = psi_i . S, its inverses, and the sum over rows of [cos theta_i, sin theta_i] / q_i."""
    q = inner(z, total, signs, scale, num_features) / num_features
    inverse = inverses(q, living, floor)
    return q, inverse, feature_sum(z, inverse, signs, scale, num_features)


def pullback(z: Tensor, a: Tensor, u: Tensor, b: Tensor, v: Tensor, signs: Tensor, scale: float, num_features: int) -> Tensor:
    """Gradient with respect to z of sum_i (a_i u + b_i v) . [cos theta_i, sin theta_i]; u and v of shape (2, D)."""
    n, tile = z.shape[0], _Tile(z, signs, "pullback")
    out = torch.empty_like(z, memory_format=torch.contiguous_format)
    bounds = torch.stack([u.abs().max(), v.abs().max()])
    _pullback[(triton.cdiv(n, tile.rows),)](
        z, a, u.contiguous(), b, v.contiguous(), bounds, signs, tile.across, tile.down, out,
        n, z.shape[1], num_features, tile.blocks, *tile.scales(scale), *z.stride(), **tile.constants,
    )  # fmt: skip
    return out


class _Tile:
    """How rows are cut into tiles, and the constants of the kernels."""

    def __init__(self, z: Tensor, signs: Tensor, kernel: str) -> None:
        _, self.blocks, size = signs.shape
        elements, num_warps, num_stages = next(shape for limit, shape in _SHAPES[kernel] if size <= limit)
        self.size = size
        across = size if size <= 128 else 1 << size.bit_length() // 2
        down = size // across
        self.rows = max(1, elements // size)
        if down == 1:
            self.rows = max(16, self.rows)  # a product needs 16 rows
        self.across = _hadamard(across, z.device)
        self.down = _hadamard(down, z.device)
        self.constants = {
            "ROWS": self.rows,
            "A": down,
            "B": across,
            "EXACT": single_precision(z),
            "FAST": not interpreted(),
            "FULL": z.shape[1] == size,
            "num_warps": num_warps,
            "num_stages": num_stages,
        }

    def scales(self, scale: float) -> tuple[float, float, float]:
        """Factors with D_1, D_2 and D_3, since H is not normalised; their product is c p^(-3/2)."""
        root = self.size**0.5
        return root, 1 / root, scale / root**3


_MATRICES: dict[tuple[int, torch.device], Tensor] = {}


def _hadamard(size: int, device: torch.device) -> Tensor:
    """The unnormalised Hadamard matrix, +-1 in half precision."""
    key = (size, device)
    if key not in _MATRICES:
        matrix = torch.ones(1, 1)
        while matrix.shape[0] < size:
            matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)], 0)
        _MATRICES[key] = matrix.to(device, torch.float16)
    return _MATRICES[key]


@triton.jit
def _times(x, h, EXACT: tl.constexpr):
    """x @ h, x rounded to half precision once, or twice for single precision."""
    high = x.to(tl.float16)
    out = tl.dot(high, h)
    if EXACT:
        out = tl.dot((x - high.to(tl.float32)).to(tl.float16), h, out)
    return out


@triton.jit
def _turn(x, ROWS: tl.constexpr, P: tl.constexpr, Q: tl.constexpr, EXACT: tl.constexpr):
    """[rows * P, Q] -> [rows * Q, P]. In half precision where the next product would round anyway: half the traffic."""
    if not EXACT:
        x = x.to(tl.float16)
    x = tl.reshape(tl.permute(tl.reshape(x, (ROWS, P, Q)), (0, 2, 1)), (ROWS * Q, P))
    return x.to(tl.float32)


@triton.jit
def _signed(x, signs, factor, ROWS: tl.constexpr, P: tl.constexpr, Q: tl.constexpr):
    """Multiplies every row's P x Q matrix by the signs (and a factor), entry by entry."""
    x = tl.reshape(x, (ROWS, P, Q)) * tl.reshape(signs * factor, (1, P, Q))
    return tl.reshape(x, (ROWS * P, Q))


@triton.jit
def _load_signs(signs, block, blocks, A: tl.constexpr, B: tl.constexpr):
    """D_1 and D_3 as they meet the tile down, D_2 as it meets it across."""
    across = tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    down = tl.arange(0, B)[:, None] + tl.arange(0, A)[None, :] * B
    first = signs + block * A * B
    if A == 1:
        down = across
    s1 = tl.load(first + down)
    s2 = tl.load(first + blocks * A * B + across)
    s3 = tl.load(first + 2 * blocks * A * B + down)
    return s1, s2, s3


@triton.jit
def _angles(x, s1, s2, s3, h_across, h_down, enter, between, leave,
            ROWS: tl.constexpr, A: tl.constexpr, B: tl.constexpr, EXACT: tl.constexpr):  # fmt: skip
    """theta, across; x comes down."""
    if A == 1:
        x = _times(x * (s1 * enter), h_across, EXACT)
        x = _times(x * (s2 * between), h_across, EXACT)
        x = _times(x * (s3 * leave), h_across, EXACT)
    else:
        x = _times(_signed(x, s1, enter, ROWS, B, A), h_down, EXACT)
        x = _times(_turn(x, ROWS, B, A, EXACT), h_across, EXACT)
        x = _times(_signed(x, s2, between, ROWS, A, B), h_across, EXACT)
        x = _times(_turn(x, ROWS, A, B, EXACT), h_down, EXACT)
        x = _times(_signed(x, s3, leave, ROWS, B, A), h_down, EXACT)
        x = _times(_turn(x, ROWS, B, A, EXACT), h_across, EXACT)
    return x


@triton.jit
def _back(g, s1, s2, s3, h_across, h_down, between,
          ROWS: tl.constexpr, A: tl.constexpr, B: tl.constexpr, EXACT: tl.constexpr):  # fmt: skip
    """The transpose of `_angles` but for the factors at its ends: g comes across, the result is down."""
    if A == 1:
        g = _times(g, h_across, EXACT)
        g = _times(g * (s3 * between), h_across, EXACT)
        g = _times(g * (s2 * between), h_across, EXACT)
        g = g * s1
    else:
        g = _times(g, h_across, EXACT)
        g = _times(_turn(g, ROWS, A, B, EXACT), h_down, EXACT)
        g = _times(_signed(g, s3, between, ROWS, B, A), h_down, EXACT)
        g = _times(_turn(g, ROWS, B, A, EXACT), h_across, EXACT)
        g = _times(_signed(g, s2, between, ROWS, A, B), h_across, EXACT)
        g = _times(_turn(g, ROWS, A, B, EXACT), h_down, EXACT)
        g = _signed(g, s1, 1.0, ROWS, B, A)
    return g


@triton.jit
def _load_rows(z, first, n, d, stride_n, stride_d,
               ROWS: tl.constexpr, A: tl.constexpr, B: tl.constexpr, FULL: tl.constexpr):  # fmt: skip
    """A tile of rows of z, down, zero outside."""
    row = (first + tl.arange(0, ROWS))[:, None, None]
    column = tl.arange(0, A)[None, :, None] * B + tl.arange(0, B)[None, None, :]
    inside = row < n
    if not FULL:
        inside = inside & (column < d)
    x = tl.load(z + row.to(tl.int64) * stride_n + column * stride_d, mask=inside, other=0.0)
    if A == 1:
        x = tl.reshape(x, (ROWS, B))
    else:
        x = tl.reshape(tl.permute(x, (0, 2, 1)), (ROWS * B, A))
    return x.to(tl.float32)


@triton.jit
def _load_pair(vector, block, num_features, A: tl.constexpr, B: tl.constexpr):
    """This block's part of a (2, D) vector, across; zero past D, so that frequencies that were cut off count nothing."""
    f = block * A * B + tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    inside = f < num_features
    return tl.load(vector + f, mask=inside, other=0.0), tl.load(vector + num_features + f, mask=inside, other=0.0)


@triton.jit
def _feature_sum(z, weights, signs, across, down, out, n, d, num_features, tiles, enter, between, leave, stride_n, stride_d,
                 ROWS: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
                 EXACT: tl.constexpr, FAST: tl.constexpr, FULL: tl.constexpr):  # fmt: skip
    block, group = tl.program_id(0), tl.program_id(1)
    blocks, groups = tl.num_programs(0), tl.num_programs(1)
    h_across = tl.load(across + tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :])
    h_down = tl.load(down + tl.arange(0, A)[:, None] * A + tl.arange(0, A)[None, :])
    s1, s2, s3 = _load_signs(signs, block, blocks, A, B)
    cosines = tl.zeros((ROWS * A, B), tl.float32)
    sines = tl.zeros((ROWS * A, B), tl.float32)
    for tile in range(group, tiles, groups):
        x = _load_rows(z, tile * ROWS, n, d, stride_n, stride_d, ROWS, A, B, FULL)
        theta = _angles(x, s1, s2, s3, h_across, h_down, enter, between, leave, ROWS, A, B, EXACT)
        s, c = sincos(theta, FAST)
        row = tile * ROWS + tl.arange(0, ROWS * A) // A
        w = tl.load(weights + row, mask=row < n, other=0.0)
        cosines += w[:, None] * c
        sines += w[:, None] * s
    f = block * A * B + tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    place = out + group.to(tl.int64) * 2 * num_features + f
    tl.store(place, tl.sum(tl.reshape(cosines, (ROWS, A, B)), 0), mask=f < num_features)
    tl.store(place + num_features, tl.sum(tl.reshape(sines, (ROWS, A, B)), 0), mask=f < num_features)


@triton.jit
def _inner(z, vector, signs, across, down, out, n, d, num_features, blocks, enter, between, leave, stride_n, stride_d,
           ROWS: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
           EXACT: tl.constexpr, FAST: tl.constexpr, FULL: tl.constexpr):  # fmt: skip
    first = tl.program_id(0) * ROWS
    h_across = tl.load(across + tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :])
    h_down = tl.load(down + tl.arange(0, A)[:, None] * A + tl.arange(0, A)[None, :])
    x = _load_rows(z, first, n, d, stride_n, stride_d, ROWS, A, B, FULL)
    total = tl.zeros((ROWS, A, B), tl.float32)
    for block in range(blocks):
        s1, s2, s3 = _load_signs(signs, block, blocks, A, B)
        theta = _angles(x, s1, s2, s3, h_across, h_down, enter, between, leave, ROWS, A, B, EXACT)
        s, c = sincos(theta, FAST)
        v_cos, v_sin = _load_pair(vector, block, num_features, A, B)
        total += tl.reshape(c, (ROWS, A, B)) * v_cos[None]
        total += tl.reshape(s, (ROWS, A, B)) * v_sin[None]
    row = first + tl.arange(0, ROWS)
    tl.store(out + row, tl.sum(tl.reshape(total, (ROWS, A * B)), 1), mask=row < n)


@triton.jit
def _pullback(z, a, u, b, v, bounds, signs, across, down, out, n, d, num_features, blocks, enter, between, leave,
              stride_n, stride_d, ROWS: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
              EXACT: tl.constexpr, FAST: tl.constexpr, FULL: tl.constexpr):  # fmt: skip
    first = tl.program_id(0) * ROWS
    h_across = tl.load(across + tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :])
    h_down = tl.load(down + tl.arange(0, A)[:, None] * A + tl.arange(0, A)[None, :])
    x = _load_rows(z, first, n, d, stride_n, stride_d, ROWS, A, B, FULL)
    row = first + tl.arange(0, ROWS)
    a_i = tl.load(a + row, mask=row < n, other=0.0)
    b_i = tl.load(b + row, mask=row < n, other=0.0)
    bound = tl.maximum(tl.abs(a_i) * tl.load(bounds) + tl.abs(b_i) * tl.load(bounds + 1), 1e-30)
    a_i = tl.reshape(a_i / bound, (ROWS, 1, 1))
    b_i = tl.reshape(b_i / bound, (ROWS, 1, 1))
    total = tl.zeros((ROWS * B, A), tl.float32)
    if A == 1:
        total = tl.zeros((ROWS, B), tl.float32)
    for block in range(blocks):
        s1, s2, s3 = _load_signs(signs, block, blocks, A, B)
        theta = _angles(x, s1, s2, s3, h_across, h_down, enter, between, leave, ROWS, A, B, EXACT)
        s, c = sincos(theta, FAST)
        u_cos, u_sin = _load_pair(u, block, num_features, A, B)
        v_cos, v_sin = _load_pair(v, block, num_features, A, B)
        s, c = tl.reshape(s, (ROWS, A, B)), tl.reshape(c, (ROWS, A, B))
        g = c * (a_i * u_sin[None] + b_i * v_sin[None]) - s * (a_i * u_cos[None] + b_i * v_cos[None])
        total += _back(tl.reshape(g, (ROWS * A, B)), s1, s2, s3, h_across, h_down, between, ROWS, A, B, EXACT)
    total = tl.reshape(total, (ROWS, B, A)) * (tl.reshape(bound, (ROWS, 1, 1)) * (leave * A * B))
    row = row[:, None, None]
    column = tl.arange(0, B)[None, :, None] + tl.arange(0, A)[None, None, :] * B
    tl.store(out + row.to(tl.int64) * d + column, total.to(out.dtype.element_ty), mask=(row < n) & (column < d))
