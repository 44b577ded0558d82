"""Blocks: some nodes of a graph with their neighbours, for a step that does not read the whole graph."""

from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from localgcl.graph.csr import CSR


class Block(NamedTuple):
    """The nodes that a step reads, and who is whose neighbour.

    Args:
        rows: Positions in the graph: the nodes of the batch, then those that are only neighbours.
        neighbours: Row i lists the places in `rows` of the neighbours of the i-th node of the batch, with their weights.
    """

    rows: Int[Tensor, " r"]
    neighbours: CSR


def block(csr: CSR, nodes: Int[Tensor, " b"], sampled: int, generator: torch.Generator) -> Block:
    """The block of `nodes`, which are distinct. O(sum of their degrees, with a sort).

    Args:
        csr: Neighbourhoods of the whole graph.
        nodes: The nodes of the batch.
        sampled: At most this many neighbours of each node, drawn without replacement; 0 takes all.
        generator: Source of the draws, on the CPU or on the device of `csr`.
    """
    start, degree, device = csr.indptr[nodes], csr.degree[nodes], nodes.device
    total = int(degree.sum())
    own = torch.arange(nodes.numel(), device=device).repeat_interleave(degree, output_size=total)
    begin = torch.cumsum(degree, 0) - degree
    place = start[own] + torch.arange(total, device=device) - begin[own]
    if sampled:
        keys = torch.rand(total, generator=generator, device=generator.device, dtype=torch.float64).to(device)
        # Sorted by row, then by a random key; the first `sampled` of each row stay.
        order = torch.argsort(own + keys)
        place = place[order][torch.arange(total, device=device) - begin[own] < sampled]
        degree = degree.clamp(max=sampled)
        own = torch.arange(nodes.numel(), device=device).repeat_interleave(degree, output_size=place.numel())
    targets = csr.indices[place].long()  # a graph folder has smaller numbers
    position = torch.full((csr.num_columns,), -1, device=device)
    position[nodes] = torch.arange(nodes.numel(), device=device)
    others = targets[position[targets] < 0].unique()
    position[others] = nodes.numel() + torch.arange(others.numel(), device=device)
    # Columns of a CSR row increase.
    columns = position[targets]
    order = torch.argsort(own * (nodes.numel() + others.numel()) + columns)
    weights = None if csr.weights is None else csr.weights[place[order]]
    indptr = torch.zeros(nodes.numel() + 1, dtype=torch.int64, device=device)
    torch.cumsum(degree, 0, out=indptr[1:])
    read = torch.cat([nodes, others])
    return Block(read, CSR(indptr, columns[order], read.numel(), rows=own, weights=weights))


def without_some(csr: CSR, share: float, generator: torch.Generator) -> CSR:
    """The neighbourhoods without a random share of their entries. O(|E|)."""
    keep = torch.rand(csr.indices.numel(), generator=generator, device=generator.device).to(csr.indices.device) >= share
    rows = csr.rows[keep]
    degree = torch.bincount(rows, minlength=csr.num_rows)
    indptr = torch.zeros(csr.num_rows + 1, dtype=torch.int64, device=rows.device)
    torch.cumsum(degree, 0, out=indptr[1:])
    weights = None if csr.weights is None else csr.weights[keep]
    return CSR(indptr, csr.indices[keep], csr.num_columns, rows=rows, weights=weights)
