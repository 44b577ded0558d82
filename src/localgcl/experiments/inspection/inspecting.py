"""inspect: everything that `localgcl inspect` says, as plain data."""

import dataclasses
from typing import Any

from localgcl.datasets.source import Source
from localgcl.experiments.inspection.costs import method_costs
from localgcl.experiments.inspection.facts import label_facts, structure_facts, undirected_edges
from localgcl.experiments.inspection.reading import read
from localgcl.graph import Graph
from localgcl.methods.settings import choose_settings
from localgcl.recipes.defaults import likeness
from localgcl.system.devices import choose_device

PATIENCE = 20.0
"""Seconds for timing steps."""


def inspect(source: Source, *, device: str = "auto", seconds: float = PATIENCE) -> dict[str, Any]:
    """Reads and checks a graph, and says what training on it would take. Files that do not fit are problems, not errors.

    Args:
        source: A data set, a graph folder or your own files.
        device: Where it would be trained.
        seconds: How long to time steps; 0 times none.

    Returns:
        `problems` and `notes`, one line each; `columns` of the feature file; and what `inspect_graph` returns, if there is a
        graph.
    """
    found = read(source)
    told: dict[str, Any] = {
        "name": found.graph.name if found.graph is not None else None,
        "problems": found.problems,
        "notes": found.notes,
        "columns": [dataclasses.asdict(column) for column in found.columns],
        "encoded": found.encoded,
    }
    if found.graph is None:
        return told
    return told | inspect_graph(found.graph, dataset=source.dataset, device=device, seconds=seconds)


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
    chosen, place, undirected = (
        choose_settings("local-gcl", graph, dataset=dataset),
        choose_device(device),
        undirected_edges(graph),
    )
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
