"""Parallel edges and opposite directions merged: CSR -> CSR."""

import torch

from localgcl.graph.csr import CSR, sort_edges

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
