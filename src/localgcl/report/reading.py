"""A run folder -> the nodes that are shown: all of its graph, or a random sample of it."""

import dataclasses

import numpy as np
import torch
from jaxtyping import Float32, Int
from torch import Tensor

from localgcl.graph import Graph
from localgcl.graph.csr import CSR
from localgcl.system.text import shown
from localgcl.training import Model, RunFolder

MOST_NODES = 200_000
"""Nodes on a map, at most."""
_SEEDS = 2**32
"""Seeds lie below this: UMAP uses NumPy's, of 32 bits."""


@dataclasses.dataclass(frozen=True, eq=False)
class Subject:
    """What is reported on.

    Args:
        run: The run folder.
        model: Its model.
        graph: The whole graph.
        edges: Its edges in both directions, once, without self-loops.
        nodes: Positions of the shown nodes, ascending.
        z: Their embeddings.
        part: The graph of the shown nodes, with the edges between them in both directions; the whole graph if all are shown.
    """

    run: RunFolder
    model: Model
    graph: Graph
    edges: CSR
    nodes: Int[Tensor, " n"]
    z: Float32[np.ndarray, "n d"]
    part: Graph

    @property
    def is_sample(self) -> bool:
        return self.part.num_nodes < self.graph.num_nodes

    @property
    def shown(self) -> str:
        """One sentence: how many nodes are shown."""
        if not self.is_sample:
            return f"All {self.graph.num_nodes:,} nodes are shown."
        return f"Shown are {self.part.num_nodes:,} of {self.graph.num_nodes:,} nodes, drawn at random."


def read_subject(run: RunFolder, graph: Graph | None = None, *, most: int | None = None, seed: int = 0) -> Subject:
    """Reads the graph of a run and embeds it, a block of rows at a time if it stays on disk.

    Args:
        run: A run folder.
        graph: The graph; by default the one that the run was trained on, as `localgcl embed RUN` finds it.
        most: Show at most so many nodes; all when not given.
        seed: Seed of the sample.

    Raises:
        ValueError: The run does not know its graph, and none is given; or the seed is out of range.
    """
    if not 0 <= seed < _SEEDS:
        raise ValueError(f"seed is {seed}; it must be at least 0 and at most {_SEEDS - 1}, for example 0")
    if graph is None:
        if not run.source:
            raise ValueError(
                f"{shown(run.path)} does not say which graph it was trained on; pass the graph in Python: graph=..."
            )
        graph = run.graph_source.read()
    model = Model.load(run)
    n = graph.num_nodes
    nodes = torch.arange(n)
    if most is not None and n > most:
        nodes = torch.randperm(n, generator=torch.Generator().manual_seed(seed))[:most].sort().values
    undirected = graph if graph.folder is not None else graph.symmetrized().without_loops()  # a folder's edges are so already
    part = undirected.subgraph(nodes) if len(nodes) < n else undirected
    return Subject(run, model, graph, undirected.csr, nodes, _rows(model, graph, run, nodes), part)


def _rows(model: Model, graph: Graph, run: RunFolder, nodes: Int[Tensor, " n"]) -> Float32[np.ndarray, "n d"]:
    """Embeddings of some nodes, in ascending order."""
    kept, start = [], 0
    for block in model.embed_blocks(graph, cache=run.path):
        first, last = torch.searchsorted(nodes, torch.tensor([start, start + len(block)])).tolist()
        kept.append(block[nodes[first:last] - start].numpy())
        start += len(block)
    return np.concatenate(kept)
