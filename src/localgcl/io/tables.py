"""Edges, features and labels in pandas or pyarrow tables, which speak of nodes by id -> arrays by node position."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from localgcl.io.foreign import family, has_ids, is_series, is_table
from localgcl.io.ids import Ids, as_ids, ids_to_numpy, nodes_of, positions, repeated, spread

Array = NDArray[Any]


class Joined(NamedTuple):
    """The tables by node position."""

    source: Array
    target: Array
    node_ids: Array
    x: Any
    y: Any
    weight: Array | None


def join_tables(edges: Any, x: Any, y: Any) -> Joined:
    """Matches a table of edges with features and labels: by id, or by position where these are plain arrays."""
    columns = {name.strip().lower(): values for name, values in _columns(edges)}
    if not {"source", "target"} <= set(columns):
        raise ValueError(f"the table of edges has the columns {_listed(edges)}; it needs 'source' and 'target': rename them")
    source, target = (_ids(columns[end], f"the {end} column") for end in ("source", "target"))
    ids, x = _features(x)
    label_ids, y = _labels(y)
    one_row_per_node = x if x is not None else y if label_ids is None else None
    count = None if one_row_per_node is None else np.shape(one_row_per_node)[0]
    nodes = nodes_of(ids, count, [column for column in (source, target, label_ids) if column is not None])
    complaint = "has no row in the features; add its row or drop the mention"
    if label_ids is not None:
        y = spread(y, positions(label_ids, nodes, "labelled node", complaint), len(nodes))
    sources, targets = (positions(end, nodes, "node", complaint) for end in (source, target))
    return Joined(sources, targets, ids_to_numpy(nodes), x, y, columns.get("weight"))


def _features(x: Any) -> tuple[Ids | None, Any]:
    """Ids (None: in node order) and features."""
    if not has_ids(x):
        return None, x
    if is_series(x):
        place, ids, columns = "the index of the features", _values(x.index), [(str(x.name), _values(x))]
    else:
        (first, ids), *columns = _columns(x)
        place = f"column {first!r} of the features"
        if not columns:
            raise ValueError(f"the features have only the column {first!r}; give the id first, then the features")
    for name, values in columns:
        if values.dtype.kind not in "biuf":
            raise ValueError(f"feature column {name!r} is of type {values.dtype}; features are numbers: encode or drop it")
    return _unique_ids(ids, place, "features"), np.column_stack([values for _, values in columns])


def _labels(y: Any) -> tuple[Ids | None, Any]:
    """Ids (None: in node order) and labels."""
    if is_series(y):
        ids = _unique_ids(_values(y.index), "the index of the labels", "labels") if has_ids(y) else None
        return ids, _complete(_values(y))
    if not is_table(y):
        return None, y
    columns = _columns(y)
    if len(columns) != 2:
        raise ValueError(f"the table of labels has the columns {_listed(y)}; it needs two, id and label")
    (name, ids), (_, labels) = columns
    return _unique_ids(ids, f"column {name!r} of the labels", "labels"), _complete(labels)


def _complete(labels: Array) -> Array:
    empty = (row for row, label in enumerate(labels.tolist(), start=1) if label is None or label != label)
    row = next(empty, None)
    if row is not None:
        raise ValueError(f"the label in data row {row} is empty; write -1 or drop the row")
    return labels


def _columns(table: Any) -> list[tuple[str, Array]]:
    """Name and values of each column; first the pandas index, if it is named or text and so holds ids."""
    if "pyarrow.Table" in family(table):
        return [(name, column.to_numpy()) for name, column in zip(table.column_names, table.columns, strict=True)]
    columns = [(str(name), _values(table.iloc[:, i])) for i, name in enumerate(table.columns)]
    index = _values(table.index)
    holds_ids = table.index.name is not None or index.dtype.kind not in "iu"
    return [(str(table.index.name or "index"), index), *columns] if holds_ids else columns


def _values(column: Any) -> Array:
    """A pandas column or index as an array; what is missing among objects is None, however pandas writes it."""
    import pandas  # is loaded, since a column of it arrived

    values: Array = column.to_numpy()
    if values.dtype == object:
        values = values.copy()
        values[pandas.isna(values)] = None
    return values


def _listed(table: Any) -> str:
    return ", ".join(repr(name) for name, _ in _columns(table))


def _ids(values: Any, place: str) -> Ids:
    if values.dtype == object:  # text, or anything that has one: tuples, categories, integers and text mixed
        return as_ids(pa.array([None if value is None else str(value) for value in values], pa.large_string()), place)
    return as_ids(pa.array(values, from_pandas=True), place)


def _unique_ids(values: Any, place: str, role: str) -> Ids:
    ids = _ids(values, place)
    twice = repeated(ids)
    if twice is not None:
        raise ValueError(f"the {role} have {twice[1]} rows for node {twice[0]!r}; keep one row per node")
    return ids
