"""Tells the types of other libraries apart without importing the libraries."""

from typing import Any


def family(obj: Any) -> set[str]:
    """'package.Class' of the object's class and of all that it derives from.

    Example:
        >>> sorted(family(True))
        ['builtins.bool', 'builtins.int', 'builtins.object']
    """
    return {f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in type(obj).__mro__}


def is_table(obj: Any) -> bool:
    """Whether it is a pandas or pyarrow table."""
    return not family(obj).isdisjoint({"pandas.DataFrame", "pyarrow.Table"})


def is_series(obj: Any) -> bool:
    """Whether it is a pandas Series."""
    return "pandas.Series" in family(obj)


def has_ids(obj: Any) -> bool:
    """Whether its rows carry node ids: a table, or a Series whose index somebody gave.

    An index that is nameless and counts 0, 1, 2... is what pandas adds when nobody gave any.
    """
    if is_series(obj):
        return obj.index.name is not None or "pandas.RangeIndex" not in family(obj.index)
    return is_table(obj)
