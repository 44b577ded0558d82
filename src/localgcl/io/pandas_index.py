"""The index of a pandas frame in a pyarrow table: pandas describes it in JSON beside the columns."""

import json
from typing import Any

import numpy as np
import pyarrow as pa

from localgcl.graph.checks import check_distinct
from localgcl.io.damage import unreadable


def ids_first(table: Any, place: str) -> Any:
    """The table with its pandas index, which pyarrow keeps last, put first; an unnamed integer index is dropped.

    Levels of the index that are no columns of the table are left out: somebody dropped them.

    Raises:
        ValueError: The description cannot be read, or does not fit the table. `place` names the table.
    """
    check_distinct(table.column_names, place)
    for level in reversed(_levels(table, place)):
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
    return table


def _levels(table: Any, place: str) -> list[Any]:
    """The levels of the index: names of columns, and descriptions of ranges."""
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
