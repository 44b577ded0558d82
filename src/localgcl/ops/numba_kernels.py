r"""The compiled half of `numba_sorf`: what is done to sixteen nodes at a time.

A chunk is 16 nodes; row j of a chunk holds number j of all of them, side by side, in one line of 64 bytes: one AVX-512
register, two AVX2 registers, one line of the caches. Butterflies, sines and cosines then never mix lanes and need no
shuffles. Numba's loops would leave the choice of instructions to a vectoriser that gives up on long bodies, so the bodies
are written out here: functions of `Lanes` run while the kernel is compiled and each operation on them writes one
instruction. All else is ordinary Numba.

Everything the compiled code depends on is in this file, because the cache on disk is renewed only when it changes.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, no_type_check

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16
MOST_BITS = 5  # A butterfly of 2^5 rows fills the 32 registers of AVX-512.
PLAIN, SIGNED, DOUBLE, ADDED = range(4)  # H x; H S x; H S H x; out + S H x

_LINE = 4 * LANES
_WORD, _ADDRESS = ir.IntType(32), ir.IntType(64)
_FLOATS, _WORDS = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(_WORD, LANES)
_EMPTY = ir.Constant(_FLOATS, ir.Undefined)

# sin(pi r) / r and cos(pi r) as polynomials in r^2 for |r| <= 1/2, minimax: off by 3.4e-9 and 2.2e-10.
_SIN = (3.1415925800444873, -5.167706878910864, 2.5500313770177385, -0.598045172512796, 0.07722012572393223)
_COS = (0.9999999997806606, -4.934802137228928, 4.058709164352259, -1.335212056726505, 0.23493755907760183, -0.0243967166260674)
_SHIFT = 1.5 * 2.0**23  # Added to a number below 2^22, it leaves the nearest whole number in the last bits.


class Lanes:
    """Sixteen float32 of the program being written."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def __add__(self, other: "Lanes") -> "Lanes":
        return Lanes(self.builder, self.builder.fadd(self.value, other.value))

    def __sub__(self, other: "Lanes") -> "Lanes":
        return Lanes(self.builder, self.builder.fsub(self.value, other.value))

    def __mul__(self, other: "Lanes") -> "Lanes":
        return Lanes(self.builder, self.builder.fmul(self.value, other.value))

    def times_plus(self, factor: "Lanes", summand: "Lanes") -> "Lanes":
        """self * factor + summand, rounded once where the processor can."""
        kind = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
        function = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.fmuladd.v{LANES}f32")
        return Lanes(self.builder, self.builder.call(function, [self.value, factor.value, summand.value]))

    def constant(self, number: float) -> "Lanes":
        # LLVM wants a constant that single precision holds exactly.
        return Lanes(self.builder, ir.Constant(_FLOATS, [float(np.float32(number))] * LANES))

    def pick(self, other: "Lanes", lanes: list[int]) -> "Lanes":
        """Lane i becomes lane lanes[i] of the 32 of self and other."""
        return Lanes(self.builder, self.builder.shuffle_vector(self.value, other.value, ir.Constant(_WORDS, lanes)))

    def negated_where_odd(self, whole: "Lanes") -> "Lanes":
        """The last bit of `whole`, moved to the place of the sign."""
        build = self.builder
        sign = build.shl(build.bitcast(whole.value, _WORDS), ir.Constant(_WORDS, [31] * LANES))
        return Lanes(build, build.bitcast(build.xor(build.bitcast(self.value, _WORDS), sign), _FLOATS))


def _everywhere(builder: Any, number: Any) -> Lanes:
    first = Lanes(builder, builder.insert_element(_EMPTY, number, ir.Constant(_WORD, 0)))
    return first.pick(first, [0] * LANES)


class Memory:
    """What lies at `address`, in steps of `stride` bytes: a line of 64 bytes at each, or one number."""

    def __init__(self, builder: Any, address: Any, stride: Any) -> None:
        self.builder, self.address = builder, address
        self.stride = ir.Constant(_ADDRESS, stride) if isinstance(stride, int) else stride

    def _pointer(self, row: int, kind: Any) -> Any:
        offset = self.builder.mul(self.stride, ir.Constant(_ADDRESS, row))
        return self.builder.inttoptr(self.builder.add(self.address, offset), kind.as_pointer())

    def __getitem__(self, row: int) -> Lanes:
        return Lanes(self.builder, self.builder.load(self._pointer(row, _FLOATS), align=4))

    def __setitem__(self, row: int, lanes: Lanes) -> None:
        self.builder.store(lanes.value, self._pointer(row, _FLOATS), align=4)

    def number(self, row: int) -> Lanes:
        """One number, the same in all lanes."""
        return _everywhere(self.builder, self.builder.load(self._pointer(row, ir.FloatType()), align=4))


def _written(num_addresses: int, num_floats: int = 0) -> Callable[[Callable[..., None]], Any]:
    """Makes of `write(builder, *arguments)` a function that kernels can call: integers first, then float32."""
    kinds = [types.int64] * num_addresses + [types.float32] * num_floats

    def decorate(write: Callable[..., None]) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            write(builder, *arguments)
            return context.get_dummy_value()

        @intrinsic
        @wraps(write)  # Numba reads the number of arguments off the signature.
        def call(*_arguments: Any) -> Any:
            return types.void(*kinds), generate

        return call

    return decorate


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


@_written(7)
def _butterfly(
    builder: Any, form: Any, bits: Any, source: Any, target: Any, stride: Any, signs: Any, sign_stride: Any
) -> None:
    """Form and size are known only at run time: one body for each that occurs, and a jump."""
    case = builder.add(builder.mul(form, ir.Constant(_ADDRESS, MOST_BITS + 1)), bits)
    done = builder.append_basic_block("done")
    jump = builder.switch(case, done)
    for of_form in (PLAIN, SIGNED, DOUBLE, ADDED):
        for of_bits in range(MOST_BITS if of_form == PLAIN else 0, MOST_BITS + 1):
            body = builder.append_basic_block("butterfly")
            jump.add_case(ir.Constant(_ADDRESS, of_form * (MOST_BITS + 1) + of_bits), body)
            builder.position_at_end(body)
            rows, out = Memory(builder, source, stride), Memory(builder, target, stride)
            _tile(rows, out, Memory(builder, signs, sign_stride), of_form, of_bits)
            builder.branch(done)
    builder.position_at_end(done)


@_written(4, 1)
def _add_features(builder: Any, rows: Any, weights: Any, cosines: Any, sines: Any, factor: Any) -> None:
    """16 rows of t: adds to 16 cosine sums and 16 sine sums what the chunk's nodes have, times their weights."""
    angles, weight = Memory(builder, rows, _LINE), Memory(builder, weights, _LINE)[0]
    turns = _everywhere(builder, factor)

    def lane_sums(first: int, step: int) -> tuple[Lanes, Lanes]:
        """Rows first, first + step, ...: lane i has the sum of row first + (i mod step), over lanes alike mod step."""
        if step == LANES:
            cos, sin = _cos_sin(angles[first], turns)
            return weight * cos, weight * sin
        left, right = lane_sums(first, 2 * step), lane_sums(first + step, 2 * step)
        (a, b), (c, d) = _exchange(left[0], right[0], step), _exchange(left[1], right[1], step)
        return a + b, c + d

    for address, total in zip((cosines, sines), lane_sums(0, 1), strict=True):
        sums = Memory(builder, address, _LINE)
        sums[0] = sums[0] + total


@_written(4, 1)
def _add_products(builder: Any, rows: Any, cosines: Any, sines: Any, result: Any, factor: Any) -> None:
    """16 rows of t: adds sum_f cos * cosines_f + sin * sines_f to each node's result."""
    angles, turns = Memory(builder, rows, _LINE), _everywhere(builder, factor)
    u, v, out = Memory(builder, cosines, 4), Memory(builder, sines, 4), Memory(builder, result, _LINE)
    sums = [angles[0].constant(0.0)] * 4  # Four chains of sums, or each would wait for the one before.
    for j in range(LANES):
        cos, sin = _cos_sin(angles[j], turns)
        sums[j % 4] = sin.times_plus(v.number(j), cos.times_plus(u.number(j), sums[j % 4]))
    out[0] = out[0] + ((sums[0] + sums[1]) + (sums[2] + sums[3]))


@_written(5, 1)
def _slopes(builder: Any, rows: Any, a_b: Any, u: Any, v: Any, sine_offset: Any, factor: Any) -> None:
    """16 rows of t become cos (a u_1 + b v_1) - sin (a u_0 + b v_0), the derivative by the angle."""
    angles, turns, pair = Memory(builder, rows, _LINE), _everywhere(builder, factor), Memory(builder, a_b, _LINE)
    a, b = pair[0], pair[1]
    u_0, v_0 = Memory(builder, u, 4), Memory(builder, v, 4)
    u_1, v_1 = (Memory(builder, builder.add(start, sine_offset), 4) for start in (u, v))
    for j in range(LANES):
        cos, sin = _cos_sin(angles[j], turns)
        of_cos = b.times_plus(v_0.number(j), a * u_0.number(j))
        of_sin = b.times_plus(v_1.number(j), a * u_1.number(j))
        angles[j] = cos * of_sin - sin * of_cos


@_written(4)
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


# Numba reads the functions below itself, so nothing may be wrapped around them before it does: hence no_type_check.


@njit(nogil=True)
@no_type_check
def _at(row):
    """Bytes from row 0 to a row. A line is left free after each 32, or rows 2^k apart would share one set of the cache."""
    return (row + (row >> MOST_BITS)) * _LINE


@njit(nogil=True)
@no_type_check
def _sweeps(plan, source, work, target, size, signs, sign_stride):
    """The sweeps of a plan (form, bits, stride, which signs): from source to work, within work, and to target."""
    for step in range(len(plan)):
        form, bits, stride, which = plan[step]
        start = source if step == 0 else work
        end = target if step == len(plan) - 1 else work
        for outer in range(0, size, stride << bits):
            for inner in range(stride):
                offset, sign = _at(outer) + _at(inner), signs + 4 * (outer + inner) + which * sign_stride
                _butterfly(form, bits, start + offset, end + offset, _at(stride), sign, 4 * stride)


@njit(nogil=True)
@no_type_check
def _gather(z, first, count, x):
    """Rows of z, from first on, to the columns of x (a 2-D array of lines, of which line 32 of each 33 is free)."""
    d = z.shape[1]
    whole = d // LANES * LANES if count == LANES else 0
    for j in range(0, whole, LANES):
        _transpose(z.ctypes.data + 4 * (first * d + j), 4 * d, x.ctypes.data + _at(j), _LINE)
    for j in range(whole, d):
        for i in range(LANES):
            x[j + (j >> MOST_BITS), i] = z[first + i, j] if i < count else np.float32(0)


@njit(nogil=True)
@no_type_check
def _scatter(x, first, count, z):
    """The way back."""
    d = z.shape[1]
    whole = d // LANES * LANES if count == LANES else 0
    for j in range(0, whole, LANES):
        _transpose(x.ctypes.data + _at(j), _LINE, z.ctypes.data + 4 * (first * d + j), 4 * d)
    for j in range(whole, d):
        for i in range(count):
            z[first + i, j] = x[j + (j >> MOST_BITS), i]


@njit(nogil=True)
@no_type_check
def _spread(vector, first, count, factor, line):
    """The numbers of a chunk's nodes, times a factor; lanes without a node get 0."""
    for i in range(LANES):
        line[i] = factor * vector[first + i] if i < count else np.float32(0)


@no_type_check
def _kept(kernel):
    """Compiled at the first call and kept on disk, beside this file or in the user's cache folder."""
    try:
        return njit(nogil=True, cache=True)(kernel)
    except RuntimeError:  # Numba's answer where neither can be written: then each process compiles for itself.
        return njit(nogil=True)(kernel)


@_kept
@no_type_check
def feature_sum(z, weights, signs, plan, factor, sums, first, last, x, work, lines):
    """Adds sum_i weights_i [cos; sin] over nodes first to last to sums (2, rows)."""
    blocks, p = signs.shape[1:]
    rows, span = sums.shape[1], max(p, 1 << MOST_BITS)
    cosines, sines = sums[0].ctypes.data, sums[1].ctypes.data
    for node in range(first, last, LANES):
        count = min(LANES, last - node)
        _gather(z, node, count, x)
        _spread(weights, node, count, np.float32(1), lines[0])
        for start in range(0, rows, span):
            here = work.ctypes.data - _at(start)
            for row in range(start, min(start + span, blocks * p), p):
                to = here + _at(row)
                _sweeps(plan, x.ctypes.data, to, to, p, signs.ctypes.data + 4 * row, 4 * blocks * p)
            for f in range(start, min(start + span, rows), LANES):
                _add_features(here + _at(f), lines.ctypes.data, cosines + 4 * f, sines + 4 * f, factor)


@_kept
@no_type_check
def balance(z, total, signs, plan, factor, num_features, floor, living, q, inverse, sums, first, last, x, work, lines):
    """q and inverse of nodes first to last; adds sum_i inverse_i [cos; sin] to sums (2, rows)."""
    blocks, p = signs.shape[1:]
    rows, here = sums.shape[1], work.ctypes.data
    for node in range(first, last, LANES):
        count = min(LANES, last - node)
        _gather(z, node, count, x)
        lines[1] = 0
        span = max(p, 1 << MOST_BITS)
        for start in range(0, rows, span):
            for row in range(start, min(start + span, blocks * p), p):
                to = here + _at(row)
                _sweeps(plan, x.ctypes.data, to, to, p, signs.ctypes.data + 4 * row, 4 * blocks * p)
            for f in range(start, min(start + span, rows), LANES):
                cosines, sines = total[0].ctypes.data + 4 * f, total[1].ctypes.data + 4 * f
                _add_products(here + _at(f), cosines, sines, lines[1].ctypes.data, factor)
        for i in range(count):
            value = lines[1, i] / num_features
            q[node + i] = value
            inverse[node + i] = living[node + i] / value if value >= floor and living[node + i] else np.float32(0)
        _spread(inverse, node, count, np.float32(1), lines[0])
        for f in range(0, rows, LANES):
            cosines, sines = sums[0].ctypes.data + 4 * f, sums[1].ctypes.data + 4 * f
            _add_features(here + _at(f), lines.ctypes.data, cosines, sines, factor)


@_kept
@no_type_check
def pullback(z, a, u, b, v, signs, plan, back, factor, slope, out, first, last, x, work, gradient, lines):
    """The gradient with respect to rows first to last of z, into out; slope is the angle's derivative by t."""
    blocks, p = signs.shape[1:]
    rows, span = u.shape[1], max(p, 1 << MOST_BITS)
    for node in range(first, last, LANES):
        count = min(LANES, last - node)
        _gather(z, node, count, x)
        _spread(a, node, count, slope, lines[0])
        _spread(b, node, count, slope, lines[1])
        gradient[:] = 0
        for start in range(0, rows, span):
            here = work.ctypes.data - _at(start)
            for row in range(start, min(start + span, blocks * p), p):
                to = here + _at(row)
                _sweeps(plan, x.ctypes.data, to, to, p, signs.ctypes.data + 4 * row, 4 * blocks * p)
            for f in range(start, min(start + span, rows), LANES):
                _slopes(here + _at(f), lines.ctypes.data, u.ctypes.data + 4 * f, v.ctypes.data + 4 * f, 4 * rows, factor)
            # Of the last block only the first rows are frequencies.
            for f in range(rows, min(start + span, blocks * p)):
                work[(_at(f) - _at(start)) // _LINE] = 0
            for row in range(start, min(start + span, blocks * p), p):
                at = here + _at(row)
                _sweeps(back, at, at, gradient.ctypes.data, p, signs.ctypes.data + 4 * row, 4 * blocks * p)
        _scatter(gradient, node, count, out)
