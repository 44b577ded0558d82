"""Which column holds edge weights, and which edge columns nobody reads."""

import warnings
from collections.abc import Iterable, Sequence

from localgcl.config import LocalGCLWarning
from localgcl.graph.checks import check_distinct
from localgcl.system.text import listed

DEFAULT = "weight"
"""The column of weights where none is named."""


def weight_name(names: Sequence[str], asked: str | None, place: str) -> str | None:
    """The name among `names` that holds the edge weights, in any case; None where there are none.

    Args:
        names: Columns of a table, arrays of an archive, or attributes of edges, without those that hold something else.
        asked: What the user calls the weights; None looks for `weight`, and "" for nothing.
        place: Where the names stand, for messages.

    Raises:
        ValueError: There is no such name, or several.
    """
    wanted = (DEFAULT if asked is None else asked).strip().lower()
    found = [name for name in names if wanted and name.strip().lower() == wanted]
    check_distinct([wanted] * len(found), place)
    if not found and wanted and asked is not None:
        known = f", but {listed(names)}" if names else ""
        raise ValueError(f"{place} has no edge weights called {asked!r:.80}{known}; name one that it has, or leave weight out")
    return found[0] if found else None


def refuse_weight_name(asked: str | None, place: str) -> None:
    """ValueError if weights are asked for by a name where nothing has names."""
    if asked:
        raise ValueError(f"weight is {asked!r:.80}, but {place} has no names; leave it out, or '' to read no weights")


def warn_of_unused(names: Iterable[str], place: str, *, weighted: bool) -> None:
    """Names the edge columns that nobody reads, in one warning. A column without a name is a frame's count of its rows."""
    unused = [name for name in dict.fromkeys(names) if name.strip() and not name.startswith("__index_level_")]
    if unused:
        named = ", ".join(f"{name!r:.80}" for name in unused)
        hint = "" if weighted else "; if one of them holds weights, name it with weight= (--weight)"
        # The fifth frame is the caller of as_graph or read_graph.
        warnings.warn(f"{place}: edge columns that are not used: {named}{hint}", LocalGCLWarning, stacklevel=5)
