"""A cell: one method with all its settings, one graph, one seed. The unit that is run, stored, resumed and cited."""

import dataclasses
import functools
import gc
import hashlib
import json
import shutil
import statistics
from pathlib import Path
from typing import Any

import torch

from localgcl.config import Config
from localgcl.datasets import load
from localgcl.evaluation import Scores, evaluate
from localgcl.experiments.compare import splits_of
from localgcl.graph import Graph
from localgcl.system.devices import choose_device, device_memory
from localgcl.system.provenance import describe
from localgcl.training import Model, fit

# What changes where and how a run is carried out, but not what comes out of it beyond rounding.
_CIRCUMSTANCES = ("seed", "device", "threads", "deterministic", "log_every", "checkpoint_every", "tensorboard")
# A shorter training is sooner run again than written down along the way; a longer one is, each time after so many steps.
_LONG = 1000


@dataclasses.dataclass(frozen=True)
class Cell:
    """What to run.

    Args:
        config: Method and settings; its seed and device do not count.
        graph: A name from `localgcl datasets`.
        seed: Of the initial weights, all that is drawn in training, and the split where the graph brings none.
        timed: Train a few steps before the clock starts, so that compiling is not counted.
        protocol: The evaluator.
    """

    config: Config
    graph: str
    seed: int
    timed: bool = False
    protocol: str = "linear"

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting that decides the result, defaults included."""
        return {name: value for name, value in self.config.flat().items() if name not in _CIRCUMSTANCES}

    @property
    def recipe(self) -> str:
        """Twelve digits that stand for all but the seed: two cells with the same ones differ in nothing else."""
        what = [self.config.method, self.graph, self.settings, self.protocol, self.timed]
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def key(self) -> tuple[str, int]:
        return self.recipe, self.seed


def run(cell: Cell, device: str, runs: Path, commit: str | None = None, jobs: int = 1) -> dict[str, Any]:
    """Trains, embeds, scores: the row for results.csv.

    A long training is written to a folder under `runs` and goes on from there after an interruption; the folder is removed
    when its result is known. A training that does not fit the device is a result, too: "out of memory". But not where cells
    share the device, since it might fit alone: that raises RuntimeError.

    Args:
        cell: What to run.
        device: Where.
        runs: Where unfinished trainings are kept.
        commit: To record, where git knows none.
        jobs: How many cells run at once: with more than one, times say little.
    """
    graph = _graph(cell.graph)
    place, steps = choose_device(device), cell.config.training.steps
    # Random numbers of a CPU and of a GPU are different ones: a training is not continued on the other.
    folder = runs / f"{cell.recipe}-{cell.seed}-{place.type}" if steps >= _LONG else None
    every = {"log_every": max(1, steps // 20), "checkpoint_every": _LONG if folder is not None else 0}
    config = cell.config.replace(seed=cell.seed, device=device, **every)
    row = _circumstances(cell, place, commit, jobs)
    try:
        if cell.timed:
            fit(graph, config.replace(steps=3, warmup=0))
        model, costs = _train(graph, config, place, folder)
        splits = splits_of(graph, 1, cell.seed)
        z = model.embed(graph)
        row |= costs | _scored(evaluate(z, graph, splits, protocol=cell.protocol, seed=cell.seed, device=device))
    except torch.cuda.OutOfMemoryError as error:
        if jobs > 1:
            raise RuntimeError(f"out of memory beside {jobs - 1} other cells; run it again with --jobs 1") from error
        row["outcome"] = f"out of memory ({device_memory(place) / 2**30:.0f} GiB)"
    if folder is not None and folder.exists():
        shutil.rmtree(folder)
    return row


def _train(graph: Graph, config: Config, device: torch.device, folder: Path | None) -> tuple[Model, dict[str, Any]]:
    """The model, and what it took: seconds in the loop, steps, and on a GPU what the allocator gave out at most."""
    held = 0
    if device.type == "cuda":
        gc.collect()  # recorded steps of the cell before are in cycles, and their memory would be counted here
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
        held = torch.cuda.memory_allocated(device)  # by earlier cells of this process: workspaces that libraries keep
    resume = folder is not None and (folder / "config.toml").exists()
    if folder is not None and not resume:
        shutil.rmtree(folder, ignore_errors=True)  # cut off before it had begun
    model = fit(graph, config, folder=folder, resume=resume)
    # A model that was found finished in its folder comes back on the CPU: its memory has not been seen here.
    peak = torch.cuda.max_memory_allocated(device) - held if model.device.type == "cuda" else None
    seconds = model.history[-1]["seconds"] if model.history else 0.0
    costs = {"seconds": round(seconds, 3), "steps": model.step, "peak_mib": "" if peak is None else round(peak / 2**20)}
    return model, costs


def _scored(scores: Scores) -> dict[str, Any]:
    validation = [value for value in scores.validation if value is not None]
    return {
        "outcome": "ok",
        "test": round(scores.mean, 3),
        "validation": round(statistics.fmean(validation), 3) if validation else "",
        "test_by_split": json.dumps([round(value, 3) for value in scores.values]),
    }


def _circumstances(cell: Cell, device: torch.device, commit: str | None, jobs: int) -> dict[str, Any]:
    made = describe()
    return {
        "recipe": cell.recipe,
        "method": cell.config.method,
        "graph": cell.graph,
        "seed": cell.seed,
        "settings": json.dumps(cell.settings, sort_keys=True),
        "protocol": cell.protocol,
        "timed": cell.timed,
        "jobs": jobs,
        "date": made["date"],
        "commit": commit or made["commit"] or "",
        "hardware": made["gpu"] if device.type == "cuda" else f"{made['processor']}, {made['threads']} threads",
        "torch": made["packages"]["torch"],
    }


@functools.lru_cache(maxsize=2)
def _graph(name: str) -> Graph:
    return load(name)
