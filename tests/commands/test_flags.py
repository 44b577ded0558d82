"""Messages and help texts name options that exist."""

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import localgcl
import paper
from localgcl.commands import COMMANDS, command_parser, module_parser
from localgcl.methods import METHODS
from paper.__main__ import chosen

SOURCES = Path(localgcl.__file__).parent, Path(paper.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
OF_OTHERS = {
    "--no-index",
    "--show-toplevel",
    "--porcelain",
    "--nproc-per-node",
    "--nnodes",
    "--rdzv-endpoint",
    "--max-restarts",
    "--version",
}
"""Options of git and torchrun, and that of `localgcl` itself."""


@pytest.fixture(scope="module")
def known() -> set[str]:
    """The options of all commands, whatever the method."""
    found: set[str] = set()
    for command in COMMANDS:
        for method in METHODS if command in ("train", "tune") else ["local-gcl"]:
            found |= set(command_parser(command, ["--method", method])[0]._option_string_actions)
    for arguments in ((), ("bench",)):
        found |= set(module_parser(*chosen(arguments))[0]._option_string_actions)
    return found


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Every text of a module with its line, docstrings and texts with values in them too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def test_every_option_that_a_text_names_exists(known: set[str]) -> None:
    wrong = [
        f"{path.relative_to(source.parent)}:{line}: {flag}"
        for source in SOURCES
        for path in sorted(source.rglob("*.py"))
        for line, text in texts(path)
        for flag in FLAG.findall(text)
        if flag not in known | OF_OTHERS and not flag.endswith("-")  # a text may end within a name
    ]
    assert wrong == []


def test_a_wrong_name_would_be_found() -> None:
    assert FLAG.findall("give --dim 3, or --no-such-option; a--b is none") == ["--dim", "--no-such-option"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_a_help_text(command: str) -> None:
    parser, _ = command_parser(command, [])
    silent = [action.option_strings or action.dest for action in parser._actions if not action.help]
    assert silent == []
    assert argparse.SUPPRESS not in [action.help for action in parser._actions]
