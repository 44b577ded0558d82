"""Tables that a screen reader can read: a caption, and headings with a scope. They scroll inside their own box."""

from collections.abc import Iterable, Sequence

from localgcl.report.markup import Markup, tag


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, numeric: Sequence[int] = ()) -> Markup:
    """A table whose first cell of each row is its heading; `numeric` columns are aligned at the right."""

    def kind(column: int) -> str | None:
        return "number" if column in numeric else None

    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row", class_=kind(0)),
            *(tag("td", cell, class_=kind(i)) for i, cell in enumerate(row[1:], start=1)),
        )
        for row in rows
    ]
    head = tag("tr", *(tag("th", name, scope="col", class_=kind(i)) for i, name in enumerate(heads)))
    whole = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body))
    return tag("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption)


def folded(summary: str, content: Markup) -> Markup:
    """Something to unfold."""
    return tag("details", tag("summary", summary), content)
