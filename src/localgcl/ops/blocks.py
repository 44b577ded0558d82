"""Blocks: some nodes of a graph with their neighbours, for a step that does not read the whole graph."""

import torch
from jaxtyping import Int
from torch import Tensor

from localgcl.graph.csr import CSR
from localgcl.graph.neighbourhood import Block, places

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
        more = torch.randint(num_nodes, (count,), generator=generator)
        drawn = torch.cat([drawn, more])
        # First come, first kept: later repeats are dropped, so every set is equally likely.
        values, first = _first_places(drawn)
        drawn = values[first.argsort()]
    return drawn[:count].sort().values


def _first_places(values: Int[Tensor, " m"]) -> tuple[Int[Tensor, " k"], Int[Tensor, " k"]]:
    """The different values, and where each occurs first."""
    unique, inverse = values.unique(return_inverse=True)
    first = torch.full((unique.numel(),), values.numel()).scatter_reduce_(0, inverse, torch.arange(values.numel()), "amin")
    return unique, first


def without_some(csr: CSR, share: float, generator: torch.Generator) -> CSR:
    """The neighbourhoods without a random share of their entries. O(|E|)."""
    keep = torch.rand(csr.indices.numel(), generator=generator, device=generator.device).to(csr.indices.device) >= share
    rows = csr.rows[keep]
    degree = torch.bincount(rows, minlength=csr.num_rows)
    indptr = torch.zeros(csr.num_rows + 1, dtype=torch.int64, device=rows.device)
    torch.cumsum(degree, 0, out=indptr[1:])
    weights = None if csr.weights is None else csr.weights[keep]
    return CSR(indptr, csr.indices[keep], csr.num_columns, rows=rows, weights=weights)
