"""Sixteen numbers at a time, for Numba: Python that runs while a kernel is compiled and writes its instructions.

Numba leaves the choice of vector instructions to a vectoriser that gives up on long bodies. Here a body is a function of
`Lanes`; each operation on them writes one instruction, and loops of the function are unrolled because they run now. Compiled
kernels are kept on disk until their own file changes: after a change here, touch kernels.py.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16
LINE = 4 * LANES  # bytes
ADDRESS = ir.IntType(64)

_WORD = ir.IntType(32)
_FLOATS, _WORDS = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(_WORD, LANES)


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


def everywhere(builder: Any, number: Any) -> Lanes:
    """The number in all lanes."""
    first = Lanes(builder, builder.insert_element(ir.Constant(_FLOATS, ir.Undefined), number, ir.Constant(_WORD, 0)))
    return first.pick(first, [0] * LANES)


class Memory:
    """What lies at `address`, in steps of `stride` bytes: a line of 64 bytes at each, or one number."""

    def __init__(self, builder: Any, address: Any, stride: Any) -> None:
        self.builder, self.address = builder, address
        self.stride = ir.Constant(ADDRESS, stride) if isinstance(stride, int) else stride

    def _pointer(self, row: int, kind: Any) -> Any:
        offset = self.builder.mul(self.stride, ir.Constant(ADDRESS, row))
        return self.builder.inttoptr(self.builder.add(self.address, offset), kind.as_pointer())

    def __getitem__(self, row: int) -> Lanes:
        return Lanes(self.builder, self.builder.load(self._pointer(row, _FLOATS), align=4))

    def __setitem__(self, row: int, lanes: Lanes) -> None:
        self.builder.store(lanes.value, self._pointer(row, _FLOATS), align=4)

    def number(self, row: int) -> Lanes:
        """One number, the same in all lanes."""
        return everywhere(self.builder, self.builder.load(self._pointer(row, ir.FloatType()), align=4))


def written(num_addresses: int, num_floats: int = 0) -> Callable[[Callable[..., None]], Any]:
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
