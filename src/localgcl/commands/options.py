"""Options of the command line, made from the dataclasses of `config`, so that an option has one home."""

import argparse
import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from localgcl.config import choices


def early_method(arguments: list[str]) -> str:
    """The value of --method, which decides what other options exist."""
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    early.add_argument("--method", default="local-gcl")
    method: str = early.parse_known_args(arguments)[0].method
    return method


def add_source(parser: argparse.ArgumentParser) -> None:
    """A data set, or the user's own files."""
    parser.add_argument("dataset", nargs="?", metavar="DATASET", help="a name from localgcl datasets; or give your own files:")
    parser.add_argument("--edges", metavar="F", help="edge file with columns source,target (csv, tsv, parquet, npy, npz)")
    parser.add_argument(
        "--features", metavar="F", help="feature file, first column the node id (without it: structural features)"
    )
    parser.add_argument("--labels", metavar="F", help="label file, first column the node id; used by evaluate only")


def add_group(
    parser: argparse.ArgumentParser, title: str, group: type, defaults: Mapping[str, Any], *, without: Collection[str] = ()
) -> None:
    """One option a field, with the method's own default where it has one. Options not given are left to recipes to fill."""
    section = parser.add_argument_group(f"{title} options")
    for field in dataclasses.fields(group):
        if field.name in without:
            continue
        flag, kind, text = f"--{field.name.replace('_', '-')}", field.type, field.metadata["help"]
        text = f"{text} (default: {defaults.get(field.name, field.default)})".replace("%", "%%")
        if kind is bool:
            section.add_argument(flag, action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS, help=text)
        elif choices(kind):
            section.add_argument(flag, choices=choices(kind), default=argparse.SUPPRESS, help=text)
        else:
            assert isinstance(kind, type)
            section.add_argument(flag, type=kind, default=argparse.SUPPRESS, metavar=kind.__name__.upper(), help=text)
