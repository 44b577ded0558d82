"""Sphinx extension: formulas become MathML while the pages are built.

Browsers draw MathML themselves, so a page needs neither a script nor a network. Not every machine has a font for
mathematics, so the pages bring one: STIX Two Math, from the package ziamath. A formula that cannot be converted is a warning,
and `make docs` makes warnings errors.
"""

import re
from pathlib import Path
from typing import Any

import ziamath
from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

FONTS = Path(ziamath.__file__).parent / "fonts"  # style.css names the font
# The converter sets "log x" as "logx": a name of a function gets its space, unless a bracket follows.
_FUNCTION = re.compile(r"(<mi>(?:log|exp|cos|sin|max|min)</mi>)(?!</|<mo stretchy=\"false\">&#x00028;|<mo>&#x02061;)")


def mathml(formula: str, *, block: bool) -> str:
    """The MathML of a LaTeX formula.

    Raises:
        ValueError: If the converter does not know a command: it would leave the command in the page as it is.
    """
    try:
        converted = convert(formula, display="block" if block else "inline")
    except Exception as error:  # the converter has an exception class for each fault of a formula
        raise ValueError(f"not LaTeX: {formula!r} ({type(error).__name__})") from error
    if "\\" in converted:
        raise ValueError(f"latex2mathml does not know a command of {formula!r}; write it with others")
    converted = converted.replace("<mo>&#x0002F;</mo>", '<mo lspace="0" rspace="0">&#x0002F;</mo>')  # 1/x and not 1 / x
    return _FUNCTION.sub(r'\1<mspace width="0.17em"/>', converted)


def _write(writer: Any, node: nodes.math | nodes.math_block, *, block: bool) -> None:
    try:
        writer.body.append(mathml(node.astext(), block=block))
    except ValueError as error:
        logging.getLogger(__name__).warning(str(error), location=node)
    raise nodes.SkipNode


def _inline(writer: Any, node: nodes.math) -> None:
    _write(writer, node, block=False)


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append('<div class="formula">')  # a wide formula scrolls in its box
    try:
        _write(writer, node, block=True)
    finally:
        writer.body.append("</div>\n")


def setup(app: Any) -> dict[str, bool]:
    """Sphinx calls this."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
