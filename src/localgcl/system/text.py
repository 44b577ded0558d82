"""Text of users, such as file names, column names, ids and cells: safe to print on a terminal and to show in a notebook."""

import html
import re
from collections.abc import Iterable, Sequence
from typing import Any

_LISTED = 6


def shown(value: Any) -> str:
    r"""`value` as text, its unprintable characters escaped as by `repr`, but without quotes.

    A file name or a cell may hold terminal escape codes, line breaks or bytes that are no text. Printed as they are, they
    could move the cursor, recolour the screen or forge a line of output. Python's `!r` does the same where quotes are wanted.

    Example:
        >>> print(shown("red\x1b[31m.csv"))
        red\x1b[31m.csv
    """
    text = str(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def folder_name(name: str) -> str:
    """A graph's name as a folder name that is valid on every system and leads nowhere else.

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


def html_table(
    rows: Iterable[Sequence[object]], *, caption: str = "", header: Sequence[object] = (), notes: Iterable[object] = ()
) -> str:
    """An HTML table for notebooks, without colours of its own, so that it suits light and dark themes.

    Every cell is escaped: names of nodes and columns are the user's, and may hold anything.

    Args:
        rows: The cells of each row. The first cell of a row is its heading.
        caption: A line above.
        header: The headings of the columns; none if empty.
        notes: Paragraphs below.

    Example:
        >>> html_table([("nodes", 3)], caption="<b>")
        '<table><caption>&lt;b&gt;</caption><tbody><tr><th scope="row">nodes</th><td>3</td></tr></tbody></table>'
    """
    head = "".join(f'<th scope="col">{_escaped(cell)}</th>' for cell in header)
    body = "".join(_row(row) for row in rows)
    return (
        "<table>"
        + (f"<caption>{_escaped(caption)}</caption>" if caption else "")
        + (f"<thead><tr>{head}</tr></thead>" if head else "")
        + f"<tbody>{body}</tbody></table>"
        + "".join(f"<p><small>{_escaped(note)}</small></p>" for note in notes)
    )


def _row(cells: Sequence[object]) -> str:
    first, *others = cells
    return f'<tr><th scope="row">{_escaped(first)}</th>' + "".join(f"<td>{_escaped(cell)}</td>" for cell in others) + "</tr>"


def _escaped(cell: object) -> str:
    return html.escape(str(cell))
