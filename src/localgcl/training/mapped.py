"""Runs on a graph folder: which of them read rows from files, and the preparation they need."""

import shutil
from pathlib import Path

import torch

from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.graph.arrays import ids_memory
from localgcl.graph.mapped import BLOCK, MappedGraph, cache_folder, mapped, mapped_statistics
from localgcl.graph.prepare import ColumnStatistics, column_statistics, prepare
from localgcl.methods import find_method
from localgcl.nn.encoders import Encoder
from localgcl.nn.hop_files import channel_rows
from localgcl.nn.hops import Hops, columns_read, parse_channel
from localgcl.nn.memory import FLOAT, INDEX, encoder_stacks
from localgcl.system.memory import OutOfMemory
from localgcl.system.team import Team
from localgcl.training.memory import CUDA_HOST, INTERPRETER


def reads_rows(graph: Graph, config: Config) -> bool:
    """Whether this run leaves the graph on disk: one of a folder, whose batches need rows and not the whole graph."""
    stored = graph.folder is not None and (graph.x.layout == torch.strided or config.encoder.projected > 0)
    return stored and find_method(config.method).streams() and 0 < config.training.batch < graph.num_nodes


def prepared_for(graph: Graph, config: Config, statistics: ColumnStatistics, run: Path | None = None) -> Graph:
    """The graph as the method reads it: in memory, or mapped; `run` may keep rows that the graph folder cannot."""
    if not reads_rows(graph, config):
        return prepare(graph, config.preparation, statistics)
    over_hops = config.encoder.encoder == "hops"
    for name in ("batch_norm", "pca"):
        if over_hops and getattr(config.encoder, name):
            raise ValueError(
                f"{name} needs the rows of all nodes at once, but those of a graph folder stay on disk; leave it out"
            )
    if over_hops and any(name.startswith("G") for name in config.encoder.channels):
        raise ValueError("a channel that is a GCN reads the whole graph, but a graph folder stays on disk; take S2X or B2X")
    assert graph.folder is not None
    cache = cache_folder(graph.folder, run)
    check_disk(graph, config, cache)
    return mapped(graph, config.preparation, statistics, cache)


def compute_rows(graph: Graph, encoder: Encoder, team: Team) -> None:
    """Makes the files of all channels that are not there yet, each process of `team` its share of the rows."""
    assert isinstance(graph, MappedGraph)
    assert isinstance(encoder, Hops)
    for name in encoder.names:
        channel_rows(graph, *parse_channel(name), encoder.made, team)


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
    encoder, columns = config.encoder, columns_read(graph.num_features, config.encoder)
    # Degrees, sums of weights and inverse roots with temporaries, a mark for each channel; and the names of the nodes.
    nodes = graph.num_nodes * (5 * INDEX + FLOAT + len(encoder.channels)) + ids_memory(graph.node_ids)
    widest = sum(max(stack[1:]) for stack in encoder_stacks(graph.num_features, encoder))
    block = BLOCK * FLOAT * 4 * (columns + widest)
    kind, degree = find_method(config.method), -(-graph.num_edges // graph.num_nodes)
    rows = min(graph.num_nodes, config.training.batch * (1 + min(degree, config.training.sampled or degree)))
    if encoder.encoder == "hops":  # as on a graph of the batch's own size, with the mean degree of this one
        batch = kind.memory(rows, rows * degree, graph.num_features, config)
    else:
        batch = kind.batch_memory(graph.num_nodes, graph.num_edges, graph.num_features, config)
    return INTERPRETER + (CUDA_HOST if device.type == "cuda" else 0) + nodes + block + batch


def check_disk(graph: Graph, config: Config, cache: Path) -> None:
    """Raises OutOfMemory if the files of the channels, or of the layers of a GCN, would not fit on the disk."""
    encoder = config.encoder
    scaled = config.preparation.scaling != "raw" or encoder.fourier > 0 or encoder.projected > 0
    if encoder.encoder == "hops":
        channels = map(parse_channel, encoder.channels)
        # A channel of k steps is computed from that of k - 1.
        files = {(name.matrix, power) for name in channels for power in range(1, name.power + 1)}
        what, columns = "channels", (len(files) + scaled) * columns_read(graph.num_features, encoder)
    else:
        # One layer's outputs are read while the next one's are written (see `nn.layerwise`).
        what, columns = "layers", scaled * graph.num_features + 2 * max(encoder_stacks(graph.num_features, encoder)[0][1:])
    size = FLOAT * graph.num_nodes * columns
    place = next(parent for parent in (cache, *cache.parents) if parent.exists())
    there = sum(path.stat().st_size for path in cache.glob("*.npy")) if cache.is_dir() else 0
    free = shutil.disk_usage(place).free
    if size > free + there:
        raise OutOfMemory(
            f"the {what} take {size / 2**30:.1f} GiB in {cache}, and {free / 2**30:.1f} GiB are free; "
            f"free some space, or take fewer {what}"
        )
