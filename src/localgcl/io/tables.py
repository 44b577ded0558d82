"""Tables in memory -> pyarrow tables: pandas frames, and every object that exports an Arrow C stream."""

from typing import Any


def family(obj: Any) -> set[str]:
    """'package.Class' of the object's class and of all its base classes: tells types apart without importing them.

    Example:
        >>> sorted(family(True))
        ['builtins.bool', 'builtins.int', 'builtins.object']
    """
    return {f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in type(obj).__mro__}


def as_table(obj: Any) -> Any:
    """The pyarrow table that `obj` is or exports; None if it is no table.

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
