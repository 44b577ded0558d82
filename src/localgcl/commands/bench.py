"""`localgcl bench`: measures time and memory."""

import argparse

from localgcl.commands.options import add_group, read_group
from localgcl.experiments.bench.options import BenchOptions
from localgcl.experiments.bench.run import run as measure
from localgcl.experiments.bench.setups import BENCHMARKS

DESCRIPTION = "Measure time and memory of the library's parts beside plain PyTorch, and add the rows to a table."


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """What to measure, at which sizes."""
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"{', '.join(BENCHMARKS)}; or all; without it they are listed")
    parser.add_argument("--list", action="store_true", help="say what each benchmark measures")
    add_group(parser, "benchmark", BenchOptions)


def run(given: argparse.Namespace) -> None:
    """Measures, and prints a small table for each size."""
    options = read_group(given, BenchOptions)
    if given.list or given.name is None:
        for name, benchmark in BENCHMARKS.items():
            print(f"{name:14} {benchmark.text}")
        return
    missing = measure(given.name, options, print)
    if missing:
        raise FileNotFoundError(f"{len(missing)} sizes were left out, because files are missing: {missing[0]}")
