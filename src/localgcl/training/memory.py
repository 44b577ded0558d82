"""Memory of a run, estimated from sizes before it starts.

A run holds the interpreter, the graph as it was read, the prepared graph, the weights with their gradients and two moments, and
what a training step needs (`Method.memory`). Preparing sorts the edges, which for a while takes more than the graph itself.
The constants below were measured; `python -m benchmarks.memory_check` compares whole runs with the estimate.
"""

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import torch

from localgcl.config import Config, Preparation
from localgcl.graph import Graph
from localgcl.graph.arrays import ids_memory
from localgcl.graph.mapped import BLOCK
from localgcl.methods import find_method
from localgcl.methods.parts import in_mode
from localgcl.nn.encoders import encoder_kind
from localgcl.nn.hops import columns_read
from localgcl.nn.layers import sparse_enough
from localgcl.nn.memory import FLOAT, INDEX, encoder_memory, encoder_stacks
from localgcl.system.memory import OutOfMemory
from localgcl.training.step import SMALL
from localgcl.training.weights import declared_method

MIB = 2**20

# Python with torch, SciPy, scikit-learn and pyarrow; the part of it that they load when training starts.
INTERPRETER, LATE = 540 * MIB, 165 * MIB
# Numba and LLVM, which compile the kernels of structured features on a CPU.
COMPILER = 110 * MIB
# CUDA's libraries on the host.
CUDA_HOST = 1500 * MIB
# Reading: bytes an edge, whose ids are matched and sorted; bytes a byte of features, which are copied and checked.
MATCHED, COPIED = 105, 2.5
# Computing structural features: copies of them in double precision, on symmetrised edges.
COMPUTED = 5 * 2
# Preparing: bytes an edge as read (both directions of it in a sort) and an edge that is kept.
SORTED, SELECTED = 113, 48
# Edge weights: bytes an edge of merging them, or of normalising them in double precision.
WEIGHED = 45
# The prepared graph: targets, sources, and the reversed edges with their positions; a mask.
PREPARED = 4 * INDEX + 2
# Checking that features are finite compares and masks copies of them: bytes a byte of features.
CHECKED = 1.75
# Weights with gradients and two moments; a checkpoint copies weights and moments twice.
TRAINED, STORED = 4, 6
# Freed blocks below 32 MiB stay with the process, in pieces: up to one and a half times what is in use, and at most so many
# bytes for each of the first channels of an encoder. More channels mean more and smaller blocks.
PIECES, MOST_PIECES = 160 * MIB, 5
# On a GPU: what CUDA's libraries work with, and the share that torch's allocator reserves beyond what is used.
WORKSPACE, RESERVED = 64 * MIB, 0.2


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What the estimate knows of a graph.

    Args:
        nodes: Number of nodes.
        edges: Stored edges, as read.
        features: Feature columns.
        stored: Stored feature values, where features are sparse.
        prepared: Stored edges of the prepared graph.
        weighted: Whether edges have weights.
    """

    nodes: int
    edges: int
    features: int
    stored: int | None = None
    prepared: int = 0
    weighted: bool = False

    @classmethod
    def of(cls, graph: Graph, preparation: Preparation) -> "Sizes":
        """The sizes of a graph as read. Edges that have no reverse yet are counted on a sample."""
        stored = graph.x.values().numel() if graph.x.layout == torch.sparse_csr else None
        prepared = graph.num_edges
        if preparation.symmetrise:
            # Without merging repeats, the reverse of every edge is added.
            share = reversed_share(graph) if preparation.parallel_edges == "drop" else 0.0
            prepared = round(prepared * (2 - share))
        return cls(graph.num_nodes, graph.num_edges, graph.num_features, stored, prepared, graph.weights is not None)

    @property
    def columns(self) -> int:
        """Feature columns, or the number of dense columns that take the memory of sparse features."""
        if self.stored is None or not sparse_enough(self.stored / max(1, self.nodes * self.features)):
            return self.features
        return -(-(INDEX + FLOAT) * self.stored // (FLOAT * self.nodes))

    @property
    def graph(self) -> int:
        """Bytes of the graph as read: features, edges, sources once asked for, weights; pointers, labels and ids."""
        values = FLOAT * self.nodes * self.features if self.stored is None else (INDEX + FLOAT) * self.stored
        return values + (2 * INDEX + self.weighted * FLOAT) * self.edges + 3 * INDEX * self.nodes


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Bytes of a run: `held` by interpreter and graph before it starts, what each phase adds to that, and those on a GPU."""

    held: int
    preparing: int
    training: int
    embedding: int
    device: int = 0

    @property
    def peak(self) -> int:
        return self.held + self.growth

    @property
    def growth(self) -> int:
        """What the largest phase adds to what is held before."""
        return max(self.preparing, self.training, self.embedding)


def reading_memory(nodes: int, edges: int, features: int, *, structural: bool = False) -> int:
    """Peak bytes of the process while it reads a graph of this size from files, or computes `structural` features for it."""
    values = FLOAT * nodes * features
    if structural:
        return INTERPRETER + (SORTED + SELECTED) * edges + COMPUTED * values
    return INTERPRETER + MATCHED * edges + round(COPIED * values)


def estimate(sizes: Sizes, config: Config, device: torch.device, *, stored: bool = True) -> Estimate:
    """The memory of a run with these settings. Grows with the number of nodes, edges and dimensions.

    `stored` says whether there is a run folder, into which checkpoints are written.
    """
    on_gpu = device.type == "cuda"
    compiled = COMPILER if not on_gpu and find_method(config.method).compiles(config) else 0
    held = INTERPRETER + (CUDA_HOST if on_gpu else 0) + compiled + sizes.graph
    features, scaled = FLOAT * sizes.nodes * sizes.columns, config.preparation.scaling != "raw"
    prepared = (PREPARED + sizes.weighted * FLOAT) * sizes.prepared + 2 * INDEX * sizes.nodes + scaled * features
    weighing = sizes.weighted * WEIGHED * sizes.prepared
    preparing = max(SORTED * sizes.edges + SELECTED * sizes.prepared + weighing, prepared + round(CHECKED * features))
    method, step = declared_method(config, sizes.features), step_memory(sizes, config, device) + weighing
    # A method that cannot be built without memory counts as one without weights.
    weights = 0 if method is None else sum(tensor.nbytes for tensor in method.state_dict().values())
    # Checkpoints come between steps, when a step's own memory is free again.
    checkpoint = STORED * weights if stored and 0 < config.training.checkpoint_every < config.training.steps else 0
    parts = encoder_stacks(sizes.features, config.encoder)
    embeddings = FLOAT * sizes.nodes * sum(stack[-1] for stack in parts)
    # Layer by layer a pass holds the outputs of two layers on the host, of the last one as the result. With batch norm one such
    # pass ends the training.
    kind = find_method(config.method)
    layered = kind.embeds_in_layers(sizes.nodes, config)
    layers = 2 * FLOAT * sizes.nodes * max(parts[0][1:]) if layered else 0
    training = TRAINED * weights + max(step, checkpoint, layers if config.encoder.batch_norm else 0)
    one_pass = _pass_memory(sizes, config, device) if not layered else 4 * FLOAT * min(sizes.nodes, BLOCK) * max(parts[0])
    if on_gpu:
        # A recorded step has memory of its own beside that of the steps before it.
        recorded = 2 if method is not None and method.static and sizes.nodes <= SMALL else 1
        on_card = prepared + features + max(TRAINED * weights + recorded * step, weights + one_pass)
        phases = preparing, weights + checkpoint, max(preparing, layers, embeddings)
        return Estimate(held, *phases, device=WORKSPACE + round((1 + RESERVED) * on_card))
    embedding = weights + max(preparing, prepared + one_pass + layers)
    phases = preparing, prepared + training, embedding
    pieces = PIECES * min(len(parts), MOST_PIECES)
    return Estimate(held, *(phase + min(3 * phase // 2, pieces) for phase in phases))


def reversed_share(graph: Graph, sample: int = 512) -> float:
    """The share of edges whose reverse is stored too, on an evenly spaced sample: O(sample log degree), nothing is sorted."""
    if graph.num_edges == 0:
        return 1.0
    indptr, indices = graph.indptr.cpu().numpy(), graph.indices.cpu().numpy()
    edges = np.linspace(0, graph.num_edges - 1, min(sample, graph.num_edges)).astype(np.int64)
    sources = np.searchsorted(indptr, edges, side="right") - 1
    found = 0
    for source, target in zip(sources.tolist(), indices[edges].tolist(), strict=True):
        row = indices[indptr[target] : indptr[target + 1]]
        place = int(np.searchsorted(row, source))
        found += place < len(row) and int(row[place]) == source
    return found / len(edges)


def step_memory(sizes: Sizes, config: Config, device: torch.device) -> int:
    """`Method.memory`, or that of a batch, in the form that mode "auto" will choose."""
    kind = find_method(config.method)
    memory = kind.batch_memory if 0 < config.training.batch < sizes.nodes else kind.memory
    size = memory(sizes.nodes, sizes.prepared, sizes.columns, config)
    chosen = in_mode(config, size, device)
    return size if chosen is config else memory(sizes.nodes, sizes.prepared, sizes.columns, chosen)


def _pass_memory(sizes: Sizes, config: Config, device: torch.device) -> int:
    """One pass over the whole graph without a backward, on a graph that is prepared once more.

    A method whose embedding is not the encoder's output counts as a step, and in batches as one over the whole graph.
    """
    kind = find_method(config.method)
    encoder = encoder_memory(sizes.nodes, sizes.prepared, sizes.columns, config.encoder)
    alone = encoder.inputs + encoder.alone if kind.encodes else 0
    if kind.streams() or (kind.encodes and not 0 < config.training.batch < sizes.nodes):
        return alone
    return max(alone, step_memory(sizes, config.replace(batch=0), device))


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
    if encoder_kind(encoder).layer_by_layer:
        batch = kind.batch_memory(graph.num_nodes, graph.num_edges, graph.num_features, config)
    else:  # as on a graph of the batch's own size, with the mean degree of this one
        batch = kind.memory(rows, rows * degree, graph.num_features, config)
    return INTERPRETER + (CUDA_HOST if device.type == "cuda" else 0) + nodes + block + batch


def check_disk(graph: Graph, config: Config, cache: Path) -> None:
    """Raises OutOfMemory if the files of the channels, or of the layers of a GCN, would not fit on the disk."""
    scaled = config.preparation.scaling != "raw"
    columns, what = encoder_kind(config.encoder).columns_on_disk(graph.num_features, config.encoder, scaled=scaled)
    size = FLOAT * graph.num_nodes * columns
    place = next(parent for parent in (cache, *cache.parents) if parent.exists())
    there = sum(path.stat().st_size for path in cache.glob("*.npy")) if cache.is_dir() else 0
    free = shutil.disk_usage(place).free
    if size > free + there:
        raise OutOfMemory(
            f"the {what} take {size / 2**30:.1f} GiB in {cache}, and {free / 2**30:.1f} GiB are free; "
            f"free some space, or take fewer {what}"
        )
