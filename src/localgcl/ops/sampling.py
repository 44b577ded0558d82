"""Random neighbours, drawn directly from the compressed rows, and the subgraphs of mini-batches."""

import math
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from localgcl.graph import Graph
from localgcl.graph.csr import CSR, sort_edges
from localgcl.ops.blocks import block


def sample_neighbours(csr: CSR, nodes: Int[Tensor, " m"], k: int, generator: torch.Generator) -> Int[Tensor, "m {k}"]:
    """k neighbours of each node, uniformly and with replacement; an isolated node is its own neighbour. O(m k)."""
    own = nodes[:, None].expand(-1, k)
    if csr.num_entries == 0:
        return own
    start, degree = csr.indptr[nodes, None], csr.degree[nodes, None]
    draws = torch.rand(nodes.numel(), k, generator=generator, device=nodes.device)
    # The product can round up to the degree itself.
    place = (draws * degree).long().clamp(max=degree - 1)
    return torch.where(degree > 0, csr.indices[start + place], own)


def sample_trees(csr: CSR, roots: Int[Tensor, " m"], hops: int, k: int, generator: torch.Generator) -> Int[Tensor, "m size"]:
    r"""Each root, k of its neighbours, k of each of theirs, and so on for `hops` levels: $1 + k + ... + k^{hops}$ a row.

    A node can occur more than once, even a root in its own tree. O(m k^hops) time and memory, whatever the degrees.
    """
    levels = [roots[:, None]]
    for _ in range(hops):
        levels.append(sample_neighbours(csr, levels[-1].flatten(), k, generator).reshape(len(roots), -1))
    return torch.cat(levels, dim=1)


def step_generator(seed: int, step: int) -> torch.Generator:
    """The source of a step's draws: it depends on the seed and the step alone, so a resumed run draws the same."""
    (state,) = np.random.SeedSequence((seed, step)).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(state >> np.uint64(1)))


def sample_subgraph(graph: Graph, nodes: Int[Tensor, " b"], hops: int, k: int, generator: torch.Generator) -> Graph:
    """The graph induced by `nodes`, at most k neighbours of each, at most k of each of those, and so on for `hops` levels.

    Its first nodes are `nodes`, which are distinct; then come the others. Neighbours are drawn uniformly without replacement;
    k = 0 takes all. All edges between the nodes that were drawn are edges of it. Nodes of the last level, and those with more
    than k neighbours, have fewer neighbours in it than in the graph. Labels and splits are left behind.

    O(sum of the degrees of its nodes): nothing of the size of the graph, which may be mapped from a folder.
    """
    for _ in range(hops):
        nodes = block(graph.csr, nodes, k, generator).rows
    edges = block(graph.csr, nodes, 0, generator).neighbours
    inside = edges.indices < nodes.numel()
    weights = None if edges.weights is None else edges.weights[inside]
    bare = sort_edges(edges.rows[inside], edges.indices[inside], nodes.numel(), weights)
    simple = not graph.csr.has_loops and graph.csr.is_symmetric
    csr = CSR(bare.indptr, bare.indices, weights=bare.weights, simple=simple)
    x, ids = graph.features(nodes), nodes.cpu().numpy()
    return Graph(csr.indptr, csr.indices, x, node_ids=ids, structure=csr, weights=csr.weights, trusted=True)


class Reached(NamedTuple):
    """Sizes of a sampled subgraph at most: its nodes, and its edges where degrees are as in the graph."""

    nodes: int
    edges: int


def reached(num_nodes: int, num_edges: int, batch: int, hops: int, k: int) -> Reached:
    """How large `sample_subgraph` gets from `batch` nodes, on a graph where all nodes have the mean degree."""
    degree = num_edges / max(1, num_nodes)
    rows = min(num_nodes, math.ceil(batch * (1 + (min(degree, k) if k else degree)) ** hops))
    # Of a node's edges as many stay as its neighbours were drawn: those to it and, of its own, at most k or the graph's share.
    return Reached(rows, round(rows * min(degree, max(2 * k if k else degree, degree * rows / max(1, num_nodes)))))
