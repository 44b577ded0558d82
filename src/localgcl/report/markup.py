"""HTML by functions. Text that is not `Markup` is escaped, so that no string of a user can become a tag."""

import html
from collections.abc import Iterable, Sequence
from typing import TypeAlias

Attribute: TypeAlias = str | float | bool | None

VOID = frozenset({"br", "input", "link", "meta"})
"""Elements without an end tag."""


class Markup(str):
    """Text that is HTML already."""


def tag(name: str, /, *children: str, **attributes: Attribute) -> Markup:
    """An element. `class_` is written class, `data_copy` data-copy. True is an attribute without a value, False or None none.

    >>> print(tag("p", "a < b", tag("b", "!"), class_="note"))
    <p class="note">a &lt; b<b>!</b></p>
    """
    written = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    if name in VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{''.join(escaped(child) for child in children)}</{name}>")


def joined(*parts: str) -> Markup:
    """Several pieces, one after the other."""
    return Markup("".join(escaped(part) for part in parts))


def escaped(text: str) -> Markup:
    """The text as HTML shows it."""
    if isinstance(text, Markup):
        return text
    # Half a surrogate pair, which a file name can hold, cannot be written as UTF-8.
    return Markup(html.escape(text.encode("utf-8", "replace").decode("utf-8")))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    return f' {name}="{escaped(str(value))}"'


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, numeric: Sequence[int] = ()) -> Markup:
    """A table for eyes and screen readers, which scrolls in its own box; `numeric` columns are aligned at the right.

    It has a caption and headings with a scope; the first cell of each row is the row's heading.
    """

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


def part(name: str, title: str, *content: str) -> Markup:
    """A part of the page under a heading."""
    heading = tag("h2", title, id=f"{name}-title")
    return tag("section", heading, *content, id=name, aria_labelledby=f"{name}-title")


def empty(why: str) -> Markup:
    """Why there is nothing to show."""
    return tag("p", why or "This run does not have it.", class_="empty")


def copied(name: str, title: str, text: str) -> Markup:
    """Text with a button that copies it."""
    button = tag("button", "Copy", type="button", data_copy=name, aria_label=f"Copy {title}")
    head = tag("div", tag("h3", title), button, class_="copy-head")
    return tag("div", head, tag("pre", tag("code", text, id=name), tabindex=0, aria_label=title), class_="copied")


def folded(summary: str, content: Markup) -> Markup:
    """Something to unfold."""
    return tag("details", tag("summary", summary), content)
