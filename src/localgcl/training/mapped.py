"""Runs on a graph folder: which of them read rows from files, and the preparation they need."""

from pathlib import Path

import torch

from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.graph.mapped import MappedGraph, cache_folder, mapped, mapped_statistics
from localgcl.graph.prepare import ColumnStatistics, column_statistics, prepare


def reads_rows(graph: Graph, config: Config) -> bool:
    """Whether this run leaves the graph on disk: one of a folder, whose batches need rows and not the whole graph."""
    batch = getattr(config.options, "batch", 0)
    stored = graph.folder is not None and graph.x.layout == torch.strided
    return stored and config.encoder.encoder == "hops" and 0 < batch < graph.num_nodes


def prepared_for(graph: Graph, config: Config, statistics: ColumnStatistics, run: Path | None = None) -> Graph:
    """The graph as the method reads it: in memory, or mapped; `run` may keep rows that the graph folder cannot."""
    if not reads_rows(graph, config):
        return prepare(graph, config.preparation, statistics)
    for name in ("batch_norm", "pca"):
        if getattr(config.encoder, name):
            raise ValueError(
                f"{name} needs the rows of all nodes at once, but those of a graph folder stay on disk; leave it out"
            )
    if any(name.startswith("G") for name in config.encoder.channels):
        raise ValueError("a channel that is a GCN reads the whole graph, but a graph folder stays on disk; take S2X or B2X")
    assert graph.folder is not None
    return mapped(graph, config.preparation, statistics, cache_folder(graph.folder, run))


def statistics_for(graph: Graph, config: Config) -> ColumnStatistics:
    """Column statistics of the training graph."""
    return (mapped_statistics if reads_rows(graph, config) else column_statistics)(graph, config.preparation.scaling)


def on_device(graph: Graph, device: torch.device) -> Graph:
    """The prepared graph where the method is; a mapped one stays where it is, and its rows are sent."""
    return graph if isinstance(graph, MappedGraph) else graph.to(device)
