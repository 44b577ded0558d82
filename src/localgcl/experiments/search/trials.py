"""Trials: train with some settings on a few seeds and validate; and the loop that proposes the settings of the next one."""

import dataclasses
import json
import statistics
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch

from localgcl.config import MOST_JOBS, MOST_SEEDS, Checked, LocalGCLWarning, option
from localgcl.datasets import hide_test_labels, random_splits, redrawn_splits
from localgcl.evaluation import validate
from localgcl.experiments.search import log
from localgcl.experiments.search.space import SAMPLERS, Settings, Space, key
from localgcl.experiments.sweep import Sweep
from localgcl.graph import Graph, Split
from localgcl.methods import configure
from localgcl.system.devices import choose_device
from localgcl.system.memory import OutOfMemory
from localgcl.training import fit

FIRST_SEED = 1000
"""The first seed of a trial, and of the splits drawn for it: results are reported on seeds 0, 1..."""
MOST_TRIALS = 10**6


@dataclasses.dataclass(frozen=True)
class SearchOptions(Checked):
    """Options of a search. What varies and what stays fixed are arguments of `tune`."""

    sampler: str = option("random", "how the next trial is chosen", choices=lambda: SAMPLERS)
    trials: int = option(50, "number of trials, those in the log included", low=1, high=MOST_TRIALS, metavar="N")
    seeds: int = option(
        3, "number of seeds of each trial, 1000 and on: report results on others", low=1, high=MOST_SEEDS, metavar="K"
    )
    splits: int = option(
        3, "validate on the first S of the graph's own splits; 0: on --redraws alone", low=0, high=MOST_SEEDS, metavar="S"
    )
    redraws: int = option(
        0,
        "for a graph with one given split: extra random train/validation splits of its labelled nodes",
        low=0,
        high=MOST_SEEDS,
        metavar="R",
    )
    finalists: int = option(
        0, "validate the best F trials again on more seeds; the best of them wins", low=0, high=MOST_TRIALS, metavar="F"
    )
    final_seeds: int = option(10, "number of seeds of the finalists", low=1, high=MOST_SEEDS, metavar="K")
    start: str = option("recipe", "settings of the first trial, whose values join the space", metavar="recipe|defaults|FILE")
    protocol: str = option("linear", "how embeddings are validated: linear, sklearn, knn...", metavar="P")
    device: str = option("auto", "cpu, cuda, auto")
    jobs: int = option(1, "trials at a time, a process each", low=1, high=MOST_JOBS, metavar="J")
    seed: int = option(0, "seed of the sampler", low=0, high=2**32 - 1, metavar="S")
    out: str = option("", "folder of trials.csv and recipe.toml; by default tuning/METHOD-DATASET", metavar="DIR")
    commit: str = option("", "commit to record, where the tree was copied without its history", metavar="HASH")


def trial_seeds(count: int) -> range:
    """The seeds of a trial, which are none of those that results are reported on."""
    return range(FIRST_SEED, FIRST_SEED + count)


def named(seeds: range) -> str:
    """Seeds as the log has them. Older logs have a number K instead: seeds 0 to K - 1, with which these do not compare.

    Example:
        >>> named(trial_seeds(3)), named(trial_seeds(1))
        ('1000-1002', '1000')
    """
    return f"{seeds[0]}-{seeds[-1]}" if len(seeds) > 1 else f"{seeds[0]}"


@dataclasses.dataclass(frozen=True)
class Problem:
    """What all trials of a search share. Test labels are hidden in `graph`; `splits` holds the splits of each seed."""

    graph: Graph
    seeds: range
    splits: tuple[Sequence[Split], ...]
    method: str
    protocol: str
    device: str

    @classmethod
    def of(cls, graph: Graph, method: str, *, seeds: int, splits: int, redraws: int, protocol: str, device: str) -> "Problem":
        """Takes the graph's first `splits` splits for every seed, or draws one per seed if it has none; hides test labels.

        With `redraws`, further divisions of the labelled nodes of a single given split follow; with `splits` 0 they are all.
        """
        if redraws and len(graph.splits) != 1:
            raise ValueError(
                f"redraws is {redraws}, which divides a single given split anew; the graph has {len(graph.splits)}"
            )
        if not splits and not redraws:
            raise ValueError("splits is 0 and redraws is 0, so there is nothing to validate on; give one of them from 1 up")
        drawn = trial_seeds(seeds)
        chosen = tuple(tuple((graph.splits or random_splits(graph, num=1, seed=seed))[:splits]) for seed in drawn)
        if redraws:
            more = redrawn_splits(graph, graph.splits[0], redraws, seed=FIRST_SEED)
            chosen = tuple((*own, *more) for own in chosen)
        hidden = hide_test_labels(graph, [split for parts in chosen for split in parts])
        return cls(hidden, drawn, chosen, method, protocol, device)


@dataclasses.dataclass(frozen=True)
class TrialResult:
    """Mean and sample deviation over seeds of the validation accuracy in percent; None if the settings were refused."""

    validation: float | None
    deviation: float | None
    seconds: float
    note: str = ""

    def columns(self) -> log.LogRow:
        """The columns of the log that it fills."""
        return {name: "" if value is None else str(value) for name, value in dataclasses.asdict(self).items()}


def run(problem: Problem, settings: Settings) -> TrialResult:
    """Trains and validates once per seed. Notes, and does not raise, if settings are refused or do not fit into memory."""
    started, scores, note = time.perf_counter(), [], ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LocalGCLWarning)
        try:
            for seed, splits in zip(problem.seeds, problem.splits, strict=True):
                z = _embed(problem, settings, seed)
                scored = validate(z, problem.graph, splits, protocol=problem.protocol, device=problem.device, seed=seed)
                scores.append(scored.mean)
        except (_Refused, OutOfMemory) as error:
            note = f"refused: {error}"
        except torch.OutOfMemoryError:
            note = "out of GPU memory"
    if choose_device(problem.device).type == "cuda":
        torch.cuda.empty_cache()  # other workers share the card
    seconds = round(time.perf_counter() - started, 2)
    if note:
        return TrialResult(None, None, seconds, note)
    notes = [str(warning.message) for warning in caught if issubclass(warning.category, LocalGCLWarning)]
    deviation = statistics.stdev(scores) if len(scores) > 1 else 0.0
    return TrialResult(round(statistics.fmean(scores), 4), round(deviation, 4), seconds, notes[0] if notes else "")


class _Refused(Exception):
    """The library refuses these settings, or their result cannot be trusted."""


def _embed(problem: Problem, settings: Settings, seed: int) -> torch.Tensor:
    try:
        config = configure(problem.method, {**settings, "seed": seed, "device": problem.device})
        # Reading the loss makes the host wait for a GPU.
        z = fit(problem.graph, config.replace(log_every=max(10, config.training.log_every))).embed(problem.graph)
    except ValueError as error:
        raise _Refused(" ".join(str(error).split())) from error
    if not bool(torch.isfinite(z).all()):
        raise _Refused("the embeddings are not finite")
    return z


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a search tries: the space, the settings that do not vary, and the point to begin with."""

    space: Space
    base: Settings
    first: Settings

    @classmethod
    def make(cls, space: Space, base: Settings, method: str, fixed: Mapping[str, Any]) -> "Plan":
        """A plan whose space includes the values of the first point."""
        flat = configure(method, base).flat()
        space = space.without(fixed)
        first = {option: flat[option] for option in space.values}
        return cls(space.including(first), {option: flat[option] for option in base}, first)

    def settings(self, point: Settings) -> Settings:
        return {**self.base, **point}

    def point(self, settings: Settings) -> Settings:
        """The point whose settings these are."""
        return {option: settings.get(option) for option in self.space.values}

    def trials(self, rows: list[log.LogRow]) -> list[tuple[Settings, float]]:
        """Points and scores of the logged rows that belong to this plan: those with its base and a point of its space."""
        found = []
        for row in rows:
            point = self.point({name: _as_option(value) for name, value in json.loads(row["settings"]).items()})
            inside = all(value in self.space.values[option] for option, value in point.items())
            if inside and key(self.settings(point)) == row["settings"]:
                found.append((point, log.score(row)))
        return found


def _as_option(value: Any) -> Any:
    """A value of the log as an option has it: JSON has lists where options have tuples."""
    return tuple(value) if isinstance(value, list) else value


def search(
    problem: Problem,
    plan: Plan,
    rows: list[log.LogRow],
    record: Callable[[Settings, TrialResult], None],
    options: SearchOptions,
) -> None:
    """Keeps trials running until `rows` has as many as asked for, or the space is used up; `record` adds results to `rows`."""

    def propose(running: Collection[Settings]) -> Settings | None:
        tried = [*plan.trials(rows), *((plan.point(settings), None) for settings in running)]
        if len(tried) >= options.trials:
            return None
        begun = key(plan.first) in {key(point) for point, _ in tried}
        point = SAMPLERS[options.sampler](plan.space, tried, options.seed) if begun else plan.first
        return None if point is None else plan.settings(point)

    for settings, result in Sweep(run, problem, options.jobs).results(propose):
        record(settings, result)
