"""`localgcl methods`: the methods, and what a step of each costs."""

import argparse
import dataclasses

from localgcl.commands.options import add_group, read_group
from localgcl.commands.output import Result, aligned
from localgcl.config import MOST_NODES, WIDEST, Checked, option
from localgcl.methods import overview, step_bytes

DESCRIPTION = "The methods that can be named with --method, and what a step costs on a graph of your size."


@dataclasses.dataclass(frozen=True)
class SizeOptions(Checked):
    """The size of a graph; by default that of ogbn-arxiv."""

    nodes: int = option(169_343, "number of nodes", low=1, high=MOST_NODES, metavar="N")
    edges: int = option(2_315_598, "number of edges, both directions counted", low=0, high=1000 * MOST_NODES, metavar="N")
    features: int = option(128, "number of feature columns", low=1, high=MOST_NODES, metavar="N")
    dim: int = option(256, "embedding dimension", low=1, high=WIDEST, metavar="N")


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """The size of a graph."""
    add_group(parser, "size", SizeOptions)


def run(given: argparse.Namespace) -> Result:
    """Prints a line a method."""
    options = read_group(given, SizeOptions)
    rows = overview(options.nodes, options.edges, options.features, options.dim)
    for line in aligned(rows):
        print(line)
    size = f"{options.nodes:,} nodes, {options.edges:,} edges, {options.features:,} features, dim {options.dim}"
    print(f"(memory: estimated for {size})")
    methods = []
    for name, augments, _, cost, idea, paper in rows[1:]:
        memory = step_bytes(name, options.nodes, options.edges, options.features, options.dim)
        described = {"augments": augments == "yes", "cost": cost, "idea": idea, "paper": paper}
        methods.append({"method": name, "step_bytes": {form or "whole": size for form, size in memory.items()}, **described})
    return {"size": options, "methods": methods}
