"""The columns of a pyarrow table -> edges, features or labels, with the id of each row.

Tables come from files (formats.py) and from objects in memory (tables.py); from here on both are read alike.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from localgcl.graph.edges import as_weights
from localgcl.io.cells import NUMBER, cells_of, values
from localgcl.io.encode import Encoding, fit_encoding
from localgcl.io.ids import Edges, Ids, Rows, as_ids, first_empty, plain, repeated
from localgcl.io.labels import read_labels
from localgcl.io.roles import DEFAULT, Columns, check_dropped, end_columns, id_first, warn_of_unused, weight_name
from localgcl.io.tables import ids_first
from localgcl.system.text import listed

Array = NDArray[Any]
_LABELS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_large_string)
"""Types of labels, as `plain` has them."""
_WEIGHTS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
"""Types of edge weights that are no text."""
_NAME_ANOTHER = "name a column of numbers with weight= (--weight), or read no weights with an empty name"
_OTHERWISE = "encode (encode='auto', --encode auto) or drop (--drop NAME,NAME) them"


def edges_of(
    table: Any, place: str, *, parse_ids: bool = False, weight: str | None = None, columns: Columns = DEFAULT
) -> Edges:
    """The edges in the columns `source` and `target`, found in any order and any case. A warning names columns not used.

    Args:
        table: A pyarrow table.
        place: Where it comes from, for messages.
        parse_ids: Read ids that are written like integers as integers (see `as_ids`).
        weight: The column of weights (see `weight_name`).
        columns: What the columns are called.
    """
    names = table.column_names
    ends = end_columns(names, columns, place)
    called = zip(ends, columns.ends, strict=True)
    source, target = (as_ids(table.column(at), f"{place}, {end}", parse=parse_ids) for at, end in called)
    others = [name for at, name in enumerate(names) if at not in ends]
    held = weight_name(others, weight, place)
    weights = None if held is None else column_weights(table.column(names.index(held)), source, target, place)
    warn_of_unused([name for name in others if name != held], place, weighted=held is not None)
    return Edges(place, source, target, weights=weights)


def features_of(table: Any, place: str, *, parse_ids: bool = False, columns: Columns = DEFAULT) -> Rows:
    """The features as a float32 matrix, with the names of its columns: the id, and one number per other column.

    Arguments are as for `edges_of`; `columns` says how the others become numbers.
    """
    table = with_id_first(table, columns.id, place)
    if table.num_columns < 2:
        raise ValueError(f"{place} has only the column {table.column_names[0]!r:.80}; give the id first, then the features")
    ids = unique_ids(table, place, parse_ids)
    if columns.encode is not None:
        encoding = encoding_for(table.drop_columns(table.column_names[0]), place, columns)
        x = encoding.apply(table, place)
        check_finite(x, place, ids)
        return Rows(place, ids, x, encoding.names, encoding)
    table = _without_dropped(table, columns, place)
    refuse_mixed(table, place)
    x = np.empty((table.num_rows, table.num_columns - 1), dtype=np.float32)
    for j, (name, column) in enumerate(zip(table.column_names[1:], table.columns[1:], strict=True)):
        x[:, j] = _feature(plain(column), f"{place}: column {name!r:.80}", ids)
    check_finite(x, place, ids)
    return Rows(place, ids, x, tuple(table.column_names[1:]))


def labels_of(
    table: Any, place: str, *, parse_ids: bool = False, id: str | None = None, names: Sequence[str] | None = None
) -> Rows:
    """The labels as int64 class numbers with the names of classes, from a table of two columns: id and label.

    `id` is the column of node ids, by default the first, and `names` are as for `read_labels`.
    """
    table = with_id_first(table, id, place)
    if table.num_columns != 2:
        raise ValueError(
            f"{place} has the columns {listed(table.column_names)}; labels need two: id and label (several targets can only be "
            "evaluated: localgcl evaluate RUN --labels FILE)"
        )
    ids = unique_ids(table, place, parse_ids)
    numbers, found = read_labels(label_array(table.column(1), place), place, lambda row: ids[row].as_py(), names)
    return Rows(place, ids, numbers, found)


def label_array(column: Any, place: str) -> Array:
    """The labels in a pyarrow column as an array for `read_labels`; ValueError if its type holds none."""
    labels = plain(column)
    if pa.types.is_null(labels.type) or pa.types.is_decimal(labels.type):
        labels = labels.cast(pa.large_string())
    if not any(test(labels.type) for test in _LABELS):
        raise ValueError(f"{place}: labels are of type {labels.type!s:.80}; number the classes 0, 1, 2... (-1: unknown)")
    array: Array = labels.to_numpy(zero_copy_only=False)  # NaN or None where they are missing
    return array


def encoding_for(table: Any, place: str, columns: Columns) -> Encoding:
    """The encoding for a table without its ids: the given one, after a check of the columns, or one fitted to the table."""
    if not isinstance(columns.encode, Encoding):
        check_dropped(table.column_names, columns.drop or (), place)
        return fit_encoding(table, place, columns.drop or ())
    columns.encode.check(table.column_names, place)
    return columns.encode


def refuse_texts(table: Any, place: str, columns: Columns) -> None:
    """As `refuse_mixed`, for a table whose cells were all read as text: those that are written like numbers are numbers."""
    table = _without_dropped(with_id_first(table, columns.id, place), columns, place)
    for at in range(1, table.num_columns):
        numbers = values(cells_of(table.column(at)), NUMBER)
        if numbers is not None:
            table = table.set_column(at, table.column_names[at], pa.array(numbers, from_pandas=True))
    if sum(map(len, _offending(table))) > 1:  # the reader of a single one names the line
        refuse_mixed(table, place)


def check_finite(x: Any, place: str, ids: Ids) -> None:
    """Raises ValueError, naming the first such node, if a feature is NaN or infinite. `ids` may be a range."""
    if isinstance(x, sp.csr_array):
        entries: Any = x.tocoo()
        wrong = entries.coords[0][~np.isfinite(entries.data)]
    else:
        wrong = np.flatnonzero(~np.isfinite(x).all(axis=1))
    if wrong.size:
        row = int(wrong.min())
        node = ids[row] if isinstance(ids, range) else ids[row].as_py()
        raise ValueError(f"{place}: node {node!r:.80} has a feature that is NaN or infinite; fill or drop it")


def with_id_first(table: Any, id: str | None, place: str) -> Any:
    """The table with the column of node ids first: `id`, or the one that comes first."""
    table = ids_first(table, place)
    return table.select(id_first(table.column_names, id, place))


def _without_dropped(table: Any, columns: Columns, place: str) -> Any:
    drop = list(columns.drop or ())
    check_dropped(table.column_names[1:], drop, place)
    return table.drop_columns(drop)


def unique_ids(table: Any, place: str, parse: bool) -> Ids:
    """The ids in the first column; ValueError if one occurs twice."""
    ids = as_ids(table.column(0), f"{place}, id column {table.column_names[0]!r:.80}", parse=parse)
    twice = repeated(ids)
    if twice is not None:
        raise ValueError(f"{place}: node {twice[0]!r:.80} has {twice[1]} rows; keep one row per node")
    return ids


def refuse_mixed(table: Any, place: str) -> None:
    """Raises ValueError, naming all such columns, if columns after the first are no numbers, or several have empty cells.

    A single column with empty cells is left to its reader, which names a node.
    """
    no_numbers, empty = _offending(table)
    if len(no_numbers) + len(empty) > 1:
        wrong = {"are no numbers": no_numbers, "have empty cells": empty}
        named = {what: ", ".join(f"{name!r:.80}" for name in names) for what, names in wrong.items() if names}
        counted = [f"{len(wrong[what])} columns {what}: {names}" for what, names in named.items()]
        raise ValueError(f"{place}: {', and '.join(counted)}; {_OTHERWISE}")
    if no_numbers:
        kind = str(_value_type(table.column(no_numbers[0]).type)).removeprefix("large_")
        raise ValueError(f"{place}: column {no_numbers[0]!r:.80} is of type {kind}; features are numbers: {_OTHERWISE}")


def _offending(table: Any) -> tuple[list[str], list[str]]:
    """Names of columns after the first that are no numbers, and of number columns with empty cells."""
    columns = dict(zip(table.column_names[1:], table.columns[1:], strict=True))
    no_numbers = [name for name, column in columns.items() if not _is_number(column.type)]
    return no_numbers, [name for name, column in columns.items() if column.null_count and name not in no_numbers]


def _value_type(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_number(kind: Any) -> bool:
    # A column of nothing but empty cells is refused as such.
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null)
    return any(test(_value_type(kind)) for test in tests)


def _feature(column: Any, place: str, ids: Ids) -> Array:
    """One column of numbers as float32."""
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise ValueError(f"{place} is empty for node {ids[row].as_py()!r:.80}; fill it in or drop the row")
    return as_floats(column)


def as_floats(column: Any) -> NDArray[np.float32]:
    """A column of numbers as float32; NaN where it is empty, infinite where a number is too large."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan, dtype=np.float32)
    with np.errstate(over="ignore"):
        return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.float32)


def column_weights(column: Any, source: Ids, target: Ids, place: str) -> Float[Tensor, " m"]:
    """The weights in a pyarrow column, numbers or text, of edges between nodes of these ids.

    Raises:
        ValueError: A weight is empty, no number, negative, NaN or infinite; the message names its edge.
    """
    array, edge = plain(column), edge_of(source, target)
    row = first_empty(array)
    if row is not None:
        raise ValueError(f"{place}: the weight of edge {edge(row)} is empty; fill it in or drop the edge")
    if pa.types.is_large_string(array.type):
        row = first_text(array, pa.float64())
        if row is not None:
            text = array[row].as_py()
            raise ValueError(f"{place}: the weight of edge {edge(row)} is {text!r:.80}, not a number; mend it, {_NAME_ANOTHER}")
    elif not any(test(array.type) for test in _WEIGHTS):
        raise ValueError(f"{place}: edge weights are of type {array.type!s:.80}; {_NAME_ANOTHER}")
    return as_weights(array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), len(source), edge, place)


def edge_of(source: Ids, target: Ids) -> Callable[[int], str]:
    """What messages call the edge of a row."""
    return lambda row: f"{source[row].as_py()!r:.80} -> {target[row].as_py()!r:.80}"


def first_text(texts: Any, kind: Any) -> int | None:
    """Position of the first text that is no number of a pyarrow type; None if all are. Bisection reads texts three times."""

    def are_numbers(some: Any) -> bool:
        try:
            some.cast(kind)
        except pa.ArrowInvalid:
            return False
        return True

    if are_numbers(texts):
        return None
    low, high = 0, len(texts)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if are_numbers(texts[low:middle]) else (low, middle)
    return low
