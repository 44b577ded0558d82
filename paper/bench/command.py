"""`python -m paper bench`: measures time and memory, at sizes that are given or at those of a named suite.

Rows are written as they come: an interruption loses one size at most.
"""

import argparse
import dataclasses
import gc
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import torch

from localgcl.commands.options import add_group, read_group
from localgcl.commands.output import Result
from localgcl.config import MOST_FREQUENCIES, MOST_NODES, WIDEST, Checked, option, suggestion
from localgcl.system.devices import choose_device
from localgcl.system.files import check_writable
from paper.bench import table
from paper.bench.measure import (
    CPUStopwatch,
    CUDAStopwatch,
    Measurement,
    bounded_memory,
    measure,
    tensor_cores,
)
from paper.bench.resident import peak_resident
from paper.bench.setups import BENCHMARKS, FORMS, Setup, Size


@dataclasses.dataclass(frozen=True)
class Entry:
    """An entry of a suite: a size, and the providers to measure at it; empty means all."""

    size: Size
    providers: tuple[str, ...] = ()


ARXIV, PUBMED = 169_343, 19_717  # nodes
_AGAINST = ("ours", "dense-rff", "dense-exact", "checkpointed-exact")


def entries(suite: str, benchmark: str, device: str) -> list[Entry]:
    """The entries of a suite for one benchmark; empty where the suite has none for this kind of device."""
    kind = "cpu" if device == "cpu" else "cuda"
    found = SUITES[suite].get((benchmark, kind), SUITES[suite].get((benchmark, "any"), []))
    return [dataclasses.replace(entry, size=dataclasses.replace(entry.size, device=device)) for entry in found]


def all_sizes(
    benchmark: str, nodes: Sequence[int], dims: Sequence[int], features: Sequence[int], graph: str, device: str
) -> list[Entry]:
    """Every combination of the given sizes, for every variant of the benchmark."""
    variants = BENCHMARKS[benchmark].variants
    return [
        Entry(Size(n, d, num_features, device, graph, variant))
        for n in nodes
        for d in dims
        for num_features in features
        for variant in variants
    ]


def _entries(sizes: Iterable[tuple[int, int, int]], providers: tuple[str, ...]) -> list[Entry]:
    return [Entry(Size(n, d, num_features), providers) for n, d, num_features in sizes]


def _on(graph: str, dim: int, num_features: int = 4096, variants: Sequence[str] = ("",)) -> list[Entry]:
    return [Entry(Size(dim=dim, num_features=num_features, graph=graph, variant=variant)) for variant in variants]


_STANDARD = [
    *_entries([(n, 256, 1024) for n in (500, 1000, 2000, 4000, 8000)], (*FORMS, "dense-rff", "dense-exact")),
    *_entries([(1000, d, 1024) for d in (64, 128, 512, 1024)], (*FORMS, "dense-rff")),
    *_entries([(1000, 256, features) for features in (256, 512, 2048, 4096)], (*FORMS, "dense-rff")),
]

_GPU_NEGATIVES = [
    *_entries([(ARXIV, 512, 8192), (ARXIV, 1024, 8192), (PUBMED, 1024, 8192)], (*_AGAINST, "kronecker-sorf", *FORMS)),
    *_entries([(1_000_000, 256, 4096)], ("ours", "dense-rff")),
    *_entries([(4_000_000, 128, 2048)], ("ours",)),
    *_entries([(2**power, 256, 4096) for power in range(14, 23)], ("ours",)),
    *_entries([(ARXIV, 512, 2**power) for power in range(10, 15)], ("ours",)),
]

SUITES: dict[str, dict[tuple[str, str], list[Entry]]] = {
    "standard": {
        ("hadamard", "any"): _entries([(n, 512, 512) for n in (1000, 4000, 16000)], ()),
        ("feature-map", "any"): _entries([(n, 512, 1024) for n in (500, 1000, 2000)], ()),
        ("negative-term", "any"): _STANDARD,
        ("positive-term", "any"): [
            Entry(Size(n, 256, variant=variant)) for n in (1000, 4000, 16000) for variant in ("mean", "max", "weighted")
        ],
        ("encoder", "any"): _entries([(n, 128, 1024) for n in (1000, 4000, 16000)], ()),
        ("train-step", "any"): _entries([(2000, 128, 1024)], ()),
    },
    "acceptance": {
        ("negative-term", "cuda"): [*_GPU_NEGATIVES, *_STANDARD],
        ("positive-term", "cuda"): _on("arxiv-structure", 512, variants=("mean", "max", "weighted")),
        ("encoder", "cuda"): [*_on("arxiv-structure", 256), *_on("physics", 256)],
        ("train-step", "cuda"): _on("arxiv-structure", 256),
        ("recipe", "cuda"): _on("cora", 2048),
        ("negative-term", "cpu"): _entries([(PUBMED, 1024, 8192), (PUBMED, 2048, 8192)], ("ours", "dense-rff")),
        ("recipe", "cpu"): _on("physics", 1024),
    },
}
"""By name, then by benchmark and kind of device."""


@dataclasses.dataclass(frozen=True)
class BenchOptions(Checked):
    """At which sizes to measure, how long, and where rows go."""

    suite: str = option("none", "a named set of sizes, instead of the sizes below", choices=lambda: ("none", *SUITES))
    nodes: tuple[int, ...] = option((Size.nodes,), "numbers of nodes", low=1, high=MOST_NODES, metavar="N")
    dim: tuple[int, ...] = option((Size.dim,), "embedding dimensions", low=1, high=WIDEST, metavar="d")
    num_features: tuple[int, ...] = option(
        (Size.num_features,), "numbers of frequencies", low=1, high=MOST_FREQUENCIES, metavar="D"
    )
    graph: str = option("", "a named graph instead of a drawn one of N nodes", metavar="G")
    device: str = option("cpu", "cpu, cuda, cuda:1...; auto takes a GPU where there is one")
    providers: tuple[str, ...] = option((), "measure only these implementations", metavar="P")
    repeats: int = option(20, "largest number of measurements of each provider", low=1, high=10**6, metavar="K")
    seconds: float = option(5.0, "time after which a provider is not measured again", above=0, high=86_400, metavar="S")
    memory: bool = option(False, "also measure peak memory on the CPU, in a fresh process for each provider")
    out: Path = option(Path("benchmarks/results/bench.csv"), "the table that rows are added to", metavar="CSV")
    commit: str | None = option(None, "commit to record, for a copy of the source without its history", metavar="HASH")


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
    missing = measure_all(given.name, options, print)
    if missing:
        raise FileNotFoundError(f"{len(missing)} sizes were left out, because files are missing: {missing[0]}")
    return {"file": options.out, "rows": table.measurements(options.out).rows()[before:]}


def measure_all(name: str, options: BenchOptions, say: Callable[[str], None]) -> list[FileNotFoundError]:
    """Measures the benchmark `name`, or all of them; rows are added to `options.out`, and reports given to `say`.

    Returns:
        The errors of sizes whose graph's files are not here; the others are measured all the same.
    """
    if name != "all" and name not in BENCHMARKS:
        raise ValueError(f"no benchmark {name!r}{suggestion(name, (*BENCHMARKS, 'all'))}")
    device, missing = str(choose_device(options.device)), []
    suite = "standard" if name == "all" and options.suite == "none" else options.suite
    for benchmark in BENCHMARKS if name == "all" else [name]:
        if suite == "none":
            todo = all_sizes(benchmark, options.nodes, options.dim, options.num_features, options.graph, device)
        else:
            todo = entries(suite, benchmark, device)
        if not todo and name != "all":
            raise ValueError(f"the suite {suite!r} has no sizes of {name} for {device}; give --nodes, or another suite")
        missing += measure_entries(benchmark, todo, options, say)
    return missing


def measure_entries(
    benchmark: str, todo: Sequence[Entry], options: BenchOptions, say: Callable[[str], None]
) -> list[FileNotFoundError]:
    """Measures each size of a benchmark; returns the errors of those whose graph's files are not here."""
    rows, missing = table.measurements(options.out), []
    surroundings: table.BenchRow = {}
    for entry in todo:
        # Once, before the first size: the source may be edited while the others run.
        surroundings = surroundings or table.environment(entry.size.device, options.commit)
        try:
            setup = BENCHMARKS[benchmark].setup(entry.size)
        except FileNotFoundError as error:
            missing.append(error)
            say(f"{benchmark} left out on {entry.size.graph}: {error}")
            continue
        surroundings["load"] = table.load()
        size, results = setup.size, _measure(benchmark, setup, options.providers or entry.providers, options)
        del setup  # before the next one takes memory
        gc.collect()
        rows.append(*(table.row(benchmark, name, size, result, surroundings) for name, result in results.items()))
        say(report(benchmark, size, results))
    return missing


def _measure(benchmark: str, setup: Setup, names: Sequence[str], options: BenchOptions) -> dict[str, Measurement]:
    for name in names:
        if name not in setup.providers:
            raise ValueError(f"{benchmark} has no provider {name!r}{suggestion(name, tuple(setup.providers))}")
    chosen = {name: setup.providers[name] for name in names or setup.providers}
    if setup.size.device != "cpu":
        with tensor_cores(), torch.cuda.device(setup.size.device):
            return measure(chosen, CUDAStopwatch(), repeats=options.repeats, seconds=options.seconds)
    with bounded_memory():
        results = measure(chosen, CPUStopwatch(), repeats=options.repeats, seconds=options.seconds)
    if options.memory:
        for name, result in results.items():
            if not result.note:
                results[name] = dataclasses.replace(result, peak=peak_resident(benchmark, name, setup.size))
    return results


def report(benchmark: str, size: Size, results: dict[str, Measurement]) -> str:
    """A small table to read: percentiles, memory, and each provider's time divided by ours."""
    lines = [
        f"{benchmark}  {size.title} on {size.device}",
        f"  {'':20} {'p20':>10} {'p50':>10} {'p80':>10} ms {'peak MiB':>10} {'to ours':>8}",
    ]
    ours = results.get("ours")
    for name, result in results.items():
        if result.note:
            lines.append(f"  {name:20} {result.note}")
            continue
        peak = "" if result.peak is None else f"{result.peak:,.0f}"
        ratio = f"{result.p50 / ours.p50:.2f}" if ours is not None and not ours.note else ""
        lines.append(f"  {name:20} {result.p20:10.2f} {result.p50:10.2f} {result.p80:10.2f}    {peak:>10} {ratio:>8}")
    return "\n".join(lines)
