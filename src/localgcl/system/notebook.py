"""Tables for notebooks. They have no colours of their own, so that they suit light and dark themes."""

import html
from collections.abc import Iterable, Sequence


def html_table(
    rows: Iterable[Sequence[object]], *, caption: str = "", header: Sequence[object] = (), notes: Iterable[object] = ()
) -> str:
    """An HTML table. Every cell is escaped: names of nodes and columns are the user's, and may hold anything.

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
