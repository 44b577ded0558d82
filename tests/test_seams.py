"""Rooms ask each other; they do not look inside.

What others need to know of a method or an encoder is a method of it. Outside `methods/` and `nn/` nobody compares the name of
one, reads the options of a method, or asks for its class: a new one would not be among those that were thought of.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import localgcl
from localgcl.graph.mapped import MappedGraph
from localgcl.methods import METHODS
from localgcl.methods.base import Method
from localgcl.nn.encoders import ENCODERS
from localgcl.nn.layers import Encoder, Layers
from localgcl.system.team import Team
from localgcl.training.ranks import Ranks

ROOT = Path(localgcl.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in ("methods", "nn"))
NAMES = {*METHODS, *ENCODERS}
CLASSES = {kind.__name__ for kind in (*METHODS.values(), *ENCODERS.values(), Method, Encoder, Layers, MappedGraph, Ranks, Team)}


def sniffs(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines that look inside a method or an encoder, and how."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            words = {part.value for side in sides for part in ast.walk(side) if isinstance(part, ast.Constant)}
            if words & NAMES:
                yield node.lineno, "name"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            # config.options.masked, or model.method.options.x
            owner = node.value.value
            named = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
            if node.value.attr == "options" and named in ("config", "method"):
                yield node.lineno, "options"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if (
                node.func.id in ("getattr", "hasattr")
                and isinstance(node.args[0], ast.Attribute)
                and node.args[0].attr == "options"
            ):
                yield node.lineno, "options"
            elif node.func.id == "isinstance" and any(
                isinstance(part, ast.Name) and part.id in CLASSES for part in ast.walk(node.args[1])
            ):
                yield node.lineno, "class"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nobody_looks_inside_methods_and_encoders(path: Path) -> None:
    assert list(sniffs(ast.parse(path.read_text()))) == []


@pytest.mark.parametrize(
    "line",
    [
        'config.encoder.encoder == "hops"',
        'method in ("grace", "gca")',
        "config.options.masked > 0",
        'getattr(config.options, "mode", None)',
        "isinstance(graph, MappedGraph)",
        "isinstance(method, RawFeatures | SUGRL)",
        "isinstance(team, Ranks)",
    ],
)
def test_what_looks_inside_is_found(line: str) -> None:
    assert list(sniffs(ast.parse(line)))
