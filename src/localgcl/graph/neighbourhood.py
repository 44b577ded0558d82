"""Neighbourhoods of some nodes, from compressed rows that may be mapped from files: nothing of the graph's size is read."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Entries(NamedTuple):
    """Entries of some rows of a sparse matrix, in any order.

    Args:
        rows: Which of the rows asked for an entry belongs to: 0 for the first.
        columns: Its column in the whole matrix.
        values: Its value; None stands for 1 everywhere.
    """

    rows: Array
    columns: Array
    values: Array | None


class SparseRows(NamedTuple):
    """Compressed sparse rows, in memory or mapped."""

    indptr: Array
    indices: Array
    values: Array | None = None

    def take(self, nodes: Array) -> Entries:
        """The rows of `nodes`. O(sum of their lengths)."""
        start, stop = (np.asarray(self.indptr[at]) for at in (nodes, nodes + 1))
        counts = stop - start
        rows = np.repeat(np.arange(len(nodes)), counts)
        where = np.arange(len(rows)) + np.repeat(start - (np.cumsum(counts) - counts), counts)
        columns = np.asarray(self.indices[where], dtype=np.int64)
        return Entries(rows, columns, None if self.values is None else np.asarray(self.values[where]))


@dataclasses.dataclass(frozen=True)
class GrownRows:
    """The rows of a graph with more edges, and more nodes after its own.

    Args:
        stored: The graph, without repeats.
        num_stored: Its number of nodes.
        nodes: The nodes that have more edges, in increasing order.
        added: One row for each of `nodes`, without repeats. Values are added to those of `stored`; either both have some, or
            none.
    """

    stored: SparseRows
    num_stored: int
    nodes: Array
    added: SparseRows

    def take(self, nodes: Array) -> Entries:
        """The rows of `nodes`. O(sum of their degrees, with a sort)."""
        grown = _place(self.nodes, nodes) >= 0
        # The rows of most nodes have not grown, and need no merging.
        same, more = np.flatnonzero(~grown & (nodes < self.num_stored)), np.flatnonzero(grown)
        old = more[nodes[more] < self.num_stored]
        kept, before = (_at(rows, self.stored.take(nodes[rows])) for rows in (same, old))
        after = _at(more, self.added.take(_place(self.nodes, nodes[more])))
        return _joined(kept, _merged(_joined(before, after)))


Neighbours = SparseRows | GrownRows
"""The rows of an adjacency matrix."""


def _at(rows: Array, entries: Entries) -> Entries:
    """Entries of the rows that are at `rows` among those asked for."""
    return entries._replace(rows=rows[entries.rows])


def _joined(first: Entries, second: Entries) -> Entries:
    rows, columns = (np.concatenate(pair) for pair in ((first.rows, second.rows), (first.columns, second.columns)))
    if first.values is None or second.values is None:
        return Entries(rows, columns, None)
    return Entries(rows, columns, np.concatenate([first.values, second.values]))


def _merged(entries: Entries) -> Entries:
    """Entries of the same row and column summed, or one of them kept where they have no values."""
    rows, columns, values = entries
    span = int(columns.max(initial=0)) + 1
    keys, where = np.unique(rows * span + columns, return_inverse=True)
    if values is not None:
        with np.errstate(over="ignore"):  # too large a sum becomes infinite, and Graph refuses it
            values = np.bincount(where, values.astype(np.float64), minlength=len(keys)).astype(np.float32)
    return Entries(keys // span, keys % span, values)


def _place(ordered: Array, values: Array) -> Array:
    """Where each value is in `ordered`, whose entries increase; -1 for those that are not."""
    if len(ordered) == 0:
        return np.full(len(values), -1)
    found = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.where(ordered[found] == values, found, -1)


def _distinct(values: Array) -> Array:
    """The different values, in increasing order. A sort: NumPy's `unique` hashes, which takes far longer on many values."""
    values = np.sort(values)
    return values[np.concatenate([[True], values[1:] != values[:-1]])] if len(values) else values


def ball(centre: Array, steps: int, neighbours: Neighbours) -> Array:
    """All nodes within `steps` steps of those in `centre`, in increasing order."""
    inside = frontier = _distinct(centre)
    for _ in range(steps):
        reached = _distinct(neighbours.take(frontier).columns)
        frontier = reached[_place(inside, reached) < 0]
        inside = np.sort(np.concatenate([inside, frontier]))
    return inside


class Part(NamedTuple):
    """The part of a graph that averaging `steps` times over neighbours reads, for some nodes.

    Args:
        inner: Positions of the nodes within `steps` steps, in increasing order. The part has all edges that enter them.
        num_nodes: Those, and after them the border: nodes one step further, which are there to count in degrees only.
        source: Number of the node that an edge leaves; `inner` have the first numbers.
        target: Number of the node that it enters.
        values: Weight of each edge; None stands for 1 everywhere.
    """

    inner: Array
    num_nodes: int
    source: Array
    target: Array
    values: Array | None


def part_around(nodes: Array, steps: int, incoming: Neighbours) -> Part:
    """The part around `nodes`. O(sum of the degrees of its inner nodes).

    With the border, inner nodes have the degrees that they have in the whole graph. So `steps` averages, which weigh by the
    degrees of both ends, give `nodes` the same rows, whatever the border's own rows are.

    Args:
        nodes: Positions in the whole graph.
        steps: How often the rows of neighbours are averaged.
        incoming: Row i lists the sources of the edges that enter node i.
    """
    inner = ball(nodes, steps, incoming)
    if steps == 0:
        none = np.zeros(0, dtype=np.int64)
        return Part(inner, len(inner), none, none, None)
    target, columns, values = incoming.take(inner)
    source = _place(inner, columns)
    outside = source < 0
    border = _distinct(columns[outside])
    source[outside] = len(inner) + np.searchsorted(border, columns[outside])
    # Edges back to the border: the part of an undirected graph is undirected.
    ends = np.concatenate([source, target[outside]]), np.concatenate([target, source[outside]])
    values = None if values is None else np.concatenate([values, values[outside]])
    return Part(inner, len(inner) + len(border), *ends, values)
