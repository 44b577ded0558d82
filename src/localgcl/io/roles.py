"""Which columns of a user's tables hold the ends of edges, their weights and the node ids, and which ones nobody reads."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from localgcl.config import LocalGCLWarning
from localgcl.graph.checks import check_distinct
from localgcl.system.text import listed

ENDS = ("source", "target")
"""The columns of edges where none are named."""
WEIGHT = "weight"
"""The column of weights where none is named."""


class Columns(NamedTuple):
    """The names that the user gave to columns, in any case; None means the default.

    Args:
        source: The node that an edge leaves.
        target: The node that it enters.
        id: The node id in tables of features and labels; by default their first column.
        drop: Columns of features to leave out.
        encode: "auto", or the `Encoding` by which features become numbers; None where all are numbers.
    """

    source: str | None = None
    target: str | None = None
    id: str | None = None
    drop: tuple[str, ...] | None = None
    encode: Any = None

    @property
    def ends(self) -> tuple[str, str]:
        """The columns of edges."""
        return self.source or ENDS[0], self.target or ENDS[1]

    @property
    def names_ends(self) -> bool:
        """Whether one of the ends was named."""
        return bool(self.source or self.target)


DEFAULT = Columns()


def end_columns(names: Sequence[str], columns: Columns, place: str, *, header: str = "") -> tuple[int, int]:
    """Positions of the two columns of edges among `names`.

    Args:
        names: The columns of a table.
        columns: What the user calls them.
        place: Where the table comes from, for messages.
        header: A line that the user may add, for files that can lack one.

    Raises:
        ValueError: One is missing, or there are several of one name.
    """
    wanted = [_key(name) for name in columns.ends]
    if wanted[0] == wanted[1]:
        raise ValueError(f"source and target are both the column {columns.ends[0]!r:.80}; name two columns of {place}")
    keys = [_key(name) for name in names]
    check_distinct([key for key in keys if key in wanted], place)
    if not set(wanted) <= set(keys):
        source, target = columns.ends
        more = f", or add the header line {header}" if header else ""
        raise ValueError(
            f"{place} has the columns {listed(names)}; edges need the columns {source!r:.80} and {target!r:.80}: "
            f"name others with source= and target= (--source, --target), rename them{more}"
        )
    return keys.index(wanted[0]), keys.index(wanted[1])


def weight_name(names: Sequence[str], asked: str | None, place: str) -> str | None:
    """The name among `names` that holds the edge weights, in any case; None where there are none.

    Args:
        names: Columns of a table, arrays of an archive, or attributes of edges, without those that hold something else.
        asked: What the user calls the weights; None looks for `weight`, and "" for nothing.
        place: Where the names stand, for messages.

    Raises:
        ValueError: There is no such name, or several.
    """
    wanted = (WEIGHT if asked is None else asked).strip().lower()
    found = [name for name in names if wanted and name.strip().lower() == wanted]
    check_distinct([wanted] * len(found), place)
    if not found and wanted and asked is not None:
        known = f", but {listed(names)}" if names else ""
        raise ValueError(f"{place} has no edge weights called {asked!r:.80}{known}; name one that it has, or leave weight out")
    return found[0] if found else None


def refuse_weight_name(asked: str | None, place: str) -> None:
    """Raises ValueError if the user names the weights of edges that have no named attributes."""
    if asked:
        raise ValueError(f"weight is {asked!r:.80}, but {place} has no names; leave it out, or '' to read no weights")


def warn_of_unused(names: Iterable[str], place: str, *, weighted: bool) -> None:
    """Warns once of all edge columns that are not read. Unnamed ones are a frame's row numbers, and are not listed."""
    unused = [name for name in dict.fromkeys(names) if name.strip() and not name.startswith("__index_level_")]
    if unused:
        named = ", ".join(f"{name!r:.80}" for name in unused)
        hint = "" if weighted else "; if one of them holds weights, name it with weight= (--weight)"
        # The fifth frame is the caller of as_graph or read_graph.
        warnings.warn(f"{place}: edge columns that are not used: {named}{hint}", LocalGCLWarning, stacklevel=5)


def id_first(names: Sequence[str], asked: str | None, place: str) -> list[int]:
    """Positions of all columns, that of the node ids first: the first of `names` where none is asked for.

    Raises:
        ValueError: There is no such column, or several.

    Example:
        >>> id_first(["a", "b", "ID", "c"], "id", "x.csv")
        [2, 0, 1, 3]
    """
    keys = [_key(name) for name in names]
    if asked:
        check_distinct([key for key in keys if key == _key(asked)], place)
    if asked and _key(asked) not in keys:
        raise ValueError(
            f"{place} has the columns {listed(names)}, and no {asked!r:.80}; name the column of node ids with id= (--id), or "
            "leave it out to take the first"
        )
    at = keys.index(_key(asked)) if asked else 0
    return [at, *(other for other in range(len(names)) if other != at)]


def check_dropped(names: Sequence[str], drop: Sequence[str], place: str) -> None:
    """Raises ValueError that lists the columns of `drop` that the table does not have."""
    unknown = [name for name in drop if name not in names]
    if unknown:
        raise ValueError(f"{place} has no columns {listed(unknown)} to leave out (drop, --drop); it has {listed(names)}")


def _key(name: str) -> str:
    return name.strip().lower()
