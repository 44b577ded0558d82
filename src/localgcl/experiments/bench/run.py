"""Measures cells one after the other; rows go to the table as they come, so that an interruption loses one cell at most."""

import dataclasses
import gc
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from localgcl.config import suggestion
from localgcl.experiments.bench import table
from localgcl.experiments.bench.measure import (
    CPUStopwatch,
    CUDAStopwatch,
    Measurement,
    bounded_memory,
    measure,
    tensor_cores,
)
from localgcl.experiments.bench.resident import peak_resident
from localgcl.experiments.bench.setups import BENCHMARKS, Cell, Setup
from localgcl.experiments.bench.suites import Job


def run(
    benchmark: str,
    jobs: Sequence[Job],
    *,
    providers: Sequence[str] = (),
    repeats: int = 20,
    seconds: float = 10.0,
    memory: bool = False,
    out: Path,
    commit: str | None = None,
    say: Callable[[str], None],
) -> list[FileNotFoundError]:
    """Measures `jobs`; `providers`, where given, replace those of each job.

    Args:
        benchmark: One of `BENCHMARKS`.
        jobs: Sizes, and who is measured there.
        providers: Who is measured everywhere.
        repeats: Turns of each provider at most.
        seconds: Budget of each provider in each cell.
        memory: Also measure peak memory on the CPU, in a fresh process for each provider. On a GPU it is always measured.
        out: The CSV file to append to.
        commit: Recorded where git knows none.
        say: Takes each line of output.

    Returns:
        The errors of cells whose graph's files are not here; the others are measured all the same.
    """
    missing = []
    surroundings: table.Row = {}
    for job in jobs:
        # Asked once, before the first cell: the tree may be edited while the others run.
        surroundings = surroundings or table.environment(job.cell.device, commit)
        try:
            setup = BENCHMARKS[benchmark].setup(job.cell)
        except FileNotFoundError as error:
            missing.append(error)
            say(f"{benchmark} left out on {job.cell.graph}: {error}")
            continue
        surroundings["load"] = table.load()
        cell, results = setup.cell, _measure(benchmark, setup, providers or job.providers, repeats, seconds, memory)
        del setup  # before the next one takes memory
        gc.collect()
        table.append(out, [table.row(benchmark, name, cell, result, surroundings) for name, result in results.items()])
        say(report(benchmark, cell, results))
    return missing


def _measure(
    benchmark: str, setup: Setup, names: Sequence[str], repeats: int, seconds: float, memory: bool
) -> dict[str, Measurement]:
    for name in names:
        if name not in setup.providers:
            raise ValueError(f"{benchmark} has no provider {name!r}{suggestion(name, tuple(setup.providers))}")
    chosen = {name: setup.providers[name] for name in names or setup.providers}
    if setup.cell.device != "cpu":
        with tensor_cores(), torch.cuda.device(setup.cell.device):
            return measure(chosen, CUDAStopwatch(), repeats=repeats, seconds=seconds)
    with bounded_memory():
        results = measure(chosen, CPUStopwatch(), repeats=repeats, seconds=seconds)
    if memory:
        for name, result in results.items():
            if not result.note:
                results[name] = dataclasses.replace(result, peak=peak_resident(benchmark, name, setup.cell))
    return results


def report(benchmark: str, cell: Cell, results: dict[str, Measurement]) -> str:
    """A small table for people: percentiles, memory, and each provider's time over ours."""
    lines = [
        f"{benchmark}  {cell.title} on {cell.device}",
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
