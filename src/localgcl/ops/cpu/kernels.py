r"""The compiled half of `sorf`: kernels that work on 16 nodes at a time, in plain Numba.

A chunk is 16 nodes. Row j of a chunk holds coordinate j of each node, side by side: 64 bytes, which is one cache line, one
AVX-512 register, two AVX2 registers. Butterflies, sines and cosines never mix lanes, so LLVM turns each loop over the 16 lanes
into vector instructions. It does so only where it can see that this is safe and worth it:

- Arrays of lanes are flat, and a loop indexes a slice of constant size from 0. LLVM cannot see that an index such as
  16 row + i is not negative, and negative indices count from the end.
- Butterflies of eight rows have a constant stride. With a variable one LLVM would need run-time checks that the eight rows do
  not overlap, and it gives up on so many. Butterflies of four or two rows need few enough.
- Arrays are copied in a loop: Numba's `a[:] = b` copies one number at a time.
- `_cos_sin` is inlined by Numba: LLVM would do it too late to vectorise the sums in `_add_features`.
- Only `_add_features` may reorder sums (`reassoc`), because it sums over lanes. All others may only fuse a product with a sum
  (`contract`). Neither depends on the number of threads.
"""

from typing import no_type_check

import numpy as np
from numba import njit

LANES = 16

# nogil: several threads run at once. error_model: 1 / 0 is infinite, as in NumPy.
_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}

# Minimax polynomials in r^2 of sin(pi r) / r and cos(pi r) for |r| <= 1/2. Their errors before rounding are 8e-9 and 2e-9.
_SIN = (3.141592502593994, -5.1677021980285645, 2.549957752227783, -0.597625195980072, 0.07643289119005203)
_COS = (1.0, -4.934802055358887, 4.0587053298950195, -1.335161566734314, 0.23468372225761414, -0.023963654413819313)
# Each a float32: Numba would compute in double precision with Python's numbers.
_S0, _S1, _S2, _S3, _S4 = (np.float32(number) for number in _SIN)
_C0, _C1, _C2, _C3, _C4, _C5 = (np.float32(number) for number in _COS)
_ZERO, _HALF, _ONE, _FOUR = (np.float32(number) for number in (0, 0.5, 1, 4))

# Numba compiles the source of the functions below. no_type_check keeps the test run's shape checks from wrapping them.


@njit(inline="always", **_OPTIONS)
@no_type_check
def _cos_sin(x, factor):
    r"""cos and sin of $\pi t$ with t = x * factor, an angle in half-turns.

    With k the integer nearest to t, both are $(-1)^k$ times their value at r = t - k, which lies in [-1/2, 1/2]. In half-turns
    r has no rounding error (in radians k pi must be subtracted in several parts).
    """
    k = np.rint(x * factor)
    r = x * factor - k
    half, s = _HALF * k, r * r
    sign = _ONE - _FOUR * (half - np.floor(half))
    cos = ((((_C5 * s + _C4) * s + _C3) * s + _C2) * s + _C1) * s + _C0
    sin = ((((_S4 * s + _S3) * s + _S2) * s + _S1) * s + _S0) * r
    return sign * cos, sign * sin


@njit(**_OPTIONS)
@no_type_check
def _eight(a, b, c, d, e, f, g, h):
    """The Hadamard matrix of size 8, without its factor 1 / sqrt(8), in three rounds of sums and differences."""
    a, b, c, d, e, f, g, h = a + b, a - b, c + d, c - d, e + f, e - f, g + h, g - h
    a, b, c, d, e, f, g, h = a + c, b + d, a - c, b - d, e + g, f + h, e - g, f - h
    return a + e, b + f, c + g, d + h, a - e, b - f, c - g, d - h


@njit(**_OPTIONS)
@no_type_check
def _signed_butterflies(block, signs):
    """Applies H_8 S to every 8 consecutive rows of a block."""
    for row in range(0, len(signs), 8):
        x, s = block[LANES * row : LANES * (row + 8)], signs[row : row + 8]
        for i in range(LANES):
            x[i], x[i + 16], x[i + 32], x[i + 48], x[i + 64], x[i + 80], x[i + 96], x[i + 112] = _eight(
                *(s[0] * x[i], s[1] * x[i + 16], s[2] * x[i + 32], s[3] * x[i + 48]),
                *(s[4] * x[i + 64], s[5] * x[i + 80], s[6] * x[i + 96], s[7] * x[i + 112]),
            )


@no_type_check
def _butterflies(stride):
    """A function that applies H_8 to rows `stride` apart, compiled for this stride."""
    h = LANES * stride

    @njit(**_OPTIONS)
    def sweep(block):
        for start in range(0, len(block), 8 * h):
            x = block[start : start + 8 * h]
            for k in range(h):
                x[k], x[k + h], x[k + 2 * h], x[k + 3 * h], x[k + 4 * h], x[k + 5 * h], x[k + 6 * h], x[k + 7 * h] = _eight(
                    *(x[k], x[k + h], x[k + 2 * h], x[k + 3 * h]),
                    *(x[k + 4 * h], x[k + 5 * h], x[k + 6 * h], x[k + 7 * h]),
                )

    return sweep


_butterflies_8, _butterflies_64 = _butterflies(8), _butterflies(64)


@njit(**_OPTIONS)
@no_type_check
def _wide_butterflies(block, stride):
    """Applies H_4 to rows `stride` apart, or H_2 where only that factor is left."""
    h = LANES * stride
    if 4 * h <= len(block):
        for a in range(0, len(block), 4 * h):
            b, c, d = a + h, a + 2 * h, a + 3 * h
            w, x, y, z = block[a:b], block[b:c], block[c:d], block[d : d + h]
            for k in range(h):
                p, q, r, s = w[k] + x[k], w[k] - x[k], y[k] + z[k], y[k] - z[k]
                w[k], x[k], y[k], z[k] = p + r, q + s, p - r, q - s
    else:
        for a in range(0, len(block), 2 * h):
            x, y = block[a : a + h], block[a + h : a + 2 * h]
            for k in range(h):
                x[k], y[k] = x[k] + y[k], x[k] - y[k]


@njit(**_OPTIONS)
@no_type_check
def _hadamard(block, signs):
    """Applies H S to the p rows of a block. H is a Kronecker product of small Hadamard matrices, one sweep each."""
    p, stride = len(signs), 1
    if p >= 8:
        _signed_butterflies(block, signs)
        stride = 8
    else:
        for k in range(len(block)):
            block[k] *= signs[k // LANES]
    if p >= 64:
        _butterflies_8(block)
        stride = 64
    if p >= 512:
        _butterflies_64(block)
        stride = 512
    while stride < p:
        _wide_butterflies(block, stride)
        stride *= 4


@njit(**_OPTIONS)
@no_type_check
def _angles(x, signs, block, angles):
    """Writes H S_2 H S_1 H S_0 x, with the signs of one block, to `angles`."""
    for k in range(len(x)):
        angles[k] = x[k]
    for which in range(3):
        _hadamard(angles, signs[which, block])


@njit(**_OPTIONS)
@no_type_check
def _add_back(slopes, signs, block, ones, lanes, gradient):
    """Adds S_0 H S_1 H S_2 H slopes to the gradient. `lanes` is LANES: as a constant, LLVM would unroll the last loop, not
    vectorise it."""
    _hadamard(slopes, ones)
    _hadamard(slopes, signs[2, block])
    _hadamard(slopes, signs[1, block])
    for row in range(len(ones)):
        sign, x = signs[0, block, row], slopes[lanes * row : lanes * (row + 1)]
        out = gradient[lanes * row : lanes * (row + 1)]
        for i in range(lanes):
            out[i] += sign * x[i]


@njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
@no_type_check
def _add_features(angles, weights, factor, cosines, sines):
    """Adds sum_i weights_i cos and sum_i weights_i sin over the chunk's nodes to each frequency's sums."""
    for row in range(len(cosines)):
        x, c, s = angles[LANES * row : LANES * (row + 1)], _ZERO, _ZERO
        for i in range(LANES):
            cos, sin = _cos_sin(x[i], factor)
            c += weights[i] * cos
            s += weights[i] * sin
        cosines[row] += c
        sines[row] += s


@njit(**_OPTIONS)
@no_type_check
def _add_products(angles, factor, cosines, sines, out):
    """Adds sum_f cos * cosines_f + sin * sines_f to each node's entry of `out`."""
    for row in range(len(cosines)):
        x, c, s = angles[LANES * row : LANES * (row + 1)], cosines[row], sines[row]
        for i in range(LANES):
            cos, sin = _cos_sin(x[i], factor)
            out[i] += cos * c + sin * s


@njit(**_OPTIONS)
@no_type_check
def _to_slopes(angles, factor, a, u, b, v, start, stop):
    """Replaces angles by derivatives: cos (a u_1 + b v_1) - sin (a u_0 + b v_0). Rows beyond frequency `stop` become 0."""
    for row in range(stop - start):
        x = angles[LANES * row : LANES * (row + 1)]
        u_0, u_1, v_0, v_1 = u[0, start + row], u[1, start + row], v[0, start + row], v[1, start + row]
        for i in range(LANES):
            cos, sin = _cos_sin(x[i], factor)
            x[i] = cos * (a[i] * u_1 + b[i] * v_1) - sin * (a[i] * u_0 + b[i] * v_0)
    angles[LANES * (stop - start) :] = 0


@njit(**_OPTIONS)
@no_type_check
def _gather(z, first, count, x):
    """Copies `count` rows of z, from `first` on, to lanes of x. Other lanes keep finite numbers, which get weight 0."""
    rows = z[first : first + count]
    for j in range(z.shape[1]):
        line = x[LANES * j : LANES * (j + 1)]
        for i in range(count):
            line[i] = rows[i, j]


@njit(**_OPTIONS)
@no_type_check
def _scatter(x, first, count, z):
    """Copies lanes of x to rows of z."""
    rows = z[first : first + count]
    for j in range(z.shape[1]):
        line = x[LANES * j : LANES * (j + 1)]
        for i in range(count):
            rows[i, j] = line[i]


@njit(**_OPTIONS)
@no_type_check
def _spread(vector, first, count, factor, line):
    """Copies the chunk's part of a vector, times a factor, to a line; lanes without a node get 0."""
    for i in range(LANES):
        line[i] = factor * vector[first + i] if i < count else _ZERO


@no_type_check
def _kept(kernel):
    """Compiles at the first call and caches on disk, beside this file or in the user's cache folder."""
    try:
        return njit(cache=True, **_OPTIONS)(kernel)
    except RuntimeError:  # Neither folder can be written: each process compiles for itself.
        return njit(**_OPTIONS)(kernel)


@_kept
@no_type_check
def feature_sum(z, weights, signs, factor, sums, first, last, x, angles, line):
    """Adds sum_i weights_i [cos; sin] over nodes first to last to `sums` (2, D). The last three arguments are scratch."""
    (blocks, p), features = signs.shape[1:], sums.shape[1]
    for node in range(first, last, LANES):
        count = min(LANES, last - node)
        _gather(z, node, count, x)
        _spread(weights, node, count, _ONE, line)
        for block in range(blocks):
            start, stop = block * p, min((block + 1) * p, features)
            _angles(x, signs, block, angles)
            _add_features(angles, line, factor, sums[0, start:stop], sums[1, start:stop])


@_kept
@no_type_check
def balance(z, total, signs, factor, floor, living, q, inverse, sums, first, last, x, angles, line):
    """Writes q and inverse of nodes first to last and adds sum_i inverse_i [cos; sin] to `sums` (2, D)."""
    (blocks, p), features = signs.shape[1:], sums.shape[1]
    for node in range(first, last, LANES):
        count = min(LANES, last - node)
        _gather(z, node, count, x)
        line[:] = 0
        for block in range(blocks):
            start, stop = block * p, min((block + 1) * p, features)
            here = angles[LANES * start : LANES * (start + p)]
            _angles(x, signs, block, here)
            _add_products(here, factor, total[0, start:stop], total[1, start:stop], line)
        for i in range(count):
            q[node + i] = line[i] / np.float32(features)
            counts = q[node + i] >= floor and living[node + i] != 0
            inverse[node + i] = living[node + i] / q[node + i] if counts else _ZERO
        _spread(inverse, node, count, _ONE, line)
        _add_features(angles, line, factor, sums[0], sums[1])


@_kept
@no_type_check
def pullback(z, a, u, b, v, signs, factor, slope, lanes, out, first, last, x, angles, gradient, of_a, of_b):
    """Writes the gradient with respect to rows first to last of z to `out`; slope is the angle's derivative by t."""
    (blocks, p), features = signs.shape[1:], u.shape[1]
    ones = np.ones(p, np.float32)
    for node in range(first, last, LANES):
        count = min(LANES, last - node)
        _gather(z, node, count, x)
        _spread(a, node, count, slope, of_a)
        _spread(b, node, count, slope, of_b)
        gradient[:] = 0
        for block in range(blocks):
            _angles(x, signs, block, angles)
            _to_slopes(angles, factor, of_a, u, of_b, v, block * p, min((block + 1) * p, features))
            _add_back(angles, signs, block, ones, lanes, gradient)
        _scatter(gradient, node, count, out)
