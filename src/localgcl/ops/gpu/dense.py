r"""Random Fourier features with a dense matrix of frequencies on a GPU: product, sine and cosine and their sums in one kernel.

$\theta = z W$ for W of shape (d, D), $\psi = [\cos\theta, \sin\theta]/\sqrt D$. The three passes are those of `sorf`; here a
tile of $\theta$ is a matrix product over d, and the sums over it are taken before it leaves the registers. Only `pullback`
writes $\partial\theta$ out, for one chunk of rows at a time, because $\partial z = \partial\theta\, W^T$ needs all
D of them at once.

Rows and frequencies are rounded to half precision (as many bits as TF32), unless torch is set to keep single precision.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from localgcl.ops.frequencies import inverses
from localgcl.ops.gpu.launch import interpreted, product, sincos, tile_product, working_copy

_GROUPS = 32  # partial sums over rows
_CHUNK = 2**25  # entries of the upstream gradient held at a time


def feature_sum(z: Tensor, weights: Tensor, frequencies: Tensor) -> Tensor:
    """Sum over rows of weights_i [cos theta_i, sin theta_i], as (2, D). O(n d D) time, O(n d + D) memory."""
    (n, d), num_features = z.shape, frequencies.shape[1]
    z, w = working_copy(z), working_copy(frequencies.T)
    tile = _tile(z)
    tiles = triton.cdiv(n, tile["BM"])
    groups = min(tiles, _GROUPS)
    partial = torch.empty(groups, 2, num_features, device=z.device, dtype=torch.float32)
    grid = (triton.cdiv(num_features, tile["BF"]), groups)
    _feature_sum[grid](z, w, weights, partial, n, d, num_features, tiles, **tile)
    return partial.sum(0)


def inner(z: Tensor, vector: Tensor, frequencies: Tensor) -> Tensor:
    """[cos theta_i, sin theta_i] . vector for every row, vector of shape (2, D). O(n d D) time, O(n d) memory."""
    (n, d), num_features = z.shape, frequencies.shape[1]
    z, w = working_copy(z), working_copy(frequencies.T)
    tile = _tile(z)
    out = torch.empty(n, device=z.device, dtype=torch.float32)
    _inner[(triton.cdiv(n, tile["BM"]),)](z, w, vector.contiguous(), out, n, d, num_features, **tile)
    return out


def balance(z: Tensor, total: Tensor, frequencies: Tensor, floor: Tensor, living: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """q_i = psi_i . S, its inverses, and the sum over rows of [cos theta_i, sin theta_i] / q_i."""
    q = inner(z, total, frequencies) / frequencies.shape[1]
    inverse = inverses(q, living, floor)
    return q, inverse, feature_sum(z, inverse, frequencies)


def pullback(z: Tensor, a: Tensor, u: Tensor, b: Tensor, v: Tensor, frequencies: Tensor) -> Tensor:
    """Gradient with respect to z of sum_i (a_i u + b_i v) . [cos theta_i, sin theta_i]; u and v of shape (2, D)."""
    (n, d), num_features = z.shape, frequencies.shape[1]
    out = torch.empty_like(z, memory_format=torch.contiguous_format)
    z, w = working_copy(z), working_copy(frequencies.T)
    tile = _tile(z)
    # Half precision has a short range: each row is scaled by the bound of what it will hold.
    bound = (a.abs() * u.abs().max() + b.abs() * v.abs().max()).clamp_min(1e-30)
    rows = max(128, _CHUNK // num_features)
    upstream = torch.empty(min(rows, n), num_features, device=z.device, dtype=z.dtype)
    for start in range(0, n, rows):
        part = slice(start, min(start + rows, n))
        size = part.stop - start
        grid = (triton.cdiv(num_features, tile["BF"]), triton.cdiv(size, tile["BM"]))
        _upstream[grid](
            z[part], w, a[part] / bound[part], u.contiguous(), b[part] / bound[part], v.contiguous(), upstream,
            size, d, num_features, **tile,
        )  # fmt: skip
        out[part] = product(upstream[:size], w) * bound[part, None]
    return out


def _tile(z: Tensor) -> dict[str, int | bool]:
    exact = z.dtype == torch.float32
    shape = (32, 128, 64) if interpreted() else (64, 64, 32) if exact else (128, 128, 64)
    constants: dict[str, int | bool] = dict(zip(("BM", "BF", "BK"), shape, strict=True))
    return constants | {"EXACT": exact, "FAST": not interpreted(), "num_warps": 4 if exact else 8, "num_stages": 3}


@triton.jit
def _feature_sum(z, w, weights, out, n, d, num_features, tiles,
                 BM: tl.constexpr, BF: tl.constexpr, BK: tl.constexpr, EXACT: tl.constexpr, FAST: tl.constexpr):  # fmt: skip
    group, groups = tl.program_id(1), tl.num_programs(1)
    f = tl.program_id(0) * BF + tl.arange(0, BF)
    cosines = tl.zeros((BF,), tl.float32)
    sines = tl.zeros((BF,), tl.float32)
    for tile in range(group, tiles, groups):
        row = tile * BM + tl.arange(0, BM)
        theta = tile_product(z, w, row, f, n, num_features, d, BK, EXACT)
        s, c = sincos(theta, FAST)
        weight = tl.load(weights + row, mask=row < n, other=0.0)[:, None]
        cosines += tl.sum(weight * c, 0)
        sines += tl.sum(weight * s, 0)
    place = out + group.to(tl.int64) * 2 * num_features + f
    tl.store(place, cosines, mask=f < num_features)
    tl.store(place + num_features, sines, mask=f < num_features)


@triton.jit
def _inner(z, w, vector, out, n, d, num_features,
           BM: tl.constexpr, BF: tl.constexpr, BK: tl.constexpr, EXACT: tl.constexpr, FAST: tl.constexpr):  # fmt: skip
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros((BM,), tl.float32)
    for start in range(0, num_features, BF):
        f = start + tl.arange(0, BF)
        theta = tile_product(z, w, row, f, n, num_features, d, BK, EXACT)
        s, c = sincos(theta, FAST)
        inside = f < num_features
        v_cos = tl.load(vector + f, mask=inside, other=0.0)[None, :]
        v_sin = tl.load(vector + num_features + f, mask=inside, other=0.0)[None, :]
        total += tl.sum(c * v_cos + s * v_sin, 1)
    tl.store(out + row, total, mask=row < n)


@triton.jit
def _upstream(z, w, a, u, b, v, out, n, d, num_features,
              BM: tl.constexpr, BF: tl.constexpr, BK: tl.constexpr, EXACT: tl.constexpr, FAST: tl.constexpr):  # fmt: skip
    f = tl.program_id(0) * BF + tl.arange(0, BF)
    row = tl.program_id(1) * BM + tl.arange(0, BM)
    theta = tile_product(z, w, row, f, n, num_features, d, BK, EXACT)
    s, c = sincos(theta, FAST)
    inside = f < num_features
    u_cos = tl.load(u + f, mask=inside, other=0.0)[None, :]
    u_sin = tl.load(u + num_features + f, mask=inside, other=0.0)[None, :]
    v_cos = tl.load(v + f, mask=inside, other=0.0)[None, :]
    v_sin = tl.load(v + num_features + f, mask=inside, other=0.0)[None, :]
    a_i = tl.load(a + row, mask=row < n, other=0.0)[:, None]
    b_i = tl.load(b + row, mask=row < n, other=0.0)[:, None]
    g = c * (a_i * u_sin + b_i * v_sin) - s * (a_i * u_cos + b_i * v_cos)
    place = out + row[:, None].to(tl.int64) * num_features + f[None, :]
    tl.store(place, g.to(out.dtype.element_ty), mask=(row < n)[:, None] & inside[None, :])
