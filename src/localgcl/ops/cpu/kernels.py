r"""The compiled half of `sorf`: what is done to sixteen nodes at a time.

A chunk is 16 nodes; row j of a chunk holds number j of all of them, side by side, in one line of 64 bytes: one AVX-512
register, two AVX2 registers, one line of the caches. Butterflies, sines and cosines then never mix lanes. What is done to
a few rows is written out with `lanes`; what goes over many is ordinary Numba.
"""

from typing import Any, no_type_check

import numpy as np
from llvmlite import ir
from numba import njit

from localgcl.ops.cpu.lanes import ADDRESS, LANES, LINE, Lanes, Memory, everywhere, written

MOST_BITS = 5  # A butterfly of 2^5 rows fills the 32 registers of AVX-512.
PLAIN, SIGNED, DOUBLE, ADDED = range(4)  # H x; H S x; H S H x; out + S H x

# sin(pi r) / r and cos(pi r) as polynomials in r^2 for |r| <= 1/2, minimax: off by 8e-9 and 2e-9 before rounding.
_SIN = (3.141592502593994, -5.1677021980285645, 2.549957752227783, -0.597625195980072, 0.07643289119005203)
_COS = (1.0, -4.934802055358887, 4.0587053298950195, -1.335161566734314, 0.23468372225761414, -0.023963654413819313)
_SHIFT = 1.5 * 2.0**23  # Added to a number below 2^22, it leaves the nearest whole number in the last bits.


def _hadamard(rows: list[Lanes]) -> list[Lanes]:
    """The Hadamard matrix without its factor 1 / sqrt(len), in log2(len) rounds of sums and differences."""
    rows, half = list(rows), 1
    while half < len(rows):
        for i in (i for i in range(len(rows)) if not i & half):
            rows[i], rows[i + half] = rows[i] + rows[i + half], rows[i] - rows[i + half]
        half *= 2
    return rows


def _exchange(a: Lanes, b: Lanes, half: int) -> tuple[Lanes, Lanes]:
    """Halves of each run of 2 half lanes: (a_0 a_1), (b_0 b_1) become (a_0 b_0), (a_1 b_1)."""
    return (
        a.pick(b, [(i ^ half) + LANES if i & half else i for i in range(LANES)]),
        a.pick(b, [i + LANES if i & half else i ^ half for i in range(LANES)]),
    )


def _cos_sin(row: Lanes, factor: Lanes) -> tuple[Lanes, Lanes]:
    r"""cos and sin of $\pi t$ with t = row * factor, an angle in half-turns.

    With k the whole number nearest to t, both are $(-1)^k$ times their value at r = t - k, which lies in [-1/2, 1/2]. In
    half-turns r has no rounding error at all (in radians k pi has to be taken off in several parts).
    """
    shifted = row.times_plus(factor, row.constant(_SHIFT))
    r = row.times_plus(factor, row.constant(_SHIFT) - shifted)
    square = r * r
    cos, sin = row.constant(_COS[-1]), row.constant(_SIN[-1])
    for coefficient in _COS[-2::-1]:
        cos = cos.times_plus(square, row.constant(coefficient))
    for coefficient in _SIN[-2::-1]:
        sin = sin.times_plus(square, row.constant(coefficient))
    return cos.negated_where_odd(shifted), (sin * r).negated_where_odd(shifted)


def _tile(rows: Memory, out: Memory, signs: Memory, form: int, bits: int) -> None:
    """One butterfly of 2^bits rows, held in registers from the first load to the last store."""
    values = [rows[j] for j in range(2**bits)]
    if form == SIGNED:
        values = [signs.number(j) * value for j, value in enumerate(values)]
    values = _hadamard(values)
    if form == DOUBLE:
        values = _hadamard([signs.number(j) * value for j, value in enumerate(values)])
    if form == ADDED:
        values = [value.times_plus(signs.number(j), out[j]) for j, value in enumerate(values)]
    for j, value in enumerate(values):
        out[j] = value


@written(7)
def _butterfly(builder: Any, form: Any, bits: Any, source: Any, target: Any, stride: Any, signs: Any, sign_stride: Any) -> None:
    """Form and size are known only at run time: one body for each that occurs, and a jump."""
    case = builder.add(builder.mul(form, ir.Constant(ADDRESS, MOST_BITS + 1)), bits)
    done = builder.append_basic_block("done")
    jump = builder.switch(case, done)
    for of_form in (PLAIN, SIGNED, DOUBLE, ADDED):
        for of_bits in range(MOST_BITS if of_form == PLAIN else 0, MOST_BITS + 1):
            body = builder.append_basic_block("butterfly")
            jump.add_case(ir.Constant(ADDRESS, of_form * (MOST_BITS + 1) + of_bits), body)
            builder.position_at_end(body)
            rows, out = Memory(builder, source, stride), Memory(builder, target, stride)
            _tile(rows, out, Memory(builder, signs, sign_stride), of_form, of_bits)
            builder.branch(done)
    builder.position_at_end(done)


@written(4, 1)
def _add_features(builder: Any, rows: Any, weights: Any, cosines: Any, sines: Any, factor: Any) -> None:
    """16 rows of t: adds to 16 cosine sums and 16 sine sums what the chunk's nodes have, times their weights."""
    angles, weight = Memory(builder, rows, LINE), Memory(builder, weights, LINE)[0]
    turns = everywhere(builder, factor)

    def lane_sums(first: int, step: int) -> tuple[Lanes, Lanes]:
        """Rows first, first + step, ...: lane i has the sum of row first + (i mod step), over lanes alike mod step."""
        if step == LANES:
            cos, sin = _cos_sin(angles[first], turns)
            return weight * cos, weight * sin
        left, right = lane_sums(first, 2 * step), lane_sums(first + step, 2 * step)
        (a, b), (c, d) = _exchange(left[0], right[0], step), _exchange(left[1], right[1], step)
        return a + b, c + d

    for address, total in zip((cosines, sines), lane_sums(0, 1), strict=True):
        sums = Memory(builder, address, LINE)
        sums[0] = sums[0] + total


@written(4, 1)
def _add_products(builder: Any, rows: Any, cosines: Any, sines: Any, result: Any, factor: Any) -> None:
    """16 rows of t: adds sum_f cos * cosines_f + sin * sines_f to each node's result."""
    angles, turns = Memory(builder, rows, LINE), everywhere(builder, factor)
    u, v, out = Memory(builder, cosines, 4), Memory(builder, sines, 4), Memory(builder, result, LINE)
    sums = [angles[0].constant(0.0)] * 4  # Four chains of sums, or each would wait for the one before.
    for j in range(LANES):
        cos, sin = _cos_sin(angles[j], turns)
        sums[j % 4] = sin.times_plus(v.number(j), cos.times_plus(u.number(j), sums[j % 4]))
    out[0] = out[0] + ((sums[0] + sums[1]) + (sums[2] + sums[3]))


@written(5, 1)
def _slopes(builder: Any, rows: Any, a_b: Any, u: Any, v: Any, sine_offset: Any, factor: Any) -> None:
    """16 rows of t become cos (a u_1 + b v_1) - sin (a u_0 + b v_0), the derivative by the angle."""
    angles, turns, pair = Memory(builder, rows, LINE), everywhere(builder, factor), Memory(builder, a_b, LINE)
    a, b = pair[0], pair[1]
    u_0, v_0 = Memory(builder, u, 4), Memory(builder, v, 4)
    u_1, v_1 = (Memory(builder, builder.add(start, sine_offset), 4) for start in (u, v))
    for j in range(LANES):
        cos, sin = _cos_sin(angles[j], turns)
        of_cos = b.times_plus(v_0.number(j), a * u_0.number(j))
        of_sin = b.times_plus(v_1.number(j), a * u_1.number(j))
        angles[j] = cos * of_sin - sin * of_cos


@written(4)
def _transpose(builder: Any, source: Any, source_stride: Any, target: Any, target_stride: Any) -> None:
    """A square of 16 x 16 numbers."""
    rows, out = Memory(builder, source, source_stride), Memory(builder, target, target_stride)
    values, half = [rows[j] for j in range(LANES)], 1
    while half < LANES:
        for i in (i for i in range(LANES) if not i & half):
            values[i], values[i + half] = _exchange(values[i], values[i + half], half)
        half *= 2
    for j, value in enumerate(values):
        out[j] = value


# Without Python's lock, and with NumPy's division: 1 / 0 is infinite.
_OPTIONS = {"nogil": True, "error_model": "numpy"}

# Numba reads the functions below itself, so nothing may be wrapped around them before it does: hence no_type_check.


@njit(**_OPTIONS)
@no_type_check
def _at(row):
    """Bytes from row 0 to a row. A line is left free after each 32, or rows 2^k apart would share one set of the cache."""
    return (row + (row >> MOST_BITS)) * LINE


@njit(**_OPTIONS)
@no_type_check
def _transform(plan, source, work, target, signs, start, stop):
    """The sweeps of a plan (form, bits, stride, which signs) on the blocks of rows start to stop of work.

    The first sweep reads the source and the last one writes the target; 0 stands for the block itself.
    """
    blocks, p = signs.shape[1:]
    for row in range(start, min(stop, blocks * p), p):
        block = work + _at(row)
        for step in range(len(plan)):
            form, bits, stride, which = plan[step]
            origin = source if source and step == 0 else block
            end = target if target and step == len(plan) - 1 else block
            sign = signs.ctypes.data + 4 * (which * blocks * p + row)
            for outer in range(0, p, stride << bits):
                for inner in range(stride):
                    offset, first = _at(outer) + _at(inner), sign + 4 * (outer + inner)
                    _butterfly(form, bits, origin + offset, end + offset, _at(stride), first, 4 * stride)


@njit(**_OPTIONS)
@no_type_check
def _gather(z, first, count, x):
    """Rows of z, from first on, to the columns of x (a 2-D array of lines, of which line 32 of each 33 is free)."""
    d = z.shape[1]
    whole = d // LANES * LANES if count == LANES else 0
    for j in range(0, whole, LANES):
        _transpose(z.ctypes.data + 4 * (first * d + j), 4 * d, x.ctypes.data + _at(j), LINE)
    for j in range(whole, d):
        for i in range(LANES):
            x[j + (j >> MOST_BITS), i] = z[first + i, j] if i < count else np.float32(0)


@njit(**_OPTIONS)
@no_type_check
def _scatter(x, first, count, z):
    """The way back."""
    d = z.shape[1]
    whole = d // LANES * LANES if count == LANES else 0
    for j in range(0, whole, LANES):
        _transpose(x.ctypes.data + _at(j), LINE, z.ctypes.data + 4 * (first * d + j), 4 * d)
    for j in range(whole, d):
        for i in range(count):
            z[first + i, j] = x[j + (j >> MOST_BITS), i]


@njit(**_OPTIONS)
@no_type_check
def _spread(vector, first, count, factor, line):
    """The numbers of a chunk's nodes, times a factor; lanes without a node get 0."""
    for i in range(LANES):
        line[i] = factor * vector[first + i] if i < count else np.float32(0)


@no_type_check
def _kept(kernel):
    """Compiled at the first call and kept on disk, beside this file or in the user's cache folder."""
    try:
        return njit(cache=True, **_OPTIONS)(kernel)
    except RuntimeError:  # Numba's answer where neither can be written: then each process compiles for itself.
        return njit(**_OPTIONS)(kernel)


@_kept
@no_type_check
def feature_sum(z, weights, signs, plan, factor, sums, first, last, x, work, lines):
    """Adds sum_i weights_i [cos; sin] over nodes first to last to sums (2, rows)."""
    rows, span = sums.shape[1], max(signs.shape[2], 1 << MOST_BITS)
    cosines, sines = sums[0].ctypes.data, sums[1].ctypes.data
    for node in range(first, last, LANES):
        count = min(LANES, last - node)
        _gather(z, node, count, x)
        _spread(weights, node, count, np.float32(1), lines[0])
        for start in range(0, rows, span):
            here = work.ctypes.data - _at(start)
            _transform(plan, x.ctypes.data, here, 0, signs, start, start + span)
            for f in range(start, min(start + span, rows), LANES):
                _add_features(here + _at(f), lines.ctypes.data, cosines + 4 * f, sines + 4 * f, factor)


@_kept
@no_type_check
def balance(z, total, signs, plan, factor, num_features, floor, living, q, inverse, sums, first, last, x, work, lines):
    """q and inverse of nodes first to last; adds sum_i inverse_i [cos; sin] to sums (2, rows)."""
    rows, span, here = sums.shape[1], max(signs.shape[2], 1 << MOST_BITS), work.ctypes.data
    cosines, sines = sums[0].ctypes.data, sums[1].ctypes.data
    of_cosines, of_sines = total[0].ctypes.data, total[1].ctypes.data
    for node in range(first, last, LANES):
        count = min(LANES, last - node)
        _gather(z, node, count, x)
        lines[1] = 0
        for start in range(0, rows, span):
            _transform(plan, x.ctypes.data, here, 0, signs, start, start + span)
            for f in range(start, min(start + span, rows), LANES):
                _add_products(here + _at(f), of_cosines + 4 * f, of_sines + 4 * f, lines[1].ctypes.data, factor)
        for i in range(count):
            q[node + i] = lines[1, i] / num_features
            counts = q[node + i] >= floor and living[node + i] != 0
            inverse[node + i] = living[node + i] / q[node + i] if counts else np.float32(0)
        _spread(inverse, node, count, np.float32(1), lines[0])
        for f in range(0, rows, LANES):
            _add_features(here + _at(f), lines.ctypes.data, cosines + 4 * f, sines + 4 * f, factor)


@_kept
@no_type_check
def pullback(z, a, u, b, v, signs, plan, back, factor, slope, out, first, last, x, work, gradient, lines):
    """The gradient with respect to rows first to last of z, into out; slope is the angle's derivative by t."""
    rows, span = u.shape[1], max(signs.shape[2], 1 << MOST_BITS)
    for node in range(first, last, LANES):
        count = min(LANES, last - node)
        _gather(z, node, count, x)
        _spread(a, node, count, slope, lines[0])
        _spread(b, node, count, slope, lines[1])
        gradient[:] = 0
        for start in range(0, rows, span):
            here = work.ctypes.data - _at(start)
            _transform(plan, x.ctypes.data, here, 0, signs, start, start + span)
            for f in range(start, min(start + span, rows), LANES):
                _slopes(here + _at(f), lines.ctypes.data, u.ctypes.data + 4 * f, v.ctypes.data + 4 * f, 4 * rows, factor)
            for f in range(rows, start + span):  # of the last block only the first rows are frequencies
                work[(_at(f) - _at(start)) // LINE] = 0
            _transform(back, 0, here, gradient.ctypes.data, signs, start, start + span)
        _scatter(gradient, node, count, out)
