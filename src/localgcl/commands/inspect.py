"""`localgcl inspect`: what is in a user's files, before anything is trained."""

import argparse
from pathlib import Path

from localgcl.commands.options import SOURCE, add_source
from localgcl.commands.output import Result
from localgcl.datasets.source import Source
from localgcl.experiments.inspection import inspect
from localgcl.experiments.inspection.inspecting import PATIENCE
from localgcl.experiments.inspection.text import lines

DESCRIPTION = (
    "Read and check a graph before training: nodes, edges, components, degrees, labels and homophily; columns of features and "
    "how they would be encoded; the settings that would be used and why; memory and time that each method would take here. "
    "Problems are listed, with the way out of each; the first does not end the command. The edge file may be given without "
    "--edges."
)


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """A graph, and where it would be trained."""
    add_source(parser)
    parser.add_argument("--device", default="auto", help="cpu, cuda, cuda:1...; auto takes a GPU where there is one")
    parser.add_argument(
        "--seconds",
        type=float,
        default=PATIENCE,
        metavar="S",
        help=f"time steps of methods for so long, and leave out those that come later; 0 times none (default: {PATIENCE:g})",
    )


def run(options: argparse.Namespace) -> Result:
    """Inspects and prints. Exit code 0: problems are the result."""
    given = {name: getattr(options, name) for name in SOURCE}
    named = given["dataset"]
    if given["edges"] is None and named is not None and (Path(named).suffix or Path(named).is_file()):
        given |= {"dataset": None, "edges": named}
    found = inspect(Source(**given), device=options.device, seconds=options.seconds)
    for line in lines(found):
        print(line)
    return found
