"""Tables and arrays of other libraries in memory -> pyarrow tables, a pandas index as their first column, and numpy arrays."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from localgcl.graph.arrays import as_array
from localgcl.graph.checks import check_distinct
from localgcl.io.damage import unreadable


def to_array(values: Any, what: str = "values") -> NDArray[Any]:
    """A tensor on any device, an array, or a list as a numpy array; `what` names them where some are masked."""
    return as_array(values.detach().cpu().numpy() if isinstance(values, Tensor) else values, what)


def family(obj: Any) -> set[str]:
    """'package.Class' of the object's class and of all its base classes: tells types apart without importing them.

    Example:
        >>> sorted(family(True))
        ['builtins.bool', 'builtins.int', 'builtins.object']
    """
    return {f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in type(obj).__mro__}


def as_table(obj: Any) -> Any:
    """`obj` as a pyarrow table; None if it is no table.

    Tables are pandas frames and all objects with `__arrow_c_stream__`: polars frames, DuckDB relations, pyarrow tables and
    readers. A pandas index that holds ids, being named or not of integers, becomes the first column. A pandas Series whose
    index was given is a table of two columns, id and value; other single columns are no tables.
    """
    kin = family(obj)
    if "pandas.DataFrame" in kin:
        return _from_pandas(obj)
    if "pandas.Series" in kin:
        # pandas counts 0, 1, 2... without a name where nobody gave an index.
        given = obj.index.name is not None or "pandas.RangeIndex" not in family(obj.index)
        return _arrow_table([_index_column(obj), (str(obj.name), obj)]) if given else None
    if not hasattr(obj, "__arrow_c_stream__"):
        return None
    import pyarrow as pa

    try:
        reader = pa.RecordBatchReader.from_stream(obj)
    except pa.ArrowInvalid:  # the schema is that of a single column, such as a polars Series
        return None
    return reader.read_all()


def _from_pandas(frame: Any) -> Any:
    columns = [(str(name), frame.iloc[:, i]) for i, name in enumerate(frame.columns)]
    holds_ids = frame.index.name is not None or frame.index.to_numpy().dtype.kind not in "iu"
    return _arrow_table([_index_column(frame), *columns] if holds_ids else columns)


def _index_column(obj: Any) -> tuple[str, Any]:
    return str(obj.index.name or "index"), obj.index.to_series()


def _arrow_table(columns: list[tuple[str, Any]]) -> Any:
    import pyarrow as pa

    # Not from_pandas: it refuses two columns of one name.
    return pa.table([_arrow_column(column) for _, column in columns], names=[name for name, _ in columns])


def _arrow_column(column: Any) -> Any:
    """A pandas column as a pyarrow array; text where pyarrow has no scalar type for it: tuples, integers among text."""
    import pyarrow as pa

    try:
        array = pa.array(column, from_pandas=True)
        if not pa.types.is_nested(array.type):
            return array
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        pass
    missing = column.isna().tolist()
    texts = [None if empty else str(value) for value, empty in zip(column.tolist(), missing, strict=True)]
    return pa.array(texts, pa.large_string())


def ids_first(table: Any, place: str) -> Any:
    """The table with its pandas index, which pyarrow keeps last, put first; an unnamed integer index is dropped.

    Levels of the index that are no columns of the table are left out: somebody dropped them. The description goes with the
    index, so that it is put first once.

    Raises:
        ValueError: The description cannot be read, or does not fit the table. `place` names the table.
    """
    import pyarrow as pa

    check_distinct(table.column_names, place)
    for level in reversed(index_levels(table, place)):
        if isinstance(level, dict):  # a range, of which pandas keeps only the limits
            name, numbers = _range(level, place)
            if name is not None and len(numbers) != table.num_rows:
                raise ValueError(
                    f"{place} has {table.num_rows} rows, but its pandas index {name!r:.80} has {len(numbers)}: rows were "
                    "dropped since; turn the index into a column first, by reset_index()"
                )
            if name is not None:
                table = table.add_column(0, name, pa.array(np.arange(numbers.start, numbers.stop, numbers.step)))
        elif level in table.column_names:
            column, table = table.column(level), table.drop_columns([level])
            if not (level.startswith("__index_level_") and pa.types.is_integer(column.type)):
                table = table.add_column(0, level, column)
    check_distinct(table.column_names, place)  # a range may be named like a column
    return table.replace_schema_metadata(None)


def index_levels(table: Any, place: str) -> list[Any]:
    """The levels of a pandas index: names of columns, and descriptions of ranges."""
    text = (table.schema.metadata or {}).get(b"pandas")
    if text is None:
        return []
    try:
        description = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise unreadable(f"the pandas metadata of {place}", error) from error
    levels = description.get("index_columns", []) if isinstance(description, dict) else None
    if not isinstance(levels, list) or not all(isinstance(level, str | dict) for level in levels):
        raise ValueError(f"{place}: its pandas metadata does not list the columns of an index; write it again with pandas")
    return levels


def _range(level: dict[str, Any], place: str) -> tuple[str | None, range]:
    """Name and numbers of an index that is a range of 64-bit integers."""
    name, limits = level.get("name"), [level.get(key) for key in ("start", "stop", "step")]
    whole = all(type(limit) is int and abs(limit) < 2**62 for limit in limits) and limits[2] != 0
    if not whole or not (name is None or isinstance(name, str)):
        raise ValueError(
            f"{place}: the pandas metadata of its index is damaged ({str(level)[:100]!r}); write it again with pandas"
        )
    return name, range(*limits)  # type: ignore[arg-type]  # integers, as checked
