"""The columns of a pyarrow table -> edges, features or labels, with the id of each row.

Tables come from files (formats.py) and from objects in memory (tables.py); from here on both are read alike.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from localgcl.graph.checks import check_distinct
from localgcl.io.ids import Edges, Ids, Rows, as_ids, first_empty, plain, repeated
from localgcl.io.labels import class_numbers
from localgcl.io.pandas_index import ids_first
from localgcl.io.weight_columns import column_weights
from localgcl.io.weights import warn_of_unused, weight_name
from localgcl.system.text import listed

Array = NDArray[Any]
_ENDS = ("source", "target")


def edges_of(table: Any, place: str, *, parse_ids: bool = False, weight: str | None = None) -> Edges:
    """The edges in the columns `source` and `target`, found in any order and any case. A warning names columns not used.

    Args:
        table: A pyarrow table.
        place: Where it comes from, for messages.
        parse_ids: Read ids that are written like integers as integers (see `as_ids`).
        weight: The column of weights (see `weight_name`).
    """
    names = table.column_names
    check_edge_columns(names, place)
    ends = {name.strip().lower(): column for name, column in zip(names, table.columns, strict=True)}
    source, target = (as_ids(ends[end], f"{place}, {end}", parse=parse_ids) for end in _ENDS)
    others = [name for name in names if name.strip().lower() not in _ENDS]
    held = weight_name(others, weight, place)
    weights = None if held is None else column_weights(table.column(names.index(held)), source, target, place)
    warn_of_unused([name for name in others if name != held], place, weighted=held is not None)
    return Edges(place, source, target, weights=weights)


def features_of(table: Any, place: str, *, parse_ids: bool = False) -> Rows:
    """The features as a float32 matrix, with the names of its columns: the id first, then one number per column."""
    table = ids_first(table, place)
    if table.num_columns < 2:
        raise ValueError(f"{place} has only the column {table.column_names[0]!r:.80}; give the id first, then the features")
    ids = _unique_ids(table, place, parse_ids)
    _check_numbers(table, place)
    x = np.empty((table.num_rows, table.num_columns - 1), dtype=np.float32)
    for j, (name, column) in enumerate(zip(table.column_names[1:], table.columns[1:], strict=True)):
        x[:, j] = _feature(plain(column), f"{place}: column {name!r:.80}", ids)
    check_finite(x, place, ids)
    return Rows(place, ids, x, tuple(table.column_names[1:]))


def labels_of(table: Any, place: str, *, parse_ids: bool = False) -> Rows:
    """The labels as int64 class numbers, from a table of two columns: id and label."""
    table = ids_first(table, place)
    if table.num_columns != 2:
        raise ValueError(f"{place} has the columns {listed(table.column_names)}; labels need two: id and label")
    ids = _unique_ids(table, place, parse_ids)
    labels = plain(table.column(1))
    if pa.types.is_nested(labels.type) or "binary" in str(labels.type):
        raise ValueError(f"{place}: labels are of type {labels.type!s:.80}; number the classes 0, 1, 2... (-1: unknown)")
    row = first_empty(labels)
    if row is not None:
        raise ValueError(f"{place}: the label of node {ids[row].as_py()!r:.80} is empty; write -1 or drop the row")
    numbers = class_numbers(labels.to_numpy(zero_copy_only=False), place, lambda row: ids[row].as_py())
    return Rows(place, ids, numbers)


def check_edge_columns(names: Sequence[str], place: str, fix: str = "rename them") -> None:
    """Raises ValueError unless `source` and `target` are among the names, once each."""
    ends = [name for name in (name.strip().lower() for name in names) if name in _ENDS]
    check_distinct(ends, place)
    if len(ends) != 2:
        raise ValueError(f"{place} has the columns {listed(names)}; edges need the columns 'source' and 'target': {fix}")


def check_finite(x: Any, place: str, ids: Ids | None = None) -> None:
    """Raises ValueError, naming the first such node, if a feature is NaN or infinite."""
    if isinstance(x, sp.csr_array):
        entries: Any = x.tocoo()
        wrong = entries.coords[0][~np.isfinite(entries.data)]
    else:
        wrong = np.flatnonzero(~np.isfinite(x).all(axis=1))
    if wrong.size:
        row = int(wrong.min())
        node = row if ids is None else ids[row].as_py()
        raise ValueError(f"{place}: node {node!r:.80} has a feature that is NaN or infinite; fill or drop it")


def _unique_ids(table: Any, place: str, parse: bool) -> Ids:
    """The ids in the first column; ValueError if one occurs twice."""
    ids = as_ids(table.column(0), f"{place}, first column {table.column_names[0]!r:.80}", parse=parse)
    twice = repeated(ids)
    if twice is not None:
        raise ValueError(f"{place}: node {twice[0]!r:.80} has {twice[1]} rows; keep one row per node")
    return ids


def _check_numbers(table: Any, place: str) -> None:
    """Raises ValueError, naming all such columns, if features are of a type that is no number."""
    kinds = {field.name: _value_type(field.type) for field in list(table.schema)[1:]}
    wrong = [name for name, kind in kinds.items() if not _is_number(kind)]
    if len(wrong) > 1:
        raise ValueError(f"{place}: {len(wrong)} columns are no numbers: {listed(wrong)}; encode or drop them")
    if wrong:
        kind = str(kinds[wrong[0]]).removeprefix("large_")
        raise ValueError(f"{place}: column {wrong[0]!r:.80} is of type {kind}; features are numbers: encode or drop it")


def _value_type(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_number(kind: Any) -> bool:
    # A column of nothing but empty cells is refused as such, by `_feature`.
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null)
    return any(test(kind) for test in tests)


def _feature(column: Any, place: str, ids: Ids) -> Array:
    """One column of numbers as float32."""
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise ValueError(f"{place} is empty for node {ids[row].as_py()!r:.80}; fill it in or drop the row")
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite, and check_finite refuses it
        return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.float32)
