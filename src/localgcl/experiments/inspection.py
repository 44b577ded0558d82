"""inspect: what is in a user's files, and what training on them would take.

Memory is as `localgcl train` estimates it, time by steps that are timed: on the graph itself if that is small, else on two
random graphs, the second twice as large, with rows of the features and the mean degree of the graph. A mini-batch takes as long
on any graph. Of a step over the whole graph, the two times tell whether it grows linearly or with the square of the nodes.
"""

import contextlib
import dataclasses
import functools
import logging
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
import torch

from localgcl.config import Config, LocalGCLWarning
from localgcl.datasets.source import Source
from localgcl.graph import Graph
from localgcl.graph.csr import CSR, select_rows
from localgcl.graph.prepare import column_statistics, prepare
from localgcl.graph.statistics import edge_homophily, homophily_by_chance
from localgcl.io.encode import AUTO
from localgcl.io.files import ColumnFacts, describe_columns, graph_name, joined_graph, read_classes, read_edges, read_features
from localgcl.io.ids import Edges, Rows
from localgcl.io.roles import Columns
from localgcl.methods import DEFAULT, METHODS, find_method
from localgcl.methods.parts import in_mode
from localgcl.methods.settings import Chosen, choose_settings
from localgcl.recipes.defaults import likeness
from localgcl.system.devices import choose_device
from localgcl.system.memory import OutOfMemory
from localgcl.system.text import shown
from localgcl.training.memory import Sizes
from localgcl.training.model import Model
from localgcl.training.preflight import check_files, in_fitting_batches, preflight
from localgcl.training.step import make_optimiser, make_step
from localgcl.training.steps import learning_rate

PATIENCE = 20.0
"""Seconds for timing steps."""
_MOST_EDGES = 50_000_000
"""Edges whose components are counted: more than these take minutes and gigabytes."""
_DIRECT, _SAMPLE, _BATCHES = 4096, 1024, 2
_TIMED = 2  # steps
_SQUARE = 3.0  # between the growth of linear and of quadratic steps on twice the nodes, 2 and 4
Part = TypeVar("Part")


def inspect(source: Source, *, device: str = "auto", seconds: float = PATIENCE) -> dict[str, Any]:
    """Reads and checks a graph, and says what training on it would take. Files that do not fit are problems, not errors.

    Returns `problems` and `notes`, one line each; `columns` of the feature file; and what `inspect_graph` returns, which takes
    the same arguments, if there is a graph.
    """
    found = read(source)
    report: dict[str, Any] = {
        "name": None if found.graph is None else found.graph.name,
        "problems": found.problems,
        "notes": found.notes,
        "columns": [dataclasses.asdict(column) for column in found.columns],
        "encoded": found.encoded,
    }
    whole = {} if found.graph is None else inspect_graph(found.graph, dataset=source.dataset, device=device, seconds=seconds)
    return report | whole


def inspect_graph(
    graph: Graph, *, dataset: str | None = None, device: str = "auto", seconds: float = PATIENCE
) -> dict[str, Any]:
    """What a graph is like, the settings that Local-GCL would have on it and why, and what each method would take.

    Args:
        graph: As read.
        dataset: Use the recipes of this data set.
        device: Where it would be trained.
        seconds: How long to time steps; 0 times none.

    Example:
        >>> import localgcl as lg
        >>> found = inspect_graph(lg.sbm(100, classes=2), seconds=0)
        >>> found["structure"]["nodes"], found["labels"]["classes"], found["methods"]["local-gcl"]["fits"]
        (100, {'0': 50, '1': 50}, True)
    """
    chosen, place = choose_settings(DEFAULT, graph, dataset=dataset), choose_device(device)
    undirected = undirected_edges(graph)
    return {
        "structure": structure_facts(graph, undirected),
        "labels": label_facts(graph, undirected),
        "splits": len(graph.splits),
        "features": graph.num_features,
        "likeness": likeness(graph),
        "settings": dict(chosen.values),
        "reasons": list(chosen.reasons.values()),
        "device": str(place),
        "methods": method_costs(graph, dataset, place, seconds=seconds),
    }


def structure_facts(graph: Graph, undirected: CSR) -> dict[str, Any]:
    """Sizes as stored; degrees and components of the undirected graph, which is what training sees. O(|E|)."""
    degree = undirected.degree.cpu().numpy()
    facts = {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "pairs": undirected.num_entries // 2,
        "weighted": graph.weights is not None,
        "self_loops": None if graph.folder is not None else int(graph.loops.sum()),
        "isolated": int((degree == 0).sum()),
        "degree": {
            "min": int(degree.min()),
            "median": float(np.median(degree)),
            "mean": float(degree.mean()),
            "max": int(degree.max()),
        },
        "components": None,
        "largest_component": None,
    }
    if undirected.num_entries <= _MOST_EDGES:
        count, member = sp.csgraph.connected_components(undirected.to_scipy(), directed=False)
        facts |= {"components": int(count), "largest_component": int(np.bincount(member).max())}
    return facts


def label_facts(graph: Graph, undirected: CSR) -> dict[str, Any] | None:
    """Classes with their sizes, and how often edges join nodes of one class; None without labels.

    By chance: the same of edges whose ends were drawn among the ends of all edges between labelled nodes.
    """
    if graph.y is None or not bool((graph.y >= 0).any()):
        return None
    y, names = graph.y, graph.class_names
    sizes = y[y >= 0].bincount().tolist()
    classes = {str(label) if names is None else names[label]: size for label, size in enumerate(sizes) if size}
    unweighted = CSR(undirected.indptr, undirected.indices, rows=undirected.rows)
    pairs = int(((y[unweighted.rows] >= 0) & (y[unweighted.indices] >= 0)).sum()) // 2
    facts: dict[str, Any] = {"labelled": int((y >= 0).sum()), "classes": classes, "pairs": pairs}
    if pairs:
        facts |= {"homophily": edge_homophily(unweighted, y), "by_chance": homophily_by_chance(unweighted, y)}
    return facts


def undirected_edges(graph: Graph) -> CSR:
    """N(i) of each node: both directions of every edge, once, without self-loops. O(|E| log |E|)."""
    # A graph folder is undirected and has none.
    return graph.csr if graph.folder is not None else graph.symmetrized().csr.without_loops


@dataclasses.dataclass
class Reading:
    """What was read, and what went wrong.

    Args:
        graph: None if there is no graph to read.
        columns: Those of the feature file.
        problems: What stops `localgcl train`, and the way out, one line each.
        notes: What it would warn of.
        encoded: Whether features were encoded though nobody asked for it, because they cannot be read otherwise.
        structural: Whether the graph has structural features, computed from its edges.
    """

    graph: Graph | None = None
    columns: list[ColumnFacts] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    encoded: bool = False
    structural: bool = False

    def attempt(self, read: Callable[[], Part]) -> Part | None:
        """Returns what `read` returns; if it fails, adds a problem and returns None."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LocalGCLWarning)
            try:
                return read()
            except (ValueError, OSError, OutOfMemory) as error:
                problem = " ".join(str(error).split())
                if problem not in self.problems:
                    self.problems.append(problem)
                return None
            finally:
                notes = [str(note.message) for note in caught if issubclass(note.category, LocalGCLWarning)]
                self.notes += [note for note in notes if note not in self.notes]


def read(source: Source) -> Reading:
    """The graph of a source, or of those of its files that fit each other."""
    found = Reading()
    if source.edges is None:
        found.graph = found.attempt(source.read)
        return found
    path = source.edges
    if found.attempt(lambda: check_files(path, source.features)) is None and found.problems:
        return found  # too large to be read here
    columns = source.columns
    edges = found.attempt(lambda: read_edges(Path(path), source.weight, columns))
    rows = None if source.features is None else _features(found, Path(source.features), columns)
    labels = source.labels
    classes = None if labels is None else found.attempt(lambda: read_classes(Path(labels), columns))
    if edges is not None:
        found.graph = _joined(found, edges, rows, classes, graph_name(path))
    if source.features is not None and found.graph is not None and found.structural:
        found.notes[:] = [note for note in found.notes if "no features given" not in note]
        found.notes.append(f"{shown(source.features)} could not be used: all else is said for structural features")
    return found


def _features(found: Reading, path: Path, columns: Columns) -> Rows | None:
    """Features as asked for, else encoded, without the columns that cannot be."""
    found.columns = found.attempt(lambda: describe_columns(path, columns)) or []
    rows = found.attempt(lambda: read_features(path, columns))
    usable = [column.name for column in found.columns if not (column.refused or column.dropped)]
    if rows is not None or not usable:
        return rows
    dropped, refused = ([column.name for column in found.columns if getattr(column, why)] for why in ("dropped", "refused"))
    found.encoded = True
    if set(refused) - set(dropped):  # the way out of one problem must not end in the next
        found.attempt(lambda: read_features(path, columns._replace(encode=AUTO)))
    otherwise = columns._replace(encode=AUTO, drop=(*dropped, *refused))
    return found.attempt(lambda: read_features(path, otherwise))


def _joined(found: Reading, edges: Edges, rows: Rows | None, classes: Rows | None, name: str) -> Graph | None:
    """Joins all parts into a graph; where they do not fit each other, fewer of them."""
    attempts = dict.fromkeys([(rows is not None, classes is not None), (rows is not None, False), (False, False)])
    for features, labels in attempts:
        given = rows if features else None, classes if labels else None
        graph = found.attempt(functools.partial(joined_graph, edges, *given, name))
        if graph is not None:
            found.structural = not features
            return graph
    return None


# What training would take


class Timed(NamedTuple):
    """Seconds on one graph: until the first batch, of a step, and of embedding all nodes."""

    setup: float
    step: float
    embedding: float


def method_costs(graph: Graph, dataset: str | None, device: torch.device, *, seconds: float) -> dict[str, dict[str, Any]]:
    """Memory and time of each method that learns, with the settings that it would have on this graph; see `inspect_graph`."""
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
    return {
        "dim": config.encoder.dim,
        "steps": config.training.steps,
        "batch": None if whole else config.training.batch,
        "memory_bytes": needs.host,
        "gpu_bytes": None if needs.room.card is None else needs.card,
        "available_bytes": needs.room.host,
        "fits": needs.fit,
        "seconds": _seconds(graph, config, device) if timed and needs.fit else None,
    }


def _seconds(graph: Graph, config: Config, device: torch.device) -> float | None:
    """About how long a run takes on this machine; None if a step of it cannot be taken on a sample."""
    # In the form that mode "auto" takes on this graph: a sample is small and would take another one.
    sizes = Sizes.of(graph, config.preparation)
    config = in_mode(config, find_method(config.method).memory(sizes.nodes, sizes.prepared, sizes.columns, config), device)
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
