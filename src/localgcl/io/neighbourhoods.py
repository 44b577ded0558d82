"""neighbourhoods: the edges that other libraries hold, as the rows that losses read. For a training loop of your own."""

from typing import Any

import torch

from localgcl.graph import Graph
from localgcl.graph.csr import CSR
from localgcl.io.libraries import parts_of


def neighbourhoods(edges: Any, num_nodes: int, device: torch.device | str = "cpu") -> Graph | CSR:
    """The edges as a CSR, whose row i lists the neighbours of node i; a `Graph` or a `CSR` is returned as it is.

    Edges are taken as stored: of an undirected graph, both directions must be there, as PyG has them. O(|E| log |E|), on the
    CPU. Losses call this themselves; call it once before a loop to save the time at each step.

    Args:
        edges: An `edge_index` of shape (2, m), a PyG `Data`, a scipy or torch sparse adjacency matrix, a networkx or DGL graph.
            Weights of edges are kept (see `as_graph`); features are not looked at.
        num_nodes: Number of nodes: the rows of the embeddings.
        device: Where the embeddings are.

    Example:
        >>> rows = neighbourhoods(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 3)
        >>> rows.indptr.tolist(), rows.indices.tolist()
        ([0, 1, 3, 4], [1, 0, 2, 1])
    """
    if isinstance(edges, Graph | CSR):
        return edges
    parts = parts_of(edges, range(num_nodes))
    if parts.num_nodes != num_nodes:
        raise ValueError(f"{num_nodes} embeddings for {parts.num_nodes} nodes; give one row per node")
    # Features only count the nodes here.
    return Graph.from_edges(parts.source, parts.target, x=torch.zeros(num_nodes, 1), weights=parts.weights).to(device).csr
