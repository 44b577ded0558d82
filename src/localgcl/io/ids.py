"""Rows that speak of nodes by id -> rows by node position.

Ids are pyarrow arrays, of int64 or of text. Where one table has integers and another has text, both are compared as text,
so that 7 and "7" are the same node.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Array = NDArray[Any]
Ids = Any  # a pyarrow array of int64 or large_string; pyarrow ships no types


def as_ids(values: Any, place: str) -> Ids:
    """Node ids of a column (numpy or pyarrow); ValueError if one is empty, a fraction, or no id at all.

    Args:
        values: The column.
        place: Where it stands, for messages.
    """
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else pa.array(values)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_boolean(array.type) or pa.types.is_nested(array.type):
        raise ValueError(f"{place}: node ids are of type {array.type}; use integers or text, in the first column")
    if pa.types.is_floating(array.type):
        array = _whole(array, place)
    try:
        array = array.cast(pa.int64() if pa.types.is_integer(array.type) else pa.large_string())
    except pa.ArrowInvalid:  # an unsigned integer beyond 63 bits
        array = array.cast(pa.large_string())
    row = first_empty(array)
    if row is not None:
        raise ValueError(f"{place}: the node id in data row {row + 1} is empty; fill it in or drop the row")
    return array


def parsed(ids: Ids) -> Ids:
    """Text as integers if every id is written like one: "007", "1e3" and what 64 bits do not hold stay text."""
    if pa.types.is_int64(ids.type):
        return ids
    try:
        numbers = ids.cast(pa.int64())
    except pa.ArrowInvalid:
        return ids
    return numbers if numbers.cast(pa.large_string()).equals(ids) else ids


def nodes_of(named: Ids | None, count: int | None, mentioned: Sequence[Ids]) -> Ids:
    """The nodes in order: those that the features name, else 0 to count - 1, else all that are mentioned, sorted."""
    if named is not None:
        return named
    if count is not None:
        return pa.array(np.arange(count))
    every = pa.chunked_array(_alike(mentioned)).unique()
    return every.take(pc.sort_indices(every))


def positions(ids: Ids, nodes: Ids, subject: str, complaint: str) -> Array:
    """Position in `nodes` of each id; ValueError names the first that is not there and counts the others. O(n)."""
    wanted, known = _alike([ids, nodes])
    found = pc.index_in(wanted, value_set=known)
    if found.null_count:
        missing = wanted.filter(found.is_null()).unique()
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise ValueError(f"{subject} {missing[0].as_py()!r}{more} {complaint}")
    return np.asarray(found.to_numpy(), dtype=np.int64)


def spread(labels: Array, rows: Array, num_nodes: int) -> Array:
    """Labels by node position, -1 for nodes that have none."""
    kind: Any = {"b": np.int64, "i": np.int64, "u": np.int64, "f": np.float64}.get(labels.dtype.kind, object)
    y: Array = np.full(num_nodes, -1, dtype=kind)  # objects keep text as it is, for Graph to refuse by name
    y[rows] = labels
    return y


def repeated(ids: Ids) -> tuple[Any, int] | None:
    """The first id that stands in several rows, and how many; None if there is none."""
    if len(ids.unique()) == len(ids):
        return None
    counts = ids.value_counts()
    first = counts.filter(pc.greater(counts.field("counts"), 1))[0].as_py()
    return first["values"], first["counts"]


def first_empty(column: Any) -> int | None:
    """The first row of a pyarrow column that is null or the empty text."""
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    row = int(pc.index(pc.fill_null(pc.equal(column, ""), True) if text else column.is_null(), True).as_py())
    return None if row < 0 else row


def ids_to_numpy(ids: Ids) -> Array:
    """The ids as an array of int64 or of text."""
    array: Array = ids.to_numpy(zero_copy_only=False)
    return array if array.dtype == np.int64 else array.astype(str)


def _alike(columns: Sequence[Ids]) -> list[Ids]:
    """The columns as integers if all of them are, else all as text."""
    if all(pa.types.is_int64(column.type) for column in columns):
        return list(columns)
    return [column.cast(pa.large_string()) for column in columns]


def _whole(floats: Any, place: str) -> Any:
    """Floats as integers, as pandas and spreadsheets write integers; ValueError names the first that is none."""
    try:
        return floats.cast(pa.int64())
    except pa.ArrowInvalid:
        given = floats.drop_null().to_pylist()
        wrong = next(value for value in given if not (abs(value) < 2**63 and value.is_integer()))
        raise ValueError(f"{place}: node id {wrong!r} is no integer; use integers or text, in the first column") from None
