"""Edges changed, CSR -> CSR: weighted, merged, made undirected, or cut to the edges between some nodes."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from localgcl.config import LocalGCLWarning
from localgcl.graph.arrays import as_array
from localgcl.graph.csr import CSR, sort_edges

LARGEST = float(np.finfo(np.float32).max)


def as_weights(values: Any, count: int, edge: Callable[[int], str], place: str = "") -> Float[Tensor, " m"]:
    """Edge weights as float32, checked. They may be 0.

    Args:
        values: One number an edge, shape (m,) or (m, 1): an array, a tensor or a list.
        count: m, the number of edges.
        edge: What messages call an edge, given its position.
        place: Where the weights come from, for messages.

    Raises:
        ValueError: A weight is negative, NaN or infinite in single precision; the message names its edge.
    """
    prefix = f"{place}: " if place else ""
    if isinstance(values, Tensor):
        values = (values.float() if values.is_floating_point() else values).detach().cpu().numpy()
    array = as_array(values, f"{prefix}edge weights")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{prefix}edge weights are of type {array.dtype}; give numbers")
    if array.shape not in ((count,), (count, 1)):
        raise ValueError(f"{prefix}edge weights have shape {array.shape}, but there are {count} edges; give one number an edge")
    array = array.ravel()
    with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite
        weights = array.astype(np.float32)
    wrong = ~((weights >= 0) & (weights <= LARGEST))  # of NaN both are false
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(
            f"{prefix}the weight of edge {edge(first)} is {array[first].item()!r}; weights are numbers from 0 to "
            f"{LARGEST:.1e}: mend it or drop the edge"
        )
    return torch.from_numpy(weights)


def weighted_edges(
    source: Int[Tensor, " m"], target: Int[Tensor, " m"], weights: Any, node_ids: NDArray[Any]
) -> tuple[Int[Tensor, " k"], Int[Tensor, " k"], Float[Tensor, " k"] | None]:
    """The edges of positive weight, with their weights, or None if all are 1.

    Edges of weight 0 are no edges: they are left out, with a warning.
    """
    edge = edge_namer(source, target, node_ids)
    checked = as_weights(weights, source.numel(), edge).to(source.device)
    positive = checked > 0
    if not bool(positive.all()):
        zeros = (~positive).nonzero().flatten()
        warnings.warn(
            f"{zeros.numel():,} edges of weight 0 are left out (first {edge(int(zeros[0]))})", LocalGCLWarning, stacklevel=3
        )
        source, target, checked = source[positive], target[positive], checked[positive]
    return source, target, unless_ones(checked)


def check_weights(weights: Tensor, source: Int[Tensor, " m"], target: Int[Tensor, " m"], ids: NDArray[Any]) -> None:
    """ValueError unless every edge has one finite weight above 0."""
    if weights.dtype != torch.float32 or weights.shape != target.shape:
        raise ValueError(
            f"edge weights have shape {tuple(weights.shape)} and type {weights.dtype}; give {target.numel()} float32 numbers"
        )
    wrong = ~((weights > 0) & (weights <= LARGEST))
    if bool(wrong.any()):
        first = int(wrong.nonzero()[0])
        raise ValueError(
            f"the weight of edge {edge_namer(source, target, ids)(first)} is {float(weights[first])!r}; weights are numbers "
            f"above 0, at most {LARGEST:.1e}, and so are the sums of parallel ones: rescale them, or drop zeros by from_edges"
        )


def unless_ones(weights: Float[Tensor, " m"]) -> Float[Tensor, " m"] | None:
    """The weights; None where all are 1."""
    return None if bool((weights == 1).all()) else weights


def edge_namer(source: Any, target: Any, node_ids: NDArray[Any]) -> Callable[[int], str]:
    """What messages call the edge at a position: its two ends by id, or by position where they have no ids."""

    def name(end: Any) -> Any:
        return node_ids[end : end + 1].tolist()[0] if len(node_ids) > end else end

    return lambda i: f"{name(int(source[i]))!r:.80} -> {name(int(target[i]))!r:.80}"


# Weights of the two directions of an edge that differ by less are one number, computed twice.
_ROUNDING = 1e-5


def merge_repeats(csr: CSR) -> CSR:
    """One of each set of equal entries, with the sum of their weights. Rows are sorted, so repeats are neighbours. O(m)."""
    repeat = torch.zeros_like(csr.loops)
    repeat[1:] = (csr.rows[1:] == csr.rows[:-1]) & (csr.indices[1:] == csr.indices[:-1])
    kept = csr.keep(~repeat)
    if csr.weights is None or kept.num_entries == csr.num_entries:
        return kept
    end = csr.indices.new_tensor([csr.num_entries])
    first = torch.cat([(~repeat).nonzero().flatten(), end])
    # In double precision the order of two weights or more hardly ever matters.
    sums = torch.segment_reduce(csr.weights.double(), "sum", offsets=first, unsafe=True)
    return kept.with_weights(sums.float())


def add_reversed(csr: CSR) -> CSR:
    """Each entry (i, j) and its reverse (j, i), of the same weight: A + A^T. O(m log m)."""
    weights = None if csr.weights is None else csr.weights.repeat(2)
    return sort_edges(torch.cat([csr.rows, csr.indices]), torch.cat([csr.indices, csr.rows]), csr.num_rows, weights)


def undirected(csr: CSR) -> CSR:
    """The simple graph that has (i, j) and (j, i) where `csr` has either; see `Graph.symmetrized` for the weights."""
    if csr.weights is None:
        return merge_repeats(add_reversed(csr))
    simple = merge_repeats(csr)
    assert simple.weights is not None
    if simple.is_symmetric:
        return simple
    indptr, indices, order = simple.transposed
    both_ways = torch.equal(indptr, simple.indptr) and torch.equal(indices, simple.indices)
    rounded = both_ways and torch.allclose(simple.weights, simple.weights[order], rtol=_ROUNDING, atol=0)
    # Repeats are merged already, so an edge is the sum of two numbers, which is the same in both directions to the bit.
    merged = merge_repeats(add_reversed(simple))
    assert merged.weights is not None
    return merged.with_weights(torch.where(merged.loops | rounded, merged.weights / 2, merged.weights))


def selected(nodes: Tensor, csr: CSR) -> Int[Tensor, " k"]:
    """The positions of distinct nodes, given as such or as a mask; ValueError if one is named twice."""
    if nodes.dtype == torch.bool:
        if nodes.shape != (csr.num_rows,):
            raise ValueError(f"the mask has shape {tuple(nodes.shape)}; give one value for each of {csr.num_rows} nodes")
        nodes = nodes.nonzero().flatten()
    nodes = nodes.to(csr.device)
    order = torch.arange(nodes.numel(), device=nodes.device)
    position = torch.full((csr.num_rows,), -1, device=nodes.device)
    position[nodes] = order
    if not torch.equal(position[nodes], order):
        twice = int(nodes[position[nodes] != order][0])
        raise ValueError(f"node {twice} is named more than once; a subgraph holds a node once, so pass nodes.unique()")
    return nodes


def induced(csr: CSR, nodes: Int[Tensor, " k"]) -> CSR:
    """The edges whose ends are both among distinct `nodes`; row i is that of the i-th of them. O(|E|)."""
    position = torch.full((csr.num_rows,), -1, device=nodes.device)
    position[nodes] = torch.arange(nodes.numel(), device=nodes.device)
    source, target = position[csr.rows], position[csr.indices]
    inside = (source >= 0) & (target >= 0)
    weights = None if csr.weights is None else unless_ones(csr.weights[inside])
    return sort_edges(source[inside], target[inside], nodes.numel(), weights)
