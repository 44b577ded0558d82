"""Arrays as text inside a page: integers in as few bytes as they need, compressed, in base64; `assets/data.js` reads them.

A node's value in a column is a place in the column's sorted distinct values, for classes and numbers alike: the browser gets
the rank that colours and filters need without sorting anything.
"""

import base64
import gzip
import json
import struct
from typing import Any

import numpy as np
from jaxtyping import Float32, Int32, Integer

from localgcl.report.findings import Column, Map

STEPS = 32766
"""Similarities from -1 to 1 are stored as integers from 0 to this; the error, 3e-5, is below the three digits shown."""

MANY = 65_536
"""A column of more distinct numbers is rounded to 13 bits, four digits: places then fit in two bytes."""


def text(value: Any) -> str:
    """JSON, packed: whatever the strings hold, base64 has letters, digits, +, / and = only."""
    # Lone surrogates, which a file name can hold, are escaped by JSON and so survive UTF-8.
    return _packed(json.dumps(value, separators=(",", ":")).encode())


def integers(values: Integer[np.ndarray, "..."]) -> str:
    """Non-negative integers below 2^32, packed: their number, the bytes of each (1 to 4), then all lowest bytes, all next ones.

    Neighbouring values mostly share their high bytes; side by side, those compress to almost nothing.
    """
    flat = np.ascontiguousarray(values).reshape(-1).astype("<u4")
    most = int(flat.max(initial=0))
    width = max(1, (most.bit_length() + 7) // 8)
    planes = flat.view(np.uint8).reshape(-1, 4)[:, :width].T
    return _packed(struct.pack("<II", len(flat), width) + planes.tobytes())


def positions(xy: Float32[np.ndarray, "n 2"]) -> str:
    """Points as 16-bit whole numbers: both axes on one scale, so that distances keep their proportions; x first, then y."""
    low, high = xy.min(axis=0, initial=np.inf), xy.max(axis=0, initial=-np.inf)
    span = max(float((high - low).max()), 1e-30) if len(xy) else 1.0
    centred = (xy - (low + high) / 2) / span + 0.5
    return integers(np.rint(np.clip(centred, 0, 1) * 65_535).astype(np.int64).T)


def column(values: Column) -> dict[str, str]:
    """A column as blocks of the page: `places` (0: missing, else one more than the place) and, for numbers, their `table`."""
    if values.classes is not None:
        return {"places": integers(values.values.astype(np.int64) + 1)}
    numbers = values.values.astype(np.float32)
    known = np.isfinite(numbers)
    table, places = np.unique(numbers[known] + np.float32(0), return_inverse=True)  # adding zero makes -0 equal to 0
    if len(table) > MANY:
        table, places = np.unique(_rounded(numbers[known]), return_inverse=True)
    of_all = np.zeros(len(numbers), dtype=np.int64)
    of_all[known] = places + 1
    return {"places": integers(of_all), "table": integers(table.view(np.uint32))}


def nearest(view: Map) -> dict[str, str]:
    """Nearest nodes (0: none, else one more than the node) and similarities, each as the step down from the one before.

    Best nodes of all come first, then all second ones: numbers of one size stand together.
    """
    steps = np.rint((np.nan_to_num(view.similarity.astype(np.float64)).clip(-1, 1) + 1) * (STEPS / 2)).astype(np.int64)
    down = np.concatenate([steps[:, :1], steps[:, :-1] - steps[:, 1:]], axis=1) % 65_536
    return {"nearest": integers(view.nearest.astype(np.int64).T + 1), "similarity": integers(down.T)}


def edges(indptr: Int32[np.ndarray, " n_plus_1"], indices: Int32[np.ndarray, " m"]) -> dict[str, str]:
    """Undirected edges, each once and no self-loops: how many later neighbours each node has, and the gaps between them."""
    n = len(indptr) - 1
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(indptr))
    low, high = np.minimum(rows, indices), np.maximum(rows, indices)
    pairs = np.unique((low * n + high)[low < high]) if n else np.zeros(0, dtype=np.int64)
    low, high = np.divmod(pairs, max(n, 1))
    before = np.where(np.diff(low, prepend=-1) > 0, low, np.roll(high, 1))
    return {"counts": integers(np.bincount(low, minlength=n)), "gaps": integers(high - before)}


def _rounded(numbers: Float32[np.ndarray, " n"]) -> Float32[np.ndarray, " n"]:
    """The nearest numbers of 13 bits."""
    bits = numbers.view(np.uint32).astype(np.uint64)
    rounded: Float32[np.ndarray, " n"] = ((bits + 0x400) & ~np.uint64(0x7FF)).astype(np.uint32).view(np.float32)
    return rounded


def _packed(raw: bytes) -> str:
    # Without a time stamp the same findings make the same page.
    return base64.b64encode(gzip.compress(raw, compresslevel=6, mtime=0)).decode("ascii")
