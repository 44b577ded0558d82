"""Neighbourhoods of some nodes, from rows that may be mapped from files: nothing of the graph's size is read."""

import dataclasses
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from localgcl.graph.csr import CSR


class Block(NamedTuple):
    """Some nodes with what they read of a graph, and who is whose neighbour.

    Args:
        rows: Positions in the graph: the nodes themselves, then those that are only neighbours.
        neighbours: Row i lists the places in `rows` of the neighbours of the i-th node, with their weights.
    """

    rows: Int[Tensor, " r"]
    neighbours: CSR


@runtime_checkable
class Rows(Protocol):
    """The rows of an adjacency matrix, some at a time: a `CSR`, or `GrownRows`."""

    def take(self, nodes: Int[Tensor, " b"]) -> CSR:
        """Some rows, in the order given, with their columns in the whole matrix."""


@dataclasses.dataclass(frozen=True, eq=False)
class GrownRows:
    """The rows of a graph with more edges, and more nodes after its own.

    Args:
        stored: The graph, without repeats.
        nodes: The nodes that have more edges, in increasing order.
        added: One row for each of `nodes`, without repeats. Weights are added to those of `stored`; either both have some, or
            none.
    """

    stored: CSR
    nodes: Int[Tensor, " k"]
    added: CSR

    def take(self, nodes: Int[Tensor, " b"]) -> CSR:
        """The rows of `nodes`. O(sum of their degrees, with a sort)."""
        old, (grown, place) = nodes < self.stored.num_rows, places(nodes, self.nodes)
        parts = self.stored.take(nodes[old]), self.added.take(place[grown])
        numbers = torch.arange(nodes.numel())
        rows = torch.cat([numbers[of][part.rows] for of, part in zip((old, grown), parts, strict=True)])
        columns = torch.cat([part.indices for part in parts])
        span = self.added.num_columns
        keys, where = (rows * span + columns).unique(return_inverse=True)
        weights = None
        if parts[0].weights is not None and parts[1].weights is not None:
            # Too large a sum becomes infinite, and Graph refuses it.
            values = torch.cat([parts[0].weights, parts[1].weights]).double()
            weights = torch.zeros(keys.numel(), dtype=torch.float64).index_add_(0, where, values).float()
        indptr = torch.searchsorted(keys, torch.arange(nodes.numel() + 1) * span)
        return CSR(indptr, keys % span, span, weights=weights)


def places(values: Int[Tensor, " m"], among: Int[Tensor, " b"]) -> tuple[Bool[Tensor, " m"], Int[Tensor, " m"]]:
    """Whether each value is in `among`, whose entries are distinct, and where; 0 for those that are not."""
    if among.numel() == 0:
        return torch.zeros_like(values, dtype=torch.bool), torch.zeros_like(values)
    ordered, order = among.sort()
    found = torch.searchsorted(ordered, values).clamp(max=ordered.numel() - 1)
    inside = ordered[found] == values
    return inside, torch.where(inside, order[found], 0)


def ball(centre: Int[Tensor, " c"], steps: int, neighbours: Rows) -> Int[Tensor, " k"]:
    """All nodes within `steps` steps of those in `centre`, in increasing order."""
    inside: Tensor = centre.unique()
    frontier = inside
    for _ in range(steps):
        reached: Tensor = neighbours.take(frontier).indices.unique()
        frontier = reached[~places(reached, inside)[0]]
        inside = torch.cat([inside, frontier]).sort().values
    return inside


def block_around(nodes: Int[Tensor, " b"], steps: int, incoming: Rows) -> Block:
    """The nodes within `steps` steps of `nodes`, in increasing order: what averaging `steps` times over neighbours reads.

    The other rows of the block, its border, are neighbours one step further, which count in degrees only: with them, the nodes
    of the block have the degrees that they have in the whole graph. So `steps` averages, which weigh by the degrees of both
    ends, give `nodes` the same rows, whatever the border's own rows are. O(sum of the degrees of the block).

    Args:
        nodes: Positions in the whole graph.
        steps: How often the rows of neighbours are averaged.
        incoming: Row i lists the sources of the edges that enter node i.
    """
    inner = ball(nodes, steps, incoming)
    if steps == 0:
        return Block(inner, CSR(torch.zeros(inner.numel() + 1, dtype=torch.int64), inner[:0], inner.numel()))
    taken = incoming.take(inner)
    inside, columns = places(taken.indices, inner)
    border = taken.indices[~inside].unique()
    columns[~inside] = inner.numel() + torch.searchsorted(border, taken.indices[~inside])
    rows = torch.cat([inner, border])
    return Block(rows, CSR(taken.indptr, columns, rows.numel(), weights=taken.weights))


def closed_edges(block: Block) -> tuple[Int[Tensor, " m"], Int[Tensor, " m"], Tensor | None]:
    """Sources, targets and weights of a block's edges and of those back to its border, so that they are undirected if it is."""
    csr = block.neighbours
    source, target, outside = csr.indices, csr.rows, csr.indices >= csr.num_rows
    weights = None if csr.weights is None else torch.cat([csr.weights, csr.weights[outside]])
    return torch.cat([source, target[outside]]), torch.cat([target, source[outside]]), weights
