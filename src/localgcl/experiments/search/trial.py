"""One trial: train with some settings on a few seeds, and validate."""

import dataclasses
import pickle
import signal
import statistics
import time
import warnings
from collections.abc import Sequence
from typing import Any

import torch

from localgcl.config import LocalGCLWarning
from localgcl.datasets import hide_test_labels, redrawn_splits
from localgcl.evaluation import validate
from localgcl.experiments.compare import splits_of
from localgcl.experiments.search.space import Settings
from localgcl.graph import Graph, Split
from localgcl.methods import configure
from localgcl.system.devices import choose_device
from localgcl.training import fit


@dataclasses.dataclass(frozen=True)
class Problem:
    """What all trials of a search share. `graph` has no labels of test nodes; `splits` are those of each seed."""

    graph: Graph
    splits: tuple[Sequence[Split], ...]
    method: str
    protocol: str
    device: str

    @classmethod
    def of(cls, graph: Graph, method: str, *, seeds: int, splits: int, redraws: int, protocol: str, device: str) -> "Problem":
        """The graph's own first `splits` for every seed, or for each seed one random split; test labels are hidden here."""
        if redraws and len(graph.splits) != 1:
            raise ValueError(
                f"redraws is {redraws}, which divides a single given split anew; the graph has {len(graph.splits)}"
            )
        chosen = tuple(tuple(splits_of(graph, 1, seed)[:splits]) for seed in range(seeds))
        if redraws:
            chosen = tuple((*own, *redrawn_splits(graph, own[0], redraws)) for own in chosen)
        hidden = hide_test_labels(graph, [split for parts in chosen for split in parts])
        return cls(hidden, chosen, method, protocol, device)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Mean and sample deviation over seeds of the validation accuracy in percent; None where the settings were refused."""

    validation: float | None
    deviation: float | None
    seconds: float
    note: str = ""


def run(problem: Problem, settings: Settings) -> Outcome:
    """Trains and validates once a seed. Settings that cannot be trusted or do not fit into memory are noted, not raised."""
    started, scores, note = time.perf_counter(), [], ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LocalGCLWarning)
        try:
            for seed, splits in enumerate(problem.splits):
                z = _embed(problem, settings, seed)
                scored = validate(z, problem.graph, splits, protocol=problem.protocol, device=problem.device)
                scores.append(scored.mean)
        except (_Refused, torch.cuda.OutOfMemoryError) as error:
            note = f"refused: {error}" if isinstance(error, _Refused) else "out of GPU memory"
    if choose_device(problem.device).type == "cuda":
        torch.cuda.empty_cache()  # other workers share the card
    seconds = round(time.perf_counter() - started, 2)
    if note:
        return Outcome(None, None, seconds, note)
    told = [str(warning.message) for warning in caught if issubclass(warning.category, LocalGCLWarning)]
    deviation = statistics.stdev(scores) if len(scores) > 1 else 0.0
    return Outcome(round(statistics.fmean(scores), 4), round(deviation, 4), seconds, told[0] if told else "")


class _Refused(Exception):
    """The library will not train with these settings, or says that the result cannot be trusted."""


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


# In a worker process, which gets the problem once and then one trial at a time:

_problem: Problem | None = None


def start_worker(problem: bytes, threads: int) -> None:
    """Called once in each process."""
    global _problem
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(threads)
    _problem = pickle.loads(problem)


def run_in_worker(settings: Settings) -> Outcome:
    """`run` on the process's own problem. Ctrl-C ends the trial, not the process, which waits for the parent's word."""
    assert _problem is not None
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return run(_problem, settings)
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None  # a plain one, which travels between processes
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def initial_arguments(problem: Problem, threads: int) -> tuple[Any, ...]:
    """What `start_worker` takes. Pickled here, so that tensors travel by value and not through shared memory."""
    return pickle.dumps(problem), threads
