"""`localgcl convert`: from tables of any size to a graph folder."""

import argparse
import shlex

from localgcl.commands.options import add_columns, read_columns
from localgcl.commands.output import Result, sayer
from localgcl.io.folder.convert import convert
from localgcl.io.folder.inputs import parse_bytes
from localgcl.system.text import shown

DESCRIPTION = (
    "Make a graph folder of edge and feature tables that need not fit in memory. Every command takes the folder where it takes "
    "a data set. Repeat the command to go on after an interruption."
)


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """Tables, and where to write."""
    parser.add_argument(
        "edges",
        metavar="EDGES",
        help="edges with columns source,target: a file (csv, tsv, parquet, npy, npz), or a glob in quotes",
    )
    parser.add_argument(
        "--features",
        metavar="F",
        help="features, node ids in the first column or in --id: a file or a glob (without it: structural features)",
    )
    parser.add_argument("--labels", metavar="F", help="labels, node ids in the first column or in --id: a file or a glob")
    add_columns(parser)
    parser.add_argument("--out", metavar="DIR", required=True, help="graph folder to write")
    parser.add_argument("--name", default="", help="name of the graph (default: that of the edge file, or of DIR for a glob)")
    parser.add_argument(
        "--memory", metavar="SIZE", help="memory to take, such as 4GiB (default: half of what is free, at least 1GiB)"
    )
    parser.add_argument("--overwrite", action="store_true", help="start over: remove the graph that convert made in DIR")


def run(options: argparse.Namespace) -> Result:
    """Converts, and prints what the folder holds."""
    say = sayer(options)
    header = convert(
        options.edges,
        options.out,
        features=options.features,
        labels=options.labels,
        weight=options.weight,
        columns=read_columns(options),
        name=options.name,
        memory=None if options.memory is None else parse_bytes(options.memory),
        overwrite=options.overwrite,
        say=say,
        progress_bar=not options.quiet,
    )
    dropped = f", {header.loops:,} self-loops left out" if header.loops else ""
    say(f"{shown(options.out)}: {header.nodes:,} nodes, {header.edges:,} directed edges{dropped}, {header.features:,} features")
    say(f"next: localgcl train {shlex.quote(shown(options.out))}")
    return {"folder": options.out, **{name: getattr(header, name) for name in ("name", "nodes", "edges", "loops", "features")}}
