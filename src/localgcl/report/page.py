"""The report as one HTML page that opens from disk: styles, script and data are inside, and nothing is fetched."""

import base64
import hashlib
import string
from collections.abc import Iterator
from importlib.resources import files

from localgcl._version import __version__
from localgcl.report import packing
from localgcl.report.findings import Findings, column_of_clusters
from localgcl.report.map import CATEGORIES, MISSING, OTHER, SEQUENCE
from localgcl.report.markup import Markup, empty, escaped, joined, part, tag

SCRIPTS = (
    *("dom", "data", "colours", "camera", "points", "canvas", "overlay", "view", "tip", "index", "filter", "legend", "search"),
    *("panel", "pointer", "page", "main"),
)
"""Parts of the script in `assets/`, in an order in which each uses only those before it."""


def page(findings: Findings) -> str:
    """The page. Time and size are linear in the nodes, edges and columns of the map."""
    style, script = _asset("style.css"), _script()
    # The policy lets the browser run this script and no other, and fetch nothing: even a missed escape could not do harm.
    policy = (
        f"default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src 'sha256-{_digest(style)}'; script-src 'sha256-{_digest(script)}'"
    )
    titles = {"map": "Map", **{name: section.link or section.title for name, section in findings.sections.items()}}
    return (
        _filled(
            "page.html",
            policy=policy,
            version=__version__,
            title=findings.title,
            style=Markup(style),
            run=findings.run,
            facts=joined(*(tag("div", tag("dt", name), tag("dd", value)) for name, value in findings.summary.items())),
            links=joined(*(tag("a", title, href=f"#{name}") for name, title in titles.items())),
            map=part("map", "Map", _map(findings)),
            parts=joined(*(part(name, section.title, section.content) for name, section in findings.sections.items())),
            first=first_blocks(findings),
            script=Markup(script),
            later=later_blocks(findings),
        )
        + "\n"
    )


def _map(findings: Findings) -> Markup:
    """The map with its search box, legend and panel; a note where there is nothing to show."""
    view = findings.map
    if not len(view.ids):
        return empty("The map has no nodes.")
    return _filled(
        "map.html",
        nodes=f"{len(view.ids):,}",
        hidden=Markup("" if view.columns else " hidden"),
        options=joined(*(tag("option", column.name, value=i) for i, column in enumerate(view.columns))),
        about=" ".join(filter(None, (view.shown, view.layout, view.nearest_note))),
    )


def _filled(name: str, **parts: str) -> Markup:
    """A template of `assets/` without its indentation, whose $names are replaced by these parts, escaped."""
    template = string.Template("".join(line.strip() for line in _asset(name).splitlines()))
    return Markup(template.substitute({key: escaped(text) for key, text in parts.items()}))


def _script() -> str:
    # One scope for all parts, hidden from the page.
    parts = "\n".join(_asset(f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _asset(name: str) -> str:
    return files("localgcl.report").joinpath("assets", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# The blocks of data that the browser reads


def first_blocks(findings: Findings) -> Markup:
    """The blocks that the first picture and the first hover need."""
    view = findings.map
    if not len(view.ids):
        return Markup()
    about = {
        "n": len(view.ids),
        "columns": [{"name": column.name, "classes": column.classes} for column in view.columns],
        "clusters": column_of_clusters(view.columns, findings.clusters),
        "steps": packing.STEPS,
        "palette": {
            "categories": CATEGORIES,
            "other": OTHER,
            "missing": MISSING,
            "sequence": SEQUENCE,
        },
    }
    blocks = {"about": packing.text(about), "xy": packing.positions(view.xy), "ids": packing.text(list(view.ids))}
    return _blocks({**blocks, **dict(_columns(findings, 0, 1))})


def later_blocks(findings: Findings) -> Markup:
    """All other blocks, which stand behind the script and are read when they are asked for."""
    view = findings.map
    if not len(view.ids):
        return Markup()
    graph = packing.edges(view.indptr, view.indices)
    return _blocks({**dict(_columns(findings, 1, len(view.columns))), **packing.nearest(view), **graph})


def _columns(findings: Findings, start: int, end: int) -> Iterator[tuple[str, str]]:
    for i, column in list(enumerate(findings.map.columns))[start:end]:
        packed = packing.column(column)
        yield f"column-{i}", packed["places"]
        if "table" in packed:
            yield f"table-{i}", packed["table"]


def _blocks(blocks: dict[str, str]) -> Markup:
    # Base64 holds no character that HTML reads, and browsers do not run this type.
    return joined(*(tag("script", Markup(text), type="text/plain", id=f"block-{name}") for name, text in blocks.items()))
