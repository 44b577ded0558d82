"""Pickles as Python 2 wrote them by protocol 2, the form of the Planetoid files. Python 3 writes another: see `pickletools`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

PROTO, STOP, MARK, TUPLE, BUILD, REDUCE = b"\x80\x02", b".", b"(", b"t", b"b", b"R"


def pickled(body: bytes) -> bytes:
    """A whole pickle of one value."""
    return PROTO + body + STOP


def name(module: str, attribute: str) -> bytes:
    return f"c{module}\n{attribute}\n".encode()


def number(value: int) -> bytes:
    return b"J" + value.to_bytes(4, "little", signed=True) if not 0 <= value < 256 else b"K" + bytes([value])


def text(value: bytes | str) -> bytes:
    content = value.encode("latin1") if isinstance(value, str) else value
    return b"T" + len(content).to_bytes(4, "little", signed=True) + content


def several(*parts: bytes) -> bytes:
    """A tuple."""
    return MARK + b"".join(parts) + TUPLE


def dtype(code: str, order: str = "<") -> bytes:
    state = several(number(3), text(order), b"N", b"N", b"N", number(-1), number(-1), number(0))
    return name("numpy", "dtype") + several(text(code), number(0), number(1)) + REDUCE + state + BUILD


def array(values: Any, code: str = "", shape: Sequence[int] | None = None) -> bytes:
    """An array; `code` and `shape` are its own when not given."""
    values = np.asarray(values)
    size = several(*map(number, values.shape if shape is None else shape))
    empty = name("numpy.core.multiarray", "_reconstruct") + several(name("numpy", "ndarray"), several(number(0)), text("b"))
    kind = dtype(code or values.dtype.str[1:])
    return empty + REDUCE + several(number(1), size, kind, b"\x89", text(values.tobytes())) + BUILD


def matrix(values: Any) -> bytes:
    """A CSR matrix."""
    csr: Any = sp.csr_matrix(values)
    state = {
        "format": text("csr"),
        "_shape": several(*map(number, csr.shape)),
        "indptr": array(csr.indptr),
        "_cs_matrix__has_sorted_indices": b"\x88",
        "indices": array(csr.indices),
        "maxprint": number(50),
        "data": array(csr.data),
    }
    return csr_object(state)


def csr_object(state: Mapping[str, bytes]) -> bytes:
    """A csr_matrix with this state, right or wrong."""
    items = b"".join(text(key) + value for key, value in state.items())
    return name("scipy.sparse.csr", "csr_matrix") + b")\x81" + b"}" + MARK + items + b"u" + BUILD


def neighbours(lists: Mapping[int, Sequence[int]]) -> bytes:
    """A defaultdict of lists."""
    empty = name("collections", "defaultdict") + several(name("__builtin__", "list")) + REDUCE
    items = b"".join(number(node) + b"]" + MARK + b"".join(map(number, ends)) + b"e" for node, ends in lists.items())
    return empty + MARK + items + b"u"
