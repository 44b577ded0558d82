"""The report as one HTML page that opens from disk: styles, script and data are inside, and nothing is fetched."""

import base64
import hashlib
from importlib.resources import files

from localgcl._version import __version__
from localgcl.report.explorer import explorer, first_blocks, later_blocks
from localgcl.report.findings import Findings
from localgcl.report.markup import Markup, joined, part, tag

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
