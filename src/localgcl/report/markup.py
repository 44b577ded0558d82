"""HTML by functions. What is not `Markup` already is escaped, so that no string of a user's can become a tag."""

import html
from typing import TypeAlias

Attribute: TypeAlias = str | float | bool | None

VOID = frozenset({"br", "input", "link", "meta"})
"""Elements without an end."""


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
