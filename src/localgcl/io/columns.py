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

from localgcl.io.ids import Edges, Ids, Rows, as_ids, first_empty, plain, repeated
from localgcl.io.labels import class_numbers
from localgcl.io.weights import warn_of_weights

Array = NDArray[Any]


def edges_of(table: Any, place: str, *, parse_ids: bool = False) -> Edges:
    """The edges in the columns `source` and `target`, found in any order and any case.

    Args:
        table: A pyarrow table.
        place: Where it comes from, for messages.
        parse_ids: Read ids that are written like integers as integers (see `as_ids`).
    """
    check_edge_columns(table.column_names, place)
    columns = dict(zip((name.strip().lower() for name in table.column_names), table.columns, strict=True))
    if "weight" in columns:
        warn_of_weights(plain(columns["weight"]).unique().to_numpy(zero_copy_only=False), place)
    source, target = (as_ids(columns[end], f"{place}, {end}", parse=parse_ids) for end in ("source", "target"))
    return Edges(place, source, target)


def features_of(table: Any, place: str, *, parse_ids: bool = False) -> Rows:
    """The features as a float32 matrix: the id first, then one number per column."""
    table = _ids_first(table, place)
    if table.num_columns < 2:
        raise ValueError(f"{place} has only the column {table.column_names[0]!r}; give the id first, then the features")
    ids = _unique_ids(table, place, parse_ids)
    x = np.empty((table.num_rows, table.num_columns - 1), dtype=np.float32)
    for j, (name, column) in enumerate(zip(table.column_names[1:], table.columns[1:], strict=True)):
        x[:, j] = _feature(plain(column), f"{place}: column {name!r}", ids)
    check_finite(x, place, ids)
    return Rows(place, ids, x)


def labels_of(table: Any, place: str, *, parse_ids: bool = False) -> Rows:
    """The labels as int64 class numbers, from a table of two columns: id and label."""
    table = _ids_first(table, place)
    if table.num_columns != 2:
        raise ValueError(f"{place} has the columns {listed(table.column_names)}; labels need two: id and label")
    ids = _unique_ids(table, place, parse_ids)
    labels = plain(table.column(1))
    row = first_empty(labels)
    if row is not None:
        raise ValueError(f"{place}: the label of node {ids[row].as_py()!r} is empty; write -1 or drop the row")
    numbers = class_numbers(labels.to_numpy(zero_copy_only=False), place, lambda row: ids[row].as_py())
    return Rows(place, ids, numbers)


def check_edge_columns(names: Sequence[str], place: str, fix: str = "rename them") -> None:
    """Raises ValueError unless `source` and `target` are among the names."""
    if not {"source", "target"} <= {name.strip().lower() for name in names}:
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
        raise ValueError(f"{place}: node {node!r} has a feature that is NaN or infinite; fill or drop it")


def listed(names: Sequence[str]) -> str:
    """At most six names, quoted."""
    shown = ", ".join(repr(name) for name in names[:6])
    return shown if len(names) <= 6 else f"{shown}... ({len(names)} in all)"


def _ids_first(table: Any, place: str) -> Any:
    """The table with its pandas index, which pyarrow keeps last, put first; an unnamed integer index is dropped."""
    for level in reversed((table.schema.pandas_metadata or {}).get("index_columns", [])):
        if isinstance(level, dict):  # a range, of which pandas keeps only the limits
            name, numbers = level["name"], range(level["start"], level["stop"], level["step"])
            if name is not None and len(numbers) != table.num_rows:
                raise ValueError(
                    f"{place} has {table.num_rows} rows, but its pandas index {name!r} has {len(numbers)}: rows were dropped "
                    "since; turn the index into a column first, by reset_index()"
                )
            table = table if name is None else table.add_column(0, name, pa.array(numbers))
        elif level in table.column_names:
            column, table = table.column(level), table.drop_columns([level])
            if not (level.startswith("__index_level_") and pa.types.is_integer(column.type)):
                table = table.add_column(0, level, column)
    return table


def _unique_ids(table: Any, place: str, parse: bool) -> Ids:
    """The ids in the first column; ValueError if one occurs twice."""
    ids = as_ids(table.column(0), f"{place}, first column {table.column_names[0]!r}", parse=parse)
    twice = repeated(ids)
    if twice is not None:
        raise ValueError(f"{place}: node {twice[0]!r} has {twice[1]} rows; keep one row per node")
    return ids


def _feature(column: Any, place: str, ids: Ids) -> Array:
    """One column of numbers as float32."""
    kind = column.type
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise ValueError(f"{place} is empty for node {ids[row].as_py()!r}; fill it in or drop the row")
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise ValueError(f"{place} is of type {str(kind).removeprefix('large_')}; features are numbers: encode or drop it")
    with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite, and check_finite refuses it
        return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.float32)
