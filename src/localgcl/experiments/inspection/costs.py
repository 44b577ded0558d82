"""What training each method on a graph would take: memory as `localgcl train` estimates it, and time by steps that are timed.

A step is timed on the graph itself if that is small. Else it is timed on two random graphs, the second twice as large, with
rows of the features and the mean degree of the graph. A mini-batch takes as long on any graph. Of a step over the whole graph,
the two times tell whether it grows linearly or with the square of the number of nodes.
"""

import contextlib
import logging
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from localgcl.config import Config, LocalGCLWarning
from localgcl.graph import Graph
from localgcl.graph.csr import select_rows
from localgcl.graph.prepare import column_statistics, prepare
from localgcl.methods import METHODS
from localgcl.methods.parts import fits_quarter
from localgcl.methods.settings import Chosen, choose_settings
from localgcl.training.memory import Sizes
from localgcl.training.model import Model
from localgcl.training.preflight import Needs, in_fitting_batches, preflight
from localgcl.training.step import make_optimiser, make_step
from localgcl.training.steps import learning_rate

_DIRECT, _SAMPLE, _BATCHES = 4096, 1024, 2
_TIMED = 2  # steps
_SQUARE = 3.0  # between the growth of linear and of quadratic steps on twice the nodes, 2 and 4


class Timed(NamedTuple):
    """Seconds on one graph: until the first batch, of a step, and of embedding all nodes."""

    setup: float
    step: float
    embedding: float


def method_costs(graph: Graph, dataset: str | None, device: torch.device, *, seconds: float) -> dict[str, dict[str, Any]]:
    """Memory and time of each method that trains, with the settings that it would have on this graph.

    Args:
        graph: As read.
        dataset: Use the recipes of this data set.
        device: Where it would be trained.
        seconds: Time methods until so many have passed; 0 times none.
    """
    started, found = time.monotonic(), {}
    for name, kind in METHODS.items():
        if kind.learns:
            chosen = choose_settings(name, graph, dataset=dataset, given={"device": str(device)})
            found[name] = _cost(graph, chosen, device, timed=time.monotonic() - started < seconds)
    return found


def _cost(graph: Graph, chosen: Chosen, device: torch.device, *, timed: bool) -> dict[str, Any]:
    config, needs = chosen.config, preflight(graph, chosen.config, device, force=True)
    if "batch" not in chosen.values:
        config, _ = in_fitting_batches(graph, config, device)
        needs = preflight(graph, config, device, force=True)
    whole = not 0 < config.training.batch < graph.num_nodes
    cost = {"dim": config.encoder.dim, "steps": config.training.steps, "batch": None if whole else config.training.batch}
    return cost | _memory(needs) | {"seconds": _seconds(graph, config, device) if timed and needs.fit else None}


def _memory(needs: Needs) -> dict[str, Any]:
    gpu = None if needs.room.card is None else needs.card
    return {"memory_bytes": needs.host, "gpu_bytes": gpu, "available_bytes": needs.room.host, "fits": needs.fit}


def _seconds(graph: Graph, config: Config, device: torch.device) -> float | None:
    """About how long a run takes on this machine; None if a step of it cannot be taken on a sample."""
    config = _in_mode(graph, config, device)
    n, batch = graph.num_nodes, config.training.batch
    largest = max(_SAMPLE, _BATCHES * batch)
    try:
        if n <= max(_DIRECT, largest) and graph.folder is None:
            timed = _timed(graph, config, device)
            return timed.setup + timed.step * config.training.steps + timed.embedding
        half, full = (_timed(_random(graph, size), config, device) for size in (largest // 2, largest))
    except (ValueError, RuntimeError, MemoryError):
        return None
    growth = n / largest
    power = 0 if 0 < batch < n else 2 if full.step > _SQUARE * half.step else 1
    return (full.setup + full.embedding) * growth + full.step * growth**power * config.training.steps


def _in_mode(graph: Graph, config: Config, device: torch.device) -> Config:
    """The settings with the form that mode "auto" takes on this graph: a sample is small and would take another one."""
    if getattr(config.options, "mode", None) != "auto":
        return config
    sizes, kind = Sizes.of(graph, config.preparation), METHODS[config.method]
    fits = fits_quarter(kind.memory(sizes.nodes, sizes.prepared, sizes.columns, config), device)
    return config.replace(mode="faithful" if fits else "scalable")


def _timed(graph: Graph, config: Config, device: torch.device) -> Timed:
    """Times a few steps, after one that is not counted: it compiles kernels and allocates."""
    with _silent():
        began = time.perf_counter()
        statistics = column_statistics(graph, config.preparation.scaling)
        prepared = prepare(graph, config.preparation, statistics).to(device)
        method = Model.fresh(config, graph.num_features, statistics).method.to(device)
        method.check(prepared)
        optimiser = make_optimiser(method, config.training, prepared)
        step = make_step(method, config.training, prepared, optimiser, torch.Generator(device).manual_seed(0))
        batches = method.batches(prepared)
        batch = next(batches)
        setup = _now(device) - began
        for number in range(1 + _TIMED):
            if number == 1:
                began = _now(device)
            batch = next(batches)
            step.loss(batch)
            step.update(learning_rate(0, config.training))
        stepped = (_now(device) - began) / _TIMED
        began = _now(device)
        method.eval()
        with torch.no_grad():
            method.embed(method.prepare(prepared))
        return Timed(setup, stepped, _now(device) - began)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Hides what methods say of a sample: it does not hold for the graph."""
    log = logging.getLogger("localgcl")
    before = log.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LocalGCLWarning)
        log.setLevel(logging.WARNING)
        try:
            yield
        finally:
            log.setLevel(before)


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def _random(graph: Graph, nodes: int) -> Graph:
    """A random graph with rows of the features of `graph` and its mean degree."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randint(graph.num_nodes, (nodes,), generator=generator).sort().values
    edges = round(nodes * graph.num_edges / graph.num_nodes)
    source, target = torch.randint(nodes, (2, edges), generator=generator)
    return Graph.from_edges(source, target, x=select_rows(graph.x.cpu(), rows), feature_names=graph.feature_names)
