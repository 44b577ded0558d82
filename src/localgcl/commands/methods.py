"""`localgcl methods`: the methods, and what a step of each costs."""

import argparse

from localgcl.methods.overview import overview

DESCRIPTION = "The methods that can be named with --method, and what a step costs on a graph of your size."


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """The size of a graph; by default that of ogbn-arxiv."""
    sizes = (
        ("nodes", 169_343, "number of nodes"),
        ("edges", 2_315_598, "number of edges, both directions counted"),
        ("features", 128, "number of feature columns"),
        ("dim", 256, "embedding dimension"),
    )
    for name, default, text in sizes:
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"{text} (default: {default:,})")


def run(options: argparse.Namespace) -> None:
    """Prints a line a method."""
    rows = overview(options.nodes, options.edges, options.features, options.dim)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
    size = f"{options.nodes:,} nodes, {options.edges:,} edges, {options.features:,} features, dim {options.dim}"
    print(f"(memory: estimated for {size})")
