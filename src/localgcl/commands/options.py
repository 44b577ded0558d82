"""Options of the command line, made from the dataclasses of `config`, so that an option has one home."""

import argparse
import dataclasses
import types
import typing
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from localgcl.config import EncoderOptions, Preparation, TrainingOptions, choices
from localgcl.datasets.source import Source, named_columns
from localgcl.io.roles import Columns
from localgcl.methods import DEFAULT, find_method
from localgcl.recipes import length_for
from localgcl.system.files import check_there
from localgcl.training.engines import ENGINES, Engine, choose_engine

Group = TypeVar("Group")

SOURCE = ("dataset", "edges", "features", "labels", "weight", "source", "target", "id", "drop", "encode")
"""Names of the options that `add_source` adds: the fields of `Source`."""
ENGINE = ("engine", "workers")
"""Names of the options that `add_engine` adds."""


def early_method(arguments: list[str]) -> str:
    """The value of --method, read before all else: it decides which other options exist."""
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    early.add_argument("--method", default=DEFAULT)
    method: str = early.parse_known_args(arguments)[0].method
    return method


def add_source(parser: argparse.ArgumentParser) -> None:
    """Adds options that name a data set or the user's own files."""
    parser.add_argument(
        "dataset",
        nargs="?",
        metavar="DATASET",
        help="a name from localgcl datasets, a graph folder, or an edge file; more files of your own:",
    )
    parser.add_argument("--edges", metavar="F", help="edge file with columns source,target (csv, tsv, parquet, npy, npz)")
    parser.add_argument(
        "--features",
        metavar="F",
        help="feature file; node ids in its first column or in --id (without it: structural features)",
    )
    parser.add_argument(
        "--labels", metavar="F", help="label file; node ids in its first column or in --id; training ignores it"
    )
    add_columns(parser)


def read_source(options: argparse.Namespace) -> Source:
    """The graph that `add_source` read; an edge file may stand in the place of the data set.

    Files that do not exist are refused here, before the others are read.
    """
    given = {name: getattr(options, name) for name in SOURCE}
    if given["edges"] is None and given["dataset"] is not None and Path(given["dataset"]).is_file():
        given |= {"dataset": None, "edges": given["dataset"]}
    source = Source(**given)
    for path in (source.edges, source.features, source.labels):
        if path is not None:
            check_there(path)
    return source


def add_columns(parser: argparse.ArgumentParser) -> None:
    """Adds options that name the columns of the user's files."""
    parser.add_argument(
        "--weight", metavar="COLUMN", help="column of edge weights (default: weight, if there is one; '' reads no weights)"
    )
    parser.add_argument("--source", metavar="COLUMN", help="column of the nodes that edges leave (default: source)")
    parser.add_argument("--target", metavar="COLUMN", help="column of the nodes that edges enter (default: target)")
    add_id(parser)
    parser.add_argument("--drop", metavar="NAMES", help="columns of features to leave out, with commas between")
    parser.add_argument(
        "--encode",
        metavar="HOW",
        help="auto: turn booleans, dates, categories and empty cells of features into numbers; or encoding.json of a run",
    )


def add_id(parser: argparse.ArgumentParser) -> None:
    """Adds the option that names the column of node ids."""
    parser.add_argument("--id", metavar="COLUMN", help="column of node ids in other files than edges (default: the first)")


def read_columns(options: argparse.Namespace) -> Columns:
    """The columns that `add_columns` read, except that of weights."""
    return named_columns(options.source, options.target, options.id, options.drop, options.encode)


def add_settings(parser: argparse.ArgumentParser, method: str, *, title: str = "", without: Collection[str] = ()) -> None:
    """Adds every setting of a run by this method. Help texts name the values of a run without a recipe."""
    kind = find_method(method)
    chosen = dict.fromkeys(kind.chosen_names, "chosen from the graph")
    defaults = {**chosen, **kind.defaults, **length_for(method)}
    groups = {"graph": Preparation, "encoder": EncoderOptions, "training": TrainingOptions, method: kind.Options}
    for name, group in groups.items():
        add_group(parser, f"{title}{name}", group, defaults, without=without)


def add_group(
    parser: argparse.ArgumentParser,
    title: str,
    group: type,
    defaults: Mapping[str, Any] = types.MappingProxyType({}),
    *,
    without: Collection[str] = (),
) -> None:
    """Adds an option for each field of the dataclass `group`. Help texts name `defaults` where they hold the field.

    An option that is not given is absent from the namespace: a recipe or the dataclass fills it in (see `read_group`).

    Raises:
        ValueError: The parser has an option of that name already, such as those that name files of the graph.
    """
    section = parser.add_argument_group(f"{title} options")
    for field in dataclasses.fields(group):
        flag = f"--{field.name.replace('_', '-')}"
        if field.name in without:
            continue
        if flag in parser._option_string_actions:  # argparse has no public name for them
            raise ValueError(f"{title} has an option {field.name!r}, and the command has another {flag}; call it otherwise")
        text = _help(field, defaults.get(field.name, field.default))
        section.add_argument(flag, default=argparse.SUPPRESS, help=text, **_reading(field))


def read_group(options: argparse.Namespace, group: type[Group]) -> Group:
    """The dataclass `group` with the options that were given; the others keep their defaults."""
    # argparse makes a list of an option that takes several values.
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in vars(options).items()}
    return group(**{field.name: given[field.name] for field in dataclasses.fields(group) if field.name in given})  # type: ignore[arg-type]


def _help(field: "dataclasses.Field[Any]", default: Any) -> str:
    shown = " ".join(map(str, default)) if isinstance(default, tuple) else default
    text: str = field.metadata["help"]
    return (text if shown in (None, "") else f"{text} (default: {shown})").replace("%", "%%")


def _reading(field: "dataclasses.Field[Any]") -> dict[str, Any]:
    """How argparse reads a value of the field's type: a switch, one of several words, a value, or one or more of them."""
    allowed, kind = choices(field), field.type
    if allowed:
        return {"choices": allowed}
    if kind is bool:
        return {"action": argparse.BooleanOptionalAction}
    if isinstance(kind, types.UnionType):  # X | None: not given unless it is
        (kind,) = (part for part in typing.get_args(kind) if part is not types.NoneType)
    several = typing.get_origin(kind) is tuple
    kind = typing.get_args(kind)[0] if several else kind
    assert isinstance(kind, type), field.name
    value = {"type": kind, "metavar": field.metadata.get("metavar") or kind.__name__.upper()}
    return {**value, "nargs": "+"} if several else value


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Adds options that name an engine and its number of workers."""
    section = parser.add_argument_group("engine")
    section.add_argument(
        "--engine", choices=list(ENGINES), help="ray: run on the cluster of RAY_ADDRESS, or on one started on this machine"
    )
    section.add_argument("--workers", type=int, metavar="K", help="processes on the cluster")


def read_engine(options: argparse.Namespace) -> Engine:
    """The engine that was asked for, or that of this process."""
    given = vars(options)
    return choose_engine(options.engine, options.workers, given.get("threads") or 1, given.get("device", "auto"))
