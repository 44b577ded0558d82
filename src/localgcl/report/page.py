"""The report as one HTML page that opens from disk: styles, script and data are inside, and nothing is fetched."""

import base64
import hashlib
from collections.abc import Iterator
from importlib.resources import files

from localgcl._version import __version__
from localgcl.report import packing
from localgcl.report.findings import Findings, column_of_clusters
from localgcl.report.map import CATEGORIES, MISSING, OTHER, SEQUENCE
from localgcl.report.markup import Markup, empty, joined, part, tag

SCRIPTS = (
    "dom",
    "data",
    "colours",
    "camera",
    "points",
    "canvas",
    "overlay",
    "view",
    "tip",
    "index",
    "filter",
    "legend",
    "search",
    "panel",
    "pointer",
    "page",
    "main",
)
"""Parts of the script in `assets/`, in an order in which each uses only those before it."""
HINT = "Click a node, or find it by its id: its nearest nodes in the embedding and its neighbours in the graph appear here."
HELP = (
    "Drag to pan, wheel or pinch to zoom, double click to reset. Keys: arrows pan, + and - zoom, 0 resets, "
    "Enter selects the node nearest to the centre, Escape closes."
)
NO_WEBGL = "This browser has no WebGL, so the map draws at most 20,000 points at a time. Zoom in to see the others."


def page(findings: Findings) -> str:
    """The page. Time and size are linear in the nodes, edges and columns of the map."""
    style, script = _asset("style.css"), _script()
    # The policy lets the browser run this script and no other, and fetch nothing: even a missed escape could not do harm.
    policy = (
        f"default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src 'sha256-{_digest(style)}'; script-src 'sha256-{_digest(script)}'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"localgcl {__version__}"),
        tag("title", findings.title),
        tag("style", Markup(style)),
    )
    titles = {"map": "Map", **{name: section.link or section.title for name, section in findings.sections.items()}}
    links = tag("nav", *(tag("a", title, href=f"#{name}") for name, title in titles.items()), aria_label="Parts of this page")
    parts = (part(name, section.title, section.content) for name, section in findings.sections.items())
    body = tag(
        "body",
        tag("a", "Skip to the map", href="#map", class_="skip"),
        _header(findings),
        links,
        tag("main", explorer(findings), *parts),
        tag("footer", tag("p", f"Made by localgcl {__version__} from {findings.run}.")),
        first_blocks(findings),
        tag("script", Markup(script)),
        later_blocks(findings),
    )
    return joined(Markup("<!doctype html>\n"), tag("html", head, body, lang="en"), Markup("\n"))


def _header(findings: Findings) -> Markup:
    facts = (tag("div", tag("dt", name), tag("dd", value)) for name, value in findings.summary.items())
    theme = tag("button", "Dark", type="button", id="theme")
    head = tag("div", tag("div", tag("h1", findings.title), tag("p", findings.run, class_="run")), theme, class_="top")
    return tag("header", head, tag("dl", *facts, class_="facts"))


def _script() -> str:
    # One scope for all parts, hidden from the page.
    parts = "\n".join(_asset(f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _asset(name: str) -> str:
    return files("localgcl.report").joinpath("assets", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# The map: its controls, and the blocks of data that the browser reads


def explorer(findings: Findings) -> Markup:
    """The map with its search box, legend and panel; a note where there is nothing to show."""
    view = findings.map
    if not len(view.ids):
        return part("map", "Map", empty("The map has no nodes."))
    about = " ".join(filter(None, (view.shown, view.layout, view.nearest_note)))
    return part(
        "map", "Map", tag("div", _stage(len(view.ids)), _side(findings), class_="explorer"), tag("p", about, class_="quiet")
    )


def _stage(n: int) -> Markup:
    def tool(name: str, label: str, sign: str) -> Markup:
        return tag("button", sign, type="button", id=name, aria_label=label, title=label)

    canvas = tag(
        "canvas", id="points", tabindex=0, role="application", aria_label=f"Map of {n:,} nodes", aria_describedby="map-help"
    )
    tools = tag(
        "div",
        tool("zoom-in", "Zoom in", "+"),
        tool("zoom-out", "Zoom out", "\N{MINUS SIGN}"),
        tool("reset", "Show all", "⤢"),
        class_="tools",
    )
    status = tag(
        "p",
        tag("span", "Reading the map ...", id="count"),
        tag("button", "Show all", type="button", id="all", hidden=True),
        class_="status",
    )
    return tag(
        "div",
        canvas,
        tag("canvas", id="overlay", aria_hidden="true"),
        tag("div", id="ring", class_="ring", hidden=True),
        tag("div", id="tip", class_="tip", hidden=True),
        tools,
        status,
        tag("p", NO_WEBGL, id="no-webgl", class_="warning", role="status", hidden=True),
        tag("p", HELP, id="map-help", class_="help"),
        tag("noscript", tag("p", "The map needs JavaScript.", class_="warning")),
        id="stage",
        class_="stage",
    )


def _side(findings: Findings) -> Markup:
    options = [tag("option", column.name, value=i) for i, column in enumerate(findings.map.columns)]
    search = tag(
        "input",
        id="search",
        type="search",
        role="combobox",
        placeholder="id of a node",
        autocomplete="off",
        spellcheck="false",
        aria_expanded="false",
        aria_controls="matches",
        aria_autocomplete="list",
    )
    matches = tag("ul", id="matches", class_="matches", role="listbox", aria_label="Nodes found", hidden=True)
    find = tag("div", tag("label", "Find a node", for_="search"), search, matches, class_="field find")
    chosen = tag("select", *options, id="colour")
    colour = tag("div", tag("label", "Colour by", for_="colour"), chosen, class_="field", hidden=not options)
    return tag(
        "div",
        tag("div", find, colour, class_="fields"),
        tag("div", id="legend", class_="legend", role="group", aria_label="Legend and filter"),
        tag("div", id="selection", class_="selection", role="region", aria_label="Selected node", data_hint=HINT),
        tag("p", id="said", class_="unseen", aria_live="polite"),
        class_="side",
    )


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
