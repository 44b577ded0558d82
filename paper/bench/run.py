"""Measures one size after another. Rows are written as they come: an interruption loses one size at most."""

import dataclasses
import gc
from collections.abc import Callable, Sequence

import torch

from localgcl.config import suggestion
from localgcl.system.devices import choose_device
from paper.bench import table
from paper.bench.measure import (
    CPUStopwatch,
    CUDAStopwatch,
    Measurement,
    bounded_memory,
    measure,
    tensor_cores,
)
from paper.bench.options import BenchOptions
from paper.bench.resident import peak_resident
from paper.bench.setups import BENCHMARKS, Setup, Size
from paper.bench.suites import Job, jobs, sizes


def run(name: str, options: BenchOptions, say: Callable[[str], None]) -> list[FileNotFoundError]:
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
            todo = sizes(benchmark, options.nodes, options.dim, options.num_features, options.graph, device)
        else:
            todo = jobs(suite, benchmark, device)
        if not todo and name != "all":
            raise ValueError(f"the suite {suite!r} has no sizes of {name} for {device}; give --nodes, or another suite")
        missing += measure_jobs(benchmark, todo, options, say)
    return missing


def measure_jobs(
    benchmark: str, todo: Sequence[Job], options: BenchOptions, say: Callable[[str], None]
) -> list[FileNotFoundError]:
    """Measures each job of a benchmark; returns the errors of those whose graph's files are not here."""
    rows, missing = table.measurements(options.out), []
    surroundings: table.BenchRow = {}
    for job in todo:
        # Once, before the first size: the source may be edited while the others run.
        surroundings = surroundings or table.environment(job.size.device, options.commit)
        try:
            setup = BENCHMARKS[benchmark].setup(job.size)
        except FileNotFoundError as error:
            missing.append(error)
            say(f"{benchmark} left out on {job.size.graph}: {error}")
            continue
        surroundings["load"] = table.load()
        size, results = setup.size, _measure(benchmark, setup, options.providers or job.providers, options)
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
