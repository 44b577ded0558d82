"""`python -m paper bench`: measures time and memory."""

import argparse

from localgcl.commands.options import add_group, read_group
from localgcl.commands.output import Result
from localgcl.system.paths import check_writable
from paper.bench import table
from paper.bench.options import BenchOptions
from paper.bench.run import run as measure
from paper.bench.setups import BENCHMARKS

DESCRIPTION = "Measure time and memory of the library's parts beside plain PyTorch, and add the rows to a table."


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """What to measure, at which sizes."""
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"{', '.join(BENCHMARKS)}; or all; without it they are listed")
    parser.add_argument("--list", action="store_true", help="say what each benchmark measures")
    add_group(parser, "benchmark", BenchOptions)


def run(given: argparse.Namespace) -> Result:
    """Measures, and prints a small table for each size."""
    options = read_group(given, BenchOptions)
    if given.list or given.name is None:
        texts = {name: benchmark.text for name, benchmark in BENCHMARKS.items()}
        for name, text in texts.items():
            print(f"{name:14} {text}")
        return {"benchmarks": texts}
    check_writable(options.out)
    before = len(table.measurements(options.out).rows())
    missing = measure(given.name, options, print)
    if missing:
        raise FileNotFoundError(f"{len(missing)} sizes were left out, because files are missing: {missing[0]}")
    return {"file": options.out, "rows": table.measurements(options.out).rows()[before:]}
