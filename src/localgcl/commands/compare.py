"""`localgcl compare`: from a graph to a table of methods."""

import argparse
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from localgcl.commands.options import add_group, add_source, read_group, read_source
from localgcl.commands.output import Result, sayer
from localgcl.experiments.compare import compare
from localgcl.experiments.compare.contest import CompareOptions
from localgcl.system.files import check_writable
from localgcl.system.text import folder_name, shown

DESCRIPTION = (
    "Train methods on one graph with several seeds, without labels, and score all of them by one evaluator, beside the "
    "untrained encoder and the raw features. Repeat the command to go on after an interruption."
)


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """A graph, and what to compare on it."""
    add_source(parser)
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="NAME=VALUE", help="settings of all methods, or of one: METHOD.NAME=VALUE"
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder of compare.csv and of the table as .md, .tex and .csv (default: comparisons/NAME)"
    )
    add_group(parser, "comparison", CompareOptions)


def run(given: argparse.Namespace) -> Result:
    """Trains and scores what is missing, then prints the table."""
    options = read_group(given, CompareOptions)
    source = read_source(given)
    out = Path(given.out or Path("comparisons") / folder_name(source.name))
    check_writable(out)
    say = sayer(given)
    found = compare(source, settings=_settings(given.set), out=out, say=say, **vars(options))
    print(f"\n{found}")
    say(f"written: {shown(out / 'compare.csv')}, and the table as compare-table.md, .tex and .csv beside it")
    lines = [{name: _number(value) for name, value in line.numbers().items()} for line in found.lines]
    names = ("graph", "protocol", "evaluator", "reference", "seeds")
    return {"folder": out, **{name: getattr(found, name) for name in names}, "methods": lines}


def _number(cell: Any) -> Any:
    """A cell of the table as a number where it is one; None where it is empty."""
    if cell == "":
        return None
    try:
        return float(cell) if isinstance(cell, str) else cell
    except ValueError:
        return cell


def _settings(given: Sequence[str]) -> dict[str, Any]:
    """Settings by name. A value is read as TOML, and what is no TOML is text, so that words need no quotes."""
    settings: dict[str, Any] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise ValueError(f"--set has {pair!r:.100}; give NAME=VALUE, for example steps=100 or grace.temperature=0.4")
        settings[name] = _value(value)
    return settings


def _value(text: str) -> Any:
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # also an integer of thousands of digits, and thousands of brackets
        return text
    return read["value"] if len(read) == 1 else text
