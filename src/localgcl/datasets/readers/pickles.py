"""Pickles of arrays, CSR matrices and dictionaries of lists, as Python 2 wrote them by protocol 2. Nothing else is read.

Python's own unpickler calls what a file names, sets attributes of what it finds, and reserves the memory that a file asks for.
This one interprets the few instructions that the published files use. None of them looks up a name or sets an attribute: a
name stands for one of the constructors below, and those check what they are given.
"""

import math
import pickletools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from localgcl.graph.arrays import PARTS, matrix_of_parts
from localgcl.io.damage import decoding

Content = NDArray[Any] | sp.csr_array[Any] | dict[Any, Any]


def loads(content: bytes, place: str) -> Content:
    """The array, matrix or dictionary of lists in a pickle; ValueError for anything else. `place` names the file."""
    with decoding(place):
        value = _interpret(content)
        if isinstance(value, _Building) and value.made is not None:
            return value.made
        if isinstance(value, dict):
            return value
        raise ValueError("it holds neither an array nor a matrix nor a dictionary")


class _Name(NamedTuple):
    """What a file names. It is compared with the names below and never looked up."""

    path: str


class _Building:
    """An object that a file makes in two steps: without content first, then from its state."""

    def __init__(self, build: Callable[[Any], Any]) -> None:
        self.build, self.made = build, None

    def finish(self, state: Any) -> None:
        if self.made is not None:
            raise ValueError("it builds an object twice")
        self.made = self.build(state)


# Constructors

_NDARRAY, _LIST = _Name("numpy ndarray"), _Name("__builtin__ list")
_RECONSTRUCT, _DTYPE = _Name("numpy.core.multiarray _reconstruct"), _Name("numpy dtype")
_CSR, _DICTIONARY = _Name("scipy.sparse.csr csr_matrix"), _Name("collections defaultdict")
_NAMES = (_NDARRAY, _LIST, _RECONSTRUCT, _DTYPE, _CSR, _DICTIONARY)

_CODES = (b"i4", b"i8", b"f4", b"f8")
_LITTLE_ENDIAN = (3, b"<", None, None, None, -1, -1, 0)


def _call(name: Any, arguments: Any) -> Any:
    """What a file makes by calling a name with arguments."""
    if name == _RECONSTRUCT and arguments == (_NDARRAY, (0,), b"b"):
        return _Building(_array)
    if name == _DTYPE and isinstance(arguments, tuple) and arguments[1:] == (0, 1) and arguments[0] in _CODES:
        kind = np.dtype(f"<{arguments[0].decode()}")
        return _Building(lambda state: _little_endian(kind, state))
    if name == _DICTIONARY and arguments == (_LIST,):
        return {}
    raise ValueError(f"it calls {_said(name)} with other arguments than published files do")


def _little_endian(kind: np.dtype[Any], state: Any) -> np.dtype[Any]:
    _expect(state == _LITTLE_ENDIAN, "numbers of another byte order")
    return kind


def _array(state: Any) -> NDArray[Any]:
    _expect(isinstance(state, tuple) and len(state) == 5 and state[0] == 1 and state[3] is False, "an array of another layout")
    _, shape, kind, _, values = state
    numbers = isinstance(kind, _Building) and isinstance(kind.made, np.dtype) and isinstance(values, bytes)
    _expect(numbers, "an array of other things than numbers")
    sized = isinstance(shape, tuple) and len(shape) in (1, 2) and all(type(n) is int and n >= 0 for n in shape)
    _expect(sized and math.prod(shape) * kind.made.itemsize == len(values), "an array of another size than its values")
    # Without a copy: a file may name the same values many times.
    return np.frombuffer(values, dtype=kind.made).reshape(shape)


def _matrix(state: Any) -> sp.csr_array[Any]:
    _expect(isinstance(state, dict) and state.get(b"format") == b"csr", "a matrix of another format")
    shape, parts = state.get(b"_shape"), {name: state.get(name.encode()) for name in PARTS["csr"]}
    arrays = all(isinstance(part, _Building) and isinstance(part.made, np.ndarray) for part in parts.values())
    sized = isinstance(shape, tuple) and len(shape) == 2 and all(type(n) is int and n >= 0 for n in shape)
    _expect(arrays and sized, "a matrix without its parts")
    matrix = matrix_of_parts("csr", {name: part.made for name, part in parts.items()}, shape, "its matrix")
    return sp.csr_array(matrix)


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"it holds {otherwise}")


def _said(name: Any) -> str:
    """The name, for messages. Other values are not shown: a small file can refer to a large one many times."""
    return repr(name.path) if isinstance(name, _Name) else "something without a name"


# Instructions


class _Machine:
    """The stack and the memo of a pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def pop(self) -> Any:
        _expect(len(self.stack) > (self.marks[-1] if self.marks else 0), "fewer values than it takes")
        return self.stack.pop()

    def pop_several(self, count: int) -> list[Any]:
        return [self.pop() for _ in range(count)][::-1]

    def pop_to_mark(self) -> list[Any]:
        _expect(bool(self.marks), "fewer marks than it takes")
        start = self.marks.pop()
        taken, self.stack[start:] = self.stack[start:], []
        return taken

    def extend(self, values: list[Any]) -> None:
        """Appends to the list on top of the stack."""
        top = self.pop()
        _expect(isinstance(top, list) and all(type(value) is int for value in values), "a list of other things than numbers")
        top.extend(values)
        self.stack.append(top)

    def set_items(self, items: list[Any]) -> None:
        """Adds keys and values to the dictionary on top of the stack."""
        top, keys = self.pop(), items[::2]
        _expect(isinstance(top, dict) and len(items) % 2 == 0, "values for something that is no dictionary")
        _expect(all(type(key) in (int, bytes) for key in keys), "keys that are neither numbers nor text")
        top.update(zip(keys, items[1::2], strict=True))
        self.stack.append(top)

    def build(self) -> None:
        state, built = self.pop(), self.pop()
        _expect(isinstance(built, _Building), "a state for something that has none")
        built.finish(state)
        self.stack.append(built)

    def new(self) -> None:
        kind, arguments = self.pop_several(2)
        _expect(kind == _CSR and arguments == (), f"an object made of {_said(kind)}")
        self.stack.append(_Building(_matrix))

    def step(self, instruction: str, argument: Any) -> None:
        """Carries out one instruction."""
        if instruction in ("BININT", "BININT1", "BININT2"):
            self.stack.append(argument)
        elif instruction in ("SHORT_BINSTRING", "BINSTRING"):
            self.stack.append(argument.encode("latin1"))
        elif instruction in _CONSTANTS:
            self.stack.append(_CONSTANTS[instruction]())
        elif instruction in ("BINPUT", "LONG_BINPUT"):
            self.memo[argument] = self.stack[-1] if self.stack else None
        elif instruction in ("BINGET", "LONG_BINGET"):
            _expect(argument in self.memo, "a reference to nothing")
            self.stack.append(self.memo[argument])
        elif instruction == "MARK":
            self.marks.append(len(self.stack))
        elif instruction in ("TUPLE1", "TUPLE2", "TUPLE3"):
            self.stack.append(tuple(self.pop_several(int(instruction[-1]))))
        elif instruction == "TUPLE":
            self.stack.append(tuple(self.pop_to_mark()))
        elif instruction == "APPEND":
            self.extend([self.pop()])
        elif instruction == "APPENDS":
            self.extend(self.pop_to_mark())
        elif instruction == "SETITEMS":
            self.set_items(self.pop_to_mark())
        elif instruction == "GLOBAL":
            _expect(_Name(argument) in _NAMES, f"the name {argument[:80]!r}, which no published file does")
            self.stack.append(_Name(argument))
        elif instruction == "REDUCE":
            self.stack.append(_call(*self.pop_several(2)))
        elif instruction == "NEWOBJ":
            self.new()
        elif instruction == "BUILD":
            self.build()
        else:
            raise ValueError(f"it has the instruction {instruction}, which no published file has")


_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
}


def _interpret(content: bytes) -> Any:
    """The value that a pickle leaves on the stack."""
    machine = _Machine()
    for instruction, argument, _ in pickletools.genops(content):
        if instruction.name == "STOP":
            (value,) = machine.pop_several(1)
            return value
        if instruction.name == "PROTO":
            _expect(argument == 2, f"protocol {argument} in place of 2")
        else:
            machine.step(instruction.name, argument)
    raise ValueError("it has no end")
