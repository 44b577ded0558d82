"""`localgcl bench`: its options, and what each use of it calls."""

import argparse
from pathlib import Path

from localgcl.config import suggestion
from localgcl.experiments.bench import fit, page, plot, table
from localgcl.experiments.bench.run import run as measure
from localgcl.experiments.bench.setups import BENCHMARKS, Cell
from localgcl.experiments.bench.suites import SUITES, jobs, sizes
from localgcl.system.devices import choose_device

RESULTS = Path("benchmarks/results/bench.csv")
COSTS = Path(__file__).parents[2] / "ops" / "costs.toml"
PAGE = Path("docs/speed.md")
README = Path("README.md")


DESCRIPTION = "Measure time and memory of the library's parts beside plain PyTorch; rows go to one table."


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """What to measure, at which sizes."""
    names = ", ".join(BENCHMARKS)
    parser.add_argument("what", nargs="?", metavar="NAME", help=f"{names}; all; or plot, page, fit (read the table)")
    parser.add_argument("--list", action="store_true", help="say what each benchmark measures")
    parser.add_argument("--suite", choices=list(SUITES), help="a set of sizes and providers with a name, instead of:")
    parser.add_argument("--nodes", type=int, nargs="+", default=[Cell.nodes], metavar="N")
    parser.add_argument("--dim", type=int, nargs="+", default=[Cell.dim], metavar="d")
    parser.add_argument("--num-features", type=int, nargs="+", default=[Cell.num_features], metavar="D")
    parser.add_argument("--graph", default="", metavar="G", help="a named graph instead of a drawn one of N nodes")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, auto (default: cpu)")
    parser.add_argument("--providers", nargs="+", default=[], metavar="P", help="measure only these")
    parser.add_argument("--repeats", type=int, default=20, help="turns of each provider at most (default: 20)")
    parser.add_argument("--seconds", type=float, default=5.0, help="budget of each provider in each cell (default: 5)")
    parser.add_argument("--memory", action="store_true", help="peak memory on the CPU too, in a process for each provider")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="CSV", help=f"the table (default: {RESULTS})")
    parser.add_argument("--commit", help="to record, where the tree was copied without its history; fit: use its rows only")
    parser.add_argument("--to", type=Path, metavar="PATH", help="where plot (folder), page or fit (file) write")


def run(options: argparse.Namespace) -> None:
    """Carries out what the options ask for."""
    if options.list or options.what is None:
        for name, benchmark in BENCHMARKS.items():
            print(f"{name:14} {benchmark.text}")
    elif options.what == "plot":
        folder = options.to or options.out.parent
        for path in plot.plot(table.read(options.out), folder, "png").values():
            print(f"{path}")
        print(plot.RULE)
    elif options.what == "page":
        readme = README if options.to is None else None
        for path in page.write(table.read(options.out), options.to or PAGE, readme):
            print(f"{path}")
    elif options.what == "fit":
        _fit(options)
    else:
        _measure(options)


def _measure(options: argparse.Namespace) -> None:
    if options.what != "all" and options.what not in BENCHMARKS:
        raise ValueError(
            f"no benchmark {options.what!r}{suggestion(options.what, (*BENCHMARKS, 'all', 'plot', 'page', 'fit'))}"
        )
    for name in ("repeats", "seconds"):
        if getattr(options, name) <= 0:
            raise ValueError(f"{name} is {getattr(options, name)}; it must be above 0, for example 5")
    device = str(choose_device(options.device))
    missing = []
    for name in BENCHMARKS if options.what == "all" else [options.what]:
        if options.suite or options.what == "all":
            todo = jobs(options.suite or "standard", name, device)
        else:
            todo = sizes(name, options.nodes, options.dim, options.num_features, options.graph, device)
        if not todo and options.what != "all":
            raise ValueError(f"the suite {options.suite!r} has no sizes of {name} for {device}; give --nodes, or another suite")
        missing += measure(
            name,
            todo,
            providers=options.providers,
            repeats=options.repeats,
            seconds=options.seconds,
            memory=options.memory,
            out=options.out,
            commit=options.commit,
            say=print,
        )
    if missing:
        raise FileNotFoundError(f"{len(missing)} cells were left out, because files are missing: {missing[0]}")


def _fit(options: argparse.Namespace) -> None:
    rows = [row for row in table.read(options.out) if options.commit in (None, row["commit"])]
    fits = fit.fit(rows)
    path = options.to or COSTS
    fit.write(path, fits)
    for kind, found in fits.items():
        for form, error in found.errors.items():
            print(f"{kind} {form}: predicted times within {error:.0%} of those measured")
    print(f"{path}")
