"""Cora, CiteSeer and PubMed: pickles of scipy matrices, read by an unpickler that can build nothing else."""

import functools
import io
import math
import pickle
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from localgcl.datasets.readers import Reader
from localgcl.datasets.storage import RawFile
from localgcl.graph import Graph, Split
from localgcl.graph.arrays import PARTS, matrix_of_parts
from localgcl.io.damage import decoding

ADDRESS = "https://github.com/kimiyoung/planetoid/raw/master/data"
NUM_VALIDATION = 500


def read_planetoid(contents: Mapping[str, bytes], name: str) -> Graph:
    """The graph of the files `ind.NAME.*` and its public split: 20 training nodes per class, 500 validation, 1000 test.

    Rows of `allx` are the first nodes; row i of `tx` is the node that line i of `test.index` names. CiteSeer's index
    skips 15 nodes: they get zero features and class 0, and are in no part of the split, as in PyG.
    """
    allx, tx = (_loaded(contents, f"ind.{name}.{kind}", sp.csr_array) for kind in ("allx", "tx"))
    ally, ty, y = (_loaded(contents, f"ind.{name}.{kind}", np.ndarray) for kind in ("ally", "ty", "y"))
    known = allx.shape[0]
    test = _test_index(contents, f"ind.{name}.test.index", known)
    shapes = {"ally": ally.shape[:1], "tx": tx.shape, "ty": ty.shape}
    if shapes != {"ally": (known,), "tx": (len(test), allx.shape[1]), "ty": (len(test), *ally.shape[1:2])} or len(y) > known:
        raise ValueError(
            f"ind.{name}.* do not fit each other: {known} rows of allx, {len(test)} test nodes, {shapes}; download again"
        )
    n = int(test.max()) + 1

    # `place` has a single 1 per column: its product with `tx` moves row i to its node and leaves skipped nodes zero.
    place = sp.csr_array((np.ones(len(test)), (test - known, np.arange(len(test)))), shape=(n - known, len(test)))
    x = sp.vstack([allx, place @ tx])
    labels = np.concatenate([ally, place @ ty]).argmax(axis=1)

    split = Split(
        train=torch.arange(len(y)),
        val=torch.arange(len(y), len(y) + NUM_VALIDATION),
        test=torch.from_numpy(np.sort(test)),
        name="public",
    )
    source, target = _neighbours(contents, f"ind.{name}.graph")
    return Graph.from_edges(source, target, x=x, y=labels, splits=[split], name=name).without_loops().coalesced()


def _loaded(contents: Mapping[str, bytes], file: str, kind: type) -> Any:
    """What a pickle holds: a matrix, a two-dimensional array or a dictionary."""
    value = loads(contents[file], file)
    if not isinstance(value, kind) or (isinstance(value, np.ndarray) and (value.ndim != 2 or value.size == 0)):
        raise ValueError(f"{file} holds a {type(value).__name__} in place of a {kind.__name__}; delete it, and load again")
    return value


def _test_index(contents: Mapping[str, bytes], file: str, known: int) -> NDArray[np.int64]:
    """The test nodes. They follow the `known` ones and leave few gaps."""
    words = contents[file].split()
    if not words or not all(word.isdigit() and len(word) < 10 for word in words):
        raise ValueError(f"{file} is no list of node numbers; delete it, and load again to download it")
    test = np.array(words, dtype=np.int64)
    last = 2 * (known + len(test))
    if test.min() < known or test.max() >= last or len(np.unique(test)) != len(test):
        raise ValueError(f"{file} names a node twice, or one that is not from {known} to {last}; delete it, and load again")
    return test


def _neighbours(contents: Mapping[str, bytes], file: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both ends of each edge in the dictionary of neighbours."""
    lists = _loaded(contents, file, dict)
    counts = [len(ends) if isinstance(ends, list) else -1 for ends in lists.values()]
    # An entry takes two bytes, but a list can be named again in two. No neighbour lists of different nodes are one.
    sized = min(counts, default=-1) >= 0 and sum(counts) <= len(contents[file])
    if not sized or not all(type(node) is int for ends in (lists, *lists.values()) for node in ends):
        raise ValueError(f"{file} is no dictionary of neighbour lists; delete it, and load again to download it")
    target = np.array([end for ends in lists.values() for end in ends], dtype=np.int64)
    return np.repeat(np.fromiter(lists, dtype=np.int64), counts), target


# Pickles as Python 2 wrote them by protocol 2. An unpickler calls what a file names, sets attributes of what it finds, and
# reserves the memory that a file asks for. In this one a name stands for one of the classes below, which check what they are
# given; what sets attributes or reserves memory is left out, and so is the unpickler in C, whose memo is a table.


def loads(content: bytes, place: str) -> NDArray[Any] | sp.csr_array[Any] | dict[Any, Any]:
    """The array, matrix or dictionary of lists in a pickle; ValueError for anything else. `place` names the file."""
    with decoding(place):
        try:
            value = _Unpickler(io.BytesIO(content), encoding="bytes").load()
        except (pickle.UnpicklingError, AttributeError, IndexError, KeyError, TypeError) as error:
            raise ValueError(f"it does what no published file does: {type(error).__name__}, {error}") from error
        made = value.made if isinstance(value, _Array | _Matrix) else value
        if not isinstance(made, np.ndarray | sp.csr_array | dict):
            raise ValueError("it holds neither an array nor a matrix nor a dictionary")
        return made


class _Named:
    """What a name in a file stands for: an object without content, until the file gives it a state.

    Unpicklers write the state of a class without `__setstate__` into its attributes.
    """

    made: Any = None

    def __setstate__(self, state: Any) -> None:
        self.made = self.build(state)

    def build(self, state: Any) -> Any:  # noqa: ARG002
        """What the state describes."""
        raise ValueError("it holds a state for something that has none")


class _Dictionary(_Named):
    def __new__(cls, kind: Any) -> Any:
        """An empty dictionary."""
        _expect(kind is _Named, "a dictionary of other things than lists")
        return {}


class _Dtype(_Named):
    def __init__(self, code: Any, align: Any, copy: Any) -> None:
        _expect(code in (b"i4", b"i8", b"f4", b"f8") and (align, copy) == (0, 1), "numbers of another type")
        self.kind = np.dtype(f"<{code.decode()}")

    def build(self, state: Any) -> np.dtype[Any]:
        _expect(state == (3, b"<", None, None, None, -1, -1, 0), "numbers of another byte order")
        return self.kind


class _Array(_Named):
    def __init__(self, kind: Any, shape: Any, code: Any) -> None:
        _expect(kind is _Named and (shape, code) == ((0,), b"b"), "an array that is not empty at first")

    def build(self, state: Any) -> NDArray[Any]:
        usual = isinstance(state, tuple) and len(state) == 5 and state[0] == 1 and state[3] is False
        _expect(usual, "an array of another layout")
        _, shape, kind, _, values = state
        numbers = isinstance(kind, _Dtype) and kind.made is not None and isinstance(values, bytes)
        _expect(numbers, "an array of other things than numbers")
        sized = _is_shape(shape, (1, 2)) and math.prod(shape) * kind.made.itemsize == len(values)
        _expect(sized, "an array of another size than its values")
        # Without a copy: a file may name the same values many times.
        return np.frombuffer(values, dtype=kind.made).reshape(shape)


class _Matrix(_Named):
    def build(self, state: Any) -> sp.csr_array[Any]:
        _expect(isinstance(state, dict) and state.get(b"format") == b"csr", "a matrix of another format")
        shape, parts = state.get(b"_shape"), {name: state.get(name.encode()) for name in PARTS["csr"]}
        arrays = all(isinstance(part, _Array) and part.made is not None for part in parts.values())
        _expect(arrays and _is_shape(shape, (2,)), "a matrix without its parts")
        return sp.csr_array(matrix_of_parts("csr", {name: part.made for name, part in parts.items()}, shape, "its matrix"))


def _is_shape(value: Any, lengths: tuple[int, ...]) -> bool:
    return isinstance(value, tuple) and len(value) in lengths and all(type(n) is int and n >= 0 for n in value)


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"it holds {otherwise}")


class _Unpickler(pickle._Unpickler):
    names: ClassVar[Mapping[str, type[_Named]]] = {
        "numpy ndarray": _Named,  # an argument of the constructors below
        "__builtin__ list": _Named,
        "numpy dtype": _Dtype,
        "numpy.core.multiarray _reconstruct": _Array,
        "scipy.sparse.csr csr_matrix": _Matrix,
        "collections defaultdict": _Dictionary,
    }

    def find_class(self, module: str, name: str) -> type[_Named]:
        named = f"{module} {name}"
        _expect(named in self.names, f"the name {named[:80]!r}, which no published file does")
        return self.names[named]

    def set_items(self: Any) -> None:
        """Adds keys and values to a dictionary. Keys of other types are not hashed: nested tuples could exhaust the stack."""
        _expect(all(type(key) in (int, bytes) for key in self.stack[::2]), "keys that are neither numbers nor text")
        pickle._Unpickler.dispatch[pickle.SETITEMS[0]](self)

    # The instructions of published files.
    dispatch: ClassVar[dict[int, Any]] = {
        code[0]: pickle._Unpickler.dispatch[code[0]]
        for code in (
            *(pickle.PROTO, pickle.STOP, pickle.MARK, pickle.GLOBAL, pickle.REDUCE, pickle.NEWOBJ, pickle.BUILD),
            *(pickle.NONE, pickle.NEWTRUE, pickle.NEWFALSE, pickle.BININT, pickle.BININT1, pickle.BININT2),
            *(pickle.BINSTRING, pickle.SHORT_BINSTRING, pickle.EMPTY_TUPLE, pickle.EMPTY_LIST, pickle.EMPTY_DICT),
            *(pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3, pickle.APPEND, pickle.APPENDS),
            *(pickle.BINPUT, pickle.LONG_BINPUT, pickle.BINGET, pickle.LONG_BINGET),
        )
    } | {pickle.SETITEMS[0]: set_items}


def _reader(name: str, folder: str) -> Reader:
    files = [f"ind.{name}.{kind}" for kind in ("allx", "tx", "ally", "ty", "y", "graph", "test.index")]
    raw = tuple(RawFile(f"{folder}/raw/{file}", f"{ADDRESS}/{file}") for file in files)
    return Reader(raw, functools.partial(read_planetoid, name=name))


GRAPHS = {name: _reader(name, folder) for name, folder in (("cora", "Cora"), ("citeseer", "CiteSeer"), ("pubmed", "PubMed"))}
