"""A cell: one method with all its settings on one graph with one seed. Cells are what is run, stored and found again."""

import dataclasses
import functools
import gc
import json
import shutil
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch

from localgcl.config import Config
from localgcl.datasets import load, random_splits
from localgcl.datasets.splits import known_labels
from localgcl.evaluation import Scores, evaluate
from localgcl.experiments.sweep import Sweep, decisive_settings, missing, recipe_hash
from localgcl.graph import Graph, Split
from localgcl.system.devices import choose_device, device_memory
from localgcl.system.memory import OutOfMemory
from localgcl.system.provenance import provenance
from localgcl.training import Model, fit
from localgcl.training.run import reason_of_failure
from paper.store import Store, check_committed, digest

Splits = Literal["own", "random", "fresh"]
_SPLITS: dict[Splits, Callable[[Graph, int], Sequence[Split]]] = {
    "own": lambda graph, seed: graph.splits or random_splits(graph, num=1, seed=seed),
    "random": lambda graph, seed: random_splits(graph, num=1, seed=seed),
    "fresh": lambda graph, seed: citation_splits(graph, num=1, seed=seed),
}
# Checkpoint only runs of 1,000 steps or more: shorter ones are cheaper to repeat.
_LONG = 1000


@dataclasses.dataclass(frozen=True)
class Cell:
    """What to run.

    Args:
        config: Method and settings; its seed and device do not count.
        graph: A name from `localgcl datasets`.
        seed: Decides the initial weights, all that is drawn in training, and the split where one is drawn.
        timed: Train a few steps before the clock starts, so that compiling is not counted.
        protocol: The evaluator.
        probe: Settings of the evaluator that differ from its preset.
        splits: Those of the graph ("own"), or one that is drawn.
    """

    config: Config
    graph: str
    seed: int
    timed: bool = False
    protocol: str = "linear"
    probe: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    splits: Splits = "own"

    @property
    def settings(self) -> dict[str, Any]:
        return decisive_settings(self.config)

    @property
    def evaluator(self) -> str:
        """The protocol and what differs from it, such as "sugrl steps=200 weight_decays=[0.0]"."""
        changed = [f"{name}={json.dumps(value)}" for name, value in sorted(self.probe.items())]
        return " ".join([self.protocol, *changed, *([] if self.splits == "own" else [f"splits={self.splits}"])])

    @property
    def recipe(self) -> str:
        """A hash of everything but the seed."""
        return recipe_hash(self.config.method, self.graph, self.settings, self.evaluator, self.timed)

    @property
    def key(self) -> tuple[str, int]:
        return self.recipe, self.seed


RowOrError = dict[str, Any] | str


def run_all(
    cells: Iterable[Cell],
    store: Store,
    *,
    device: str,
    jobs: int = 1,
    minutes: float | None = None,
    commit: str | None = None,
    say: Callable[[str], None] = print,
) -> list[str]:
    """Runs the cells that have no result yet; returns what went wrong, one line each.

    Args:
        cells: The most important first.
        store: Where results are looked up and kept.
        device: Where to run.
        jobs: Processes at a time. A few are faster on a GPU for small graphs; they share the CPU threads.
        minutes: Start no cell after this time; the next call goes on.
        commit: To record, in a copy of the source without its history.
        say: Called with a line for each result.
    """
    todo, failures = missing(cells, store.rows()), list[str]()
    if not todo:
        return failures
    check_committed(commit)
    say(f"cells to run: {len(todo)}")

    def record(cell: Cell, row: RowOrError) -> str:
        name = f"{cell.config.method} {cell.graph} seed {cell.seed}"
        if isinstance(row, str):
            failures.append(f"{name}: {row}")
            return f"{name}: failed: {row}"
        store.add(row)
        return f"{name}: {_result(row)}"

    # The digest is read once: the tree may be edited while cells run.
    where = device, store.runs, commit, jobs, digest()
    ended = Sweep(_attempt, where, jobs).run_all(todo, record, say=say, unit="cells", minutes=minutes)
    if ended < len(todo):
        say(f"time is up, cells left: {len(todo) - ended}; repeat the command to go on")
    return failures


def _result(row: dict[str, Any]) -> str:
    if row["outcome"] != "ok":
        return str(row["outcome"])
    return f"{row['test']:.2f} after {row['steps']} steps in {row['seconds']:.1f} s"


def _attempt(where: tuple[str, Path, str | None, int, str], cell: Cell) -> RowOrError:
    """An error of one cell is reported; the others go on."""
    try:
        return run(cell, *where)
    except (ValueError, RuntimeError, OSError) as error:
        return " ".join(str(error).split()) or type(error).__name__


def run(cell: Cell, device: str, runs: Path, commit: str | None = None, jobs: int = 1, digest: str = "") -> dict[str, Any]:
    """Trains, embeds and scores; returns the row for results.csv.

    A long training keeps its run folder under `runs`, resumes from there after an interruption, and removes the folder when
    its result is known. A training that does not fit the device is a result, too: "out of memory". Where several cells share
    the device it might fit alone, so then it raises RuntimeError.

    Args:
        cell: What to run.
        device: Where.
        runs: Where unfinished trainings are kept.
        commit: To record, in a copy of the source without its history.
        jobs: How many cells run at a time; with more than one, times say little.
        digest: Of the source files (`store.digest`).
    """
    graph = _graph(cell.graph)
    place, steps = choose_device(device), cell.config.training.steps
    # A CPU and a GPU draw different random numbers, so a training is not resumed on the other.
    folder = runs / f"{cell.recipe}-{cell.seed}-{place.type}" if steps >= _LONG else None
    every = {"log_every": max(1, steps // 20), "checkpoint_every": _LONG if folder is not None else 0}
    config = cell.config.replace(seed=cell.seed, device=device, **every)
    row = {**_described(cell, place, commit, jobs), "source": "run", "digest": digest}
    try:
        if cell.timed:
            fit(graph, config.replace(steps=3, warmup=0), force_memory=True)
        model, costs = _train(graph, config, place, folder)
        splits = _SPLITS[cell.splits](graph, cell.seed)
        z = model.embed(graph)
        scores = evaluate(z, graph, splits, protocol=cell.protocol, seed=cell.seed, device=device, **cell.probe)
        row |= costs | _scored(scores)
    except (OutOfMemory, torch.OutOfMemoryError) as error:
        if jobs > 1:
            raise RuntimeError(f"out of memory beside {jobs - 1} other cells; run it again with --jobs 1") from error
        row["outcome"] = f"out of memory ({device_memory(place) / 2**30:.0f} GiB)"
    if folder is not None and folder.exists():
        shutil.rmtree(folder)
    return row


def _train(graph: Graph, config: Config, device: torch.device, folder: Path | None) -> tuple[Model, dict[str, Any]]:
    """The model, and what it cost: seconds in the loop, steps, and on a GPU the peak memory in MiB."""
    held = 0
    if device.type == "cuda":
        gc.collect()  # recorded steps of the cell before are in reference cycles, and their memory would be counted here
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
        held = torch.cuda.memory_allocated(device)  # workspaces that libraries keep from earlier cells
    resume = folder is not None and (folder / "config.toml").exists() and reason_of_failure(folder) is None
    if folder is not None and not resume:
        shutil.rmtree(folder, ignore_errors=True)  # interrupted before its first file was written, or failed
    # Whether it fits is a result: it is tried, and not estimated.
    model = fit(graph, config, folder=folder, resume=resume, force_memory=True)
    # A finished run is loaded to the CPU: its peak memory is not known here.
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


def _described(cell: Cell, device: torch.device, commit: str | None, jobs: int) -> dict[str, Any]:
    """The columns that say what was run, where and when."""
    made = provenance(device, commit)
    return {
        "recipe": cell.recipe,
        "method": cell.config.method,
        "graph": cell.graph,
        "seed": cell.seed,
        "settings": json.dumps(cell.settings, sort_keys=True),
        "protocol": cell.evaluator,
        "timed": cell.timed,
        "jobs": jobs,
        "date": made.date,
        "commit": made.commit,
        "hardware": made.hardware,
        "torch": made.packages["torch"],
    }


@functools.lru_cache(maxsize=2)
def _graph(name: str) -> Graph:
    return load(name)


def citation_splits(
    graph: Graph, per_class: int = 20, val: int = 500, test: int = 1000, num: int = 20, seed: int = 0
) -> list[Split]:
    """Random splits of the sizes of the public splits of Cora, Citeseer and PubMed.

    Split k is drawn with seed `seed + k` alone: `per_class` training nodes of each class, then `val` and `test` of the others.
    """
    y = known_labels(graph)
    classes, sizes = y[y >= 0].unique(return_counts=True)
    needed, labelled = per_class * classes.numel() + val + test, int(sizes.sum())
    if int(sizes.min()) < per_class or labelled < needed:
        raise ValueError(
            f"{labelled} labelled nodes, {int(sizes.min())} of the smallest class, are too few for {per_class} of each class, "
            f"{val} to validate on and {test} to test on; choose smaller numbers"
        )
    splits = []
    for drawn in range(seed, seed + num):
        shuffled = torch.randperm(y.numel(), generator=torch.Generator().manual_seed(drawn))
        shuffled = shuffled[y[shuffled] >= 0]
        train = torch.cat([shuffled[y[shuffled] == label][:per_class] for label in classes.tolist()])
        rest = shuffled[~torch.isin(shuffled, train)]
        validated, tested = rest[:val].sort().values, rest[val : val + test].sort().values
        splits.append(Split(train.sort().values, validated, tested, f"citation-{drawn}"))
    return splits
