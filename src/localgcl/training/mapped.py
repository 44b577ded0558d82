"""Runs on a graph folder: which of them read rows from files, and the preparation they need."""

import shutil
from pathlib import Path

import torch

from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.graph.mapped import BLOCK, MappedGraph, cache_folder, mapped, mapped_statistics
from localgcl.graph.prepare import ColumnStatistics, column_statistics, prepare
from localgcl.methods import find_method
from localgcl.nn.hops import parse_channel
from localgcl.nn.memory import FLOAT, INDEX, encoder_stacks
from localgcl.system.memory import OutOfMemory
from localgcl.training.memory import CUDA_HOST, INTERPRETER


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
    cache = cache_folder(graph.folder, run)
    check_disk(graph, config, cache)
    return mapped(graph, config.preparation, statistics, cache)


def statistics_for(graph: Graph, config: Config) -> ColumnStatistics:
    """Column statistics of the training graph."""
    return (mapped_statistics if reads_rows(graph, config) else column_statistics)(graph, config.preparation.scaling)


def on_device(graph: Graph, device: torch.device) -> Graph:
    """The prepared graph where the method is; a mapped one stays where it is, and its rows are sent."""
    return graph if isinstance(graph, MappedGraph) else graph.to(device)


def mapped_memory(graph: Graph, config: Config, device: torch.device) -> int:
    """Bytes of a run that leaves the graph on disk: a few numbers a node, a block of rows, and one batch.

    What is mapped does not count: the system drops it when memory is short.
    """
    encoder, columns = config.encoder, graph.num_features + config.encoder.fourier
    # Degrees, sums of weights and inverse roots with temporaries, a mark for each channel; and the names of the nodes.
    nodes = graph.num_nodes * (5 * INDEX + FLOAT + len(encoder.channels)) + graph.node_ids.nbytes
    block = BLOCK * FLOAT * (4 * columns + 4 * sum(stack[-1] for stack in encoder_stacks(graph.num_features, encoder)))
    # As on a graph of the batch's own size, with the mean degree of this one.
    degree = -(-graph.num_edges // graph.num_nodes)
    rows = min(graph.num_nodes, config.options.batch * (1 + min(degree, config.options.sampled or degree)))
    batch = find_method(config.method).memory(rows, rows * degree, graph.num_features, config)
    return INTERPRETER + (CUDA_HOST if device.type == "cuda" else 0) + nodes + block + batch


def check_disk(graph: Graph, config: Config, cache: Path) -> None:
    """Raises OutOfMemory if the files of the channels would not fit on the disk."""
    channels = map(parse_channel, config.encoder.channels)
    # A channel of k steps is computed from that of k - 1.
    files = {(name.matrix, power) for name in channels for power in range(1, name.power + 1)}
    scaled = config.preparation.scaling != "raw" or config.encoder.fourier > 0
    size = (len(files) + scaled) * FLOAT * graph.num_nodes * (graph.num_features + config.encoder.fourier)
    place = next(parent for parent in (cache, *cache.parents) if parent.exists())
    there = sum(path.stat().st_size for path in cache.glob("*.npy")) if cache.is_dir() else 0
    free = shutil.disk_usage(place).free
    if size > free + there:
        raise OutOfMemory(
            f"the channels take {size / 2**30:.1f} GiB in {cache}, and {free / 2**30:.1f} GiB are free; "
            "free some space, or take fewer channels"
        )
