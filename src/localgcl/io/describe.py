"""What the columns of a feature file are and how they would be encoded, without failing at the first that cannot be."""

import dataclasses
from pathlib import Path
from typing import Any

import pyarrow as pa

from localgcl.io.cells import NUMBER, cells_of, kind_of_cells
from localgcl.io.columns import with_id_first
from localgcl.io.encode import Column, fit_column
from localgcl.io.formats import TABLES, id_table, kind_of
from localgcl.io.roles import Columns
from localgcl.system.text import shown


@dataclasses.dataclass(frozen=True)
class ColumnFacts:
    """A column of a table of features.

    Args:
        name: Its name.
        kind: number, boolean, date, category, perhaps how they are written (number like 1,234.5);
            or the type of cells that are none of them.
        missing: Number of empty cells.
        distinct: Number of distinct values, missing ones aside.
        features: Number of features that `encode="auto"` makes of it; 0 if it cannot, or is left out.
        refused: Why it cannot be encoded; empty if it can.
        dropped: Whether the user leaves it out.
        plain: Whether it can be read without encoding: numbers without empty cells.
    """

    name: str
    kind: str
    missing: int
    distinct: int
    features: int
    refused: str = ""
    dropped: bool = False
    plain: bool = False


def describe_columns(path: Path, columns: Columns) -> list[ColumnFacts]:
    """The columns of a feature file but that of the ids; none for arrays, whose columns are all numbers.

    Raises:
        ValueError: The file cannot be read, or has no such id column.
    """
    kind, place = kind_of(path), shown(path)
    if kind not in TABLES:
        return []
    table = with_id_first(id_table(path, kind, pa.string(), columns), columns.id, place)
    dropped = columns.drop or ()
    pairs = zip(table.column_names[1:], table.columns[1:], strict=True)  # a name may occur twice
    return [_facts(name, cells_of(column), name in dropped) for name, column in pairs]


def _facts(name: str, cells: Any, dropped: bool) -> ColumnFacts:
    kind, fitted = kind_of_cells(cells), fit_column(name, cells)
    refused = fitted if isinstance(fitted, str) else ""
    return ColumnFacts(
        name=name,
        kind=fitted.told if isinstance(fitted, Column) else kind or str(cells.type)[:40],
        missing=cells.null_count,
        distinct=len(cells.drop_null().unique()) if kind is not None else 0,
        features=len(fitted.features) if isinstance(fitted, Column) and not dropped else 0,
        refused=refused,
        dropped=dropped,
        plain=kind == NUMBER and not cells.null_count and not (isinstance(fitted, Column) and fitted.form),
    )
