"""A stored graph with new nodes and edges: the neighbourhoods of both together.

Of a graph folder, rows are read as they are needed. A graph in memory is joined and prepared as a whole, as its joined files
would be: whether weights of the two directions of an edge are summed depends on all edges (see `Graph.symmetrized`).
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from localgcl.config import Preparation
from localgcl.graph import Graph
from localgcl.graph.csr import CSR, select_rows, sort_edges
from localgcl.graph.folder_rows import FolderRows
from localgcl.graph.merging import undirected
from localgcl.graph.neighbourhood import GrownRows, Neighbours, SparseRows
from localgcl.graph.prepare import prepare
from localgcl.io.added import Addition

Array = NDArray[Any]

_DONE = Preparation(symmetrise=False, drop_loops=False, parallel_edges="keep")


@dataclasses.dataclass(frozen=True)
class Joined:
    """The joined graph. Nodes of the stored graph come first.

    Args:
        num_stored: Number of nodes of the stored graph.
        feature_names: Names of its feature columns.
        features: Gives the features of some of its nodes.
        incoming: Row i lists the sources of the edges that enter node i.
        outgoing: Row i lists the targets of the edges that leave it.
        touched: Gives the nodes whose row of `incoming` is not that of the stored graph.
        preparation: What is left to do to edges.
    """

    num_stored: int
    feature_names: tuple[str, ...] | None
    features: Callable[[Array], Tensor]
    incoming: Neighbours
    outgoing: Neighbours
    touched: Callable[[], Array]
    preparation: Preparation


def join(graph: Graph | FolderRows, added: Addition, preparation: Preparation) -> Joined:
    """Joins `added` to a graph.

    Edges of a folder are undirected and simple. The added ones are made so on their own, and then added: weights of edges that
    are stored already are summed.

    Raises:
        ValueError: One has edge weights and the other has none.
    """
    held = graph.edges.values if isinstance(graph, FolderRows) else graph.weights
    if held is not None and added.place and not added.weighted:
        raise ValueError(f"{added.place} has no edge weights, but the graph has; add the column of weights")
    if isinstance(graph, FolderRows):
        return _of_folder(graph, added, preparation)
    return _of_graph(graph, added, preparation)


def _of_folder(folder: FolderRows, added: Addition, preparation: Preparation) -> Joined:
    weights, stored, n = added.weights, folder.edges, folder.header.nodes
    if stored.values is None and weights is not None:
        raise ValueError(
            f"{added.place} has edge weights, but the graph folder has none; read none with an empty name (--weight ''), or "
            "convert the joined tables"
        )
    if stored.values is not None and weights is None:
        weights = torch.ones(added.source.numel())
    simple = undirected(sort_edges(added.source, added.target, len(added.ends), weights)).without_loops
    more = _numpy(simple)._replace(indices=added.ends[simple.indices.numpy()])
    rows = GrownRows(stored, n, added.ends, more)

    def touched() -> Array:
        # An edge that is there already changes nothing, unless its weight grows.
        ends = added.ends[simple.degree.numpy() > 0]
        old = ends[ends < n]
        before = np.bincount(stored.take(old).rows, minlength=len(ends))
        after = np.bincount(rows.take(ends).rows, minlength=len(ends))
        return ends if stored.values is not None else ends[before != after]

    # These edges are undirected and simple; what is left is to count them twice, for A + A^T.
    twice = preparation.symmetrise and preparation.parallel_edges == "keep"
    left = dataclasses.replace(_DONE, symmetrise=twice)
    return Joined(n, folder.header.feature_names, folder.features, rows, rows, touched, left)


def _of_graph(graph: Graph, added: Addition, preparation: Preparation) -> Joined:
    edges_only = dataclasses.replace(preparation, scaling="raw")
    ends, n = torch.from_numpy(added.ends), graph.num_nodes
    parts = (graph.rows, graph.indices, graph.weights), (ends[added.source], ends[added.target], added.weights)
    source, target = (torch.cat([old, new]) for old, new in zip(parts[0][:2], parts[1][:2], strict=True))
    weights = None
    if any(part[2] is not None for part in parts):
        weights = torch.cat([torch.ones(part[0].numel()) if part[2] is None else part[2] for part in parts])
    bare = Graph.from_edges(source, target, x=torch.zeros(n + len(added.ids), 1), weights=weights, copy=False)
    csr = prepare(bare, edges_only, {}).csr

    def touched() -> Array:
        before: Any = prepare(graph.derived(x=torch.zeros(n, 1), feature_names=None), edges_only, {}).csr.reversed.to_scipy()
        before.resize(bare.num_nodes, bare.num_nodes)
        return np.flatnonzero(np.diff((csr.reversed.to_scipy() - before).indptr))

    def features(nodes: Array) -> Tensor:
        return select_rows(graph.x, torch.from_numpy(nodes))

    return Joined(n, graph.feature_names, features, _numpy(csr.reversed), _numpy(csr), touched, _DONE)


def _numpy(csr: CSR) -> SparseRows:
    weights = None if csr.weights is None else csr.weights.numpy()
    return SparseRows(csr.indptr.numpy(), csr.indices.numpy(), weights)
