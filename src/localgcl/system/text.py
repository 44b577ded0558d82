"""Text of users in messages: file names, column names, ids and cells, shown so that a terminal prints them and nothing more."""

import re
from collections.abc import Iterable
from typing import Any

_LISTED = 6


def shown(value: Any) -> str:
    r"""The text of `value` with every character that does not print written as its escape, as `repr` does, without quotes.

    A file name or a cell may hold terminal escape codes, line breaks or bytes that are no text. Printed as they are, they
    could move the cursor, recolour the screen or forge a line of output. Python's `!r` does the same where quotes are wanted.

    Example:
        >>> print(shown("red\x1b[31m.csv"))
        red\x1b[31m.csv
    """
    text = str(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def folder_name(name: str) -> str:
    """The name of a graph as that of a folder: one step down and no other, on every system.

    Example:
        >>> folder_name("cora"), folder_name(".."), folder_name("../a/b")
        ('cora', 'graph', 'a-b')
    """
    # Separators, what Windows forbids in names, and what does not print.
    safe = re.sub(r'[\\/:*?"<>|]', "-", "".join(c if c.isprintable() else "-" for c in name))
    return safe.strip(" .-") or "graph"


def listed(names: Iterable[str]) -> str:
    """At most six names, quoted and escaped; the number of all where there are more.

    Example:
        >>> listed(["a", "b"]), listed(str(i) for i in range(9))
        ("'a', 'b'", "'0', '1', '2', '3', '4', '5'... (9 in all)")
    """
    names = list(names)
    quoted = ", ".join(f"{name!r:.80}" for name in names[:_LISTED])
    return quoted if len(names) <= _LISTED else f"{quoted}... ({len(names)} in all)"
