"""Random nodes and neighbours, drawn from the compressed rows, and the parts of a graph that a mini-batch reads."""

import math
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from localgcl.graph import Graph
from localgcl.graph.csr import CSR, sort_edges
from localgcl.graph.neighbourhood import Block, places


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


# Up to this many nodes a batch is the head of a permutation.
_PERMUTED = 2**20


def block(csr: CSR, nodes: Int[Tensor, " b"], sampled: int, generator: torch.Generator, part: range | None = None) -> Block:
    """The block of `nodes`, which are distinct. O(sum of their degrees, with a sort): nothing of the size of the graph.

    Args:
        csr: Neighbourhoods of the whole graph.
        nodes: The nodes of the batch.
        sampled: At most this many neighbours of each node, drawn without replacement; 0 takes all.
        generator: Source of the draws, on the CPU or on the device of `csr`.
        part: Only the block of the nodes at these places. Their neighbours are those that the block of all nodes has.
    """
    degree, device = csr.degree[nodes], nodes.device
    part = range(nodes.numel()) if part is None else part
    keys = torch.empty(0, dtype=torch.float64)
    if sampled:  # keys of all nodes, so that a part takes those that are its own
        begins, ends = (int(degree[:place].sum()) for place in (part.start, part.stop))
        keys = torch.rand(int(degree.sum()), generator=generator, device=generator.device, dtype=torch.float64)
        keys = keys[begins:ends].to(device)
    nodes, degree = nodes[part.start : part.stop], degree[part.start : part.stop]
    start, total = csr.indptr[nodes], int(degree.sum())
    own = torch.arange(nodes.numel(), device=device).repeat_interleave(degree, output_size=total)
    begin = torch.cumsum(degree, 0) - degree
    place = start[own] + torch.arange(total, device=device) - begin[own]
    if sampled:
        # Sorted by row, then by a random key; the first `sampled` of each row stay. Rows have their numbers among all nodes:
        # their sums with keys then round alike in every part.
        order = torch.argsort(own + part.start + keys, stable=True)
        place = place[order][torch.arange(total, device=device) - begin[own] < sampled]
        degree = degree.clamp(max=sampled)
        own = torch.arange(nodes.numel(), device=device).repeat_interleave(degree, output_size=place.numel())
    targets = csr.indices[place].long()  # a graph folder has smaller numbers
    inside, columns = places(targets, nodes)
    others = targets[~inside].unique()
    columns[~inside] = nodes.numel() + torch.searchsorted(others, targets[~inside])
    # Columns of a CSR row increase.
    order = torch.argsort(own * (nodes.numel() + others.numel()) + columns)
    weights = None if csr.weights is None else csr.weights[place[order]]
    indptr = torch.zeros(nodes.numel() + 1, dtype=torch.int64, device=device)
    torch.cumsum(degree, 0, out=indptr[1:])
    read = torch.cat([nodes, others])
    return Block(read, CSR(indptr, columns[order], read.numel(), rows=own, weights=weights))


def draw_nodes(num_nodes: int, count: int, generator: torch.Generator) -> Int[Tensor, " b"]:
    """`count` different nodes, in increasing order; all sets are equally likely. Of large graphs, without a permutation."""
    if num_nodes <= _PERMUTED or 2 * count > num_nodes:
        return torch.randperm(num_nodes, generator=generator)[:count].sort().values
    drawn = torch.empty(0, dtype=torch.int64)
    while drawn.numel() < count:
        # First come, first kept: later repeats are dropped, so every set is equally likely.
        drawn = in_first_order(torch.cat([drawn, torch.randint(num_nodes, (count,), generator=generator)]))
    return drawn[:count].sort().values


def in_first_order(values: Int[Tensor, " m"]) -> Int[Tensor, " k"]:
    """The different values, in the order in which they first occur."""
    unique, inverse = values.unique(return_inverse=True)
    place = torch.arange(values.numel(), device=values.device)
    first = torch.full_like(unique, values.numel()).scatter_reduce_(0, inverse, place, "amin")
    ordered: Tensor = unique[first.argsort()]
    return ordered


def without_some(csr: CSR, share: float, generator: torch.Generator) -> CSR:
    """The neighbourhoods without a random share of their entries. O(|E|)."""
    keep = torch.rand(csr.indices.numel(), generator=generator, device=generator.device).to(csr.indices.device) >= share
    rows = csr.rows[keep]
    degree = torch.bincount(rows, minlength=csr.num_rows)
    indptr = torch.zeros(csr.num_rows + 1, dtype=torch.int64, device=rows.device)
    torch.cumsum(degree, 0, out=indptr[1:])
    weights = None if csr.weights is None else csr.weights[keep]
    return CSR(indptr, csr.indices[keep], csr.num_columns, rows=rows, weights=weights)
