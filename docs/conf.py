"""Sphinx settings. Docstrings are Google style with $...$ mathematics; the hook below makes them reStructuredText."""

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # for mathml

from mathml import FONTS

from localgcl import __version__

project = "localgcl"
author = "The localgcl authors"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mathml", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "methods"]  # methods/*.md are parts of which-method.md
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"localgcl {__version__}"
html_static_path = ["_static", str(FONTS)]
html_css_files = ["style.css"]

default_role = "code"  # `name` in a docstring is code
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 100
napoleon_custom_sections = [("Shapes", "params_style")]

_COLON = "\ue000"  # a character no docstring holds
_DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
# Code spans come first, so that a dollar or a bar inside one is left alone.
_INLINE = re.compile(r"``[^`]+``|`[^`]+`|(?<![\\$])\$([^$]+?)\$|\|", re.DOTALL)


def _markup(text: str) -> str:
    """$x$ as :math:`x`, and bars escaped: O(|E|) would ask reStructuredText for a substitution called E."""

    def replace(match: re.Match[str]) -> str:
        if match[1] is not None:
            return f":math:`{' '.join(match[1].split())}`"
        return r"\|" if match[0] == "|" else match[0]

    return _INLINE.sub(replace, text)


def mathematics(_app: Any, what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Rewrites one docstring in place; runs before napoleon. Doctests are left as they are."""
    if what in ("property", "attribute", "data") and lines:
        lines[0] = lines[0].replace(":", _COLON)  # napoleon would take what stands before a colon for a type
    parts = _DISPLAY.split("\n".join(lines))
    out: list[str] = []
    for index, part in enumerate(parts):
        if index % 2:
            out += ["", ".. math::", "", "   " + " ".join(part.split()), ""]
            continue
        prose: list[str] = []
        for line in [*part.split("\n"), None]:
            if line is not None and not line.lstrip().startswith((">>>", "...", "===")):
                prose.append(line)
                continue
            out += _markup("\n".join(prose)).split("\n") if prose else []
            out += [] if line is None else [line]
            prose = []
    lines[:] = out


def colons(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Puts back, after napoleon, the colons that `mathematics` hid."""
    lines[:] = [line.replace(_COLON, ":") for line in lines]


def setup(app: Any) -> None:
    """Sphinx calls this."""
    app.connect("autodoc-process-docstring", mathematics, priority=100)
    app.connect("autodoc-process-docstring", colons, priority=900)
