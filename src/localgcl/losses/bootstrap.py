r"""Losses that predict a target network's embeddings: BGRL across views or along edges, AFGRL along searched pairs.

q are the predictions of the online network and h the target's embeddings, through which no gradient flows. cos(a, b) is the
dot product of unit rows; with a row of zeros it is 0 and has no gradient.

A sum of cosines over pairs is linear in the unit rows of h: with B the matrix of pairs, $\sum_{(i,j)} \cos(q_i, h_j) =
\sum_i q_i \cdot (B h)_i$. So a sparse product of the constant h comes first, and nothing of size |pairs| x d is made,
forward or backward.
"""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from localgcl.graph import Graph
from localgcl.graph.csr import csr_tensor, sort_edges
from localgcl.losses.local import unit_rows
from localgcl.ops import SparseMatrix, spmm
from localgcl.ops.propagation import adjacency

Aggregate = Literal["mean", "sum"]


def view_prediction(q: Float[Tensor, "n d"], h: Float[Tensor, "n d"]) -> Float[Tensor, ""]:
    r"""$1 - \frac1N \sum_i \cos(q_i, h_i)$: half of BGRL's loss, whose other half swaps the two views. O(N d)."""
    return 1 - _total(q, _targets(h)) / q.shape[0]


def neighbour_prediction(
    q: Float[Tensor, "n d"], h: Float[Tensor, "n d"], graph: Graph, aggregate: Aggregate = "mean"
) -> Float[Tensor, ""]:
    r"""BGRL-Local: $-\frac2N \sum_i \frac1{|N(i)|} \sum_{j \in N(i)} \cos(q_j, h_i)$, without views.

    O(|E| d) time, O(|E| + N d) memory. N(i) has no self-loop; parallel edges count as often as they occur, and edge weights
    weigh the mean. A node without neighbours has no term and stays in N. The paper prints squared norms, under which larger
    embeddings count less; here the cosine has plain norms.

    Args:
        q: Predictions; row j belongs to node j of `graph`.
        h: Targets.
        graph: Its CSR rows are the neighbourhoods.
        aggregate: "mean" over N(i), or the "sum" that the paper prints, in which nodes count by their degree.
    """
    targets = _targets(h)
    if aggregate == "mean":
        size = graph.neighbourhoods.strength[:, None]
        targets = (targets / torch.where(size > 0, size, 1)).to(targets.dtype)
    elif aggregate != "sum":
        raise ValueError(f"aggregate is {aggregate!r}; choose 'mean' or 'sum'")
    return -2 * _total(q, spmm(adjacency(graph).transposed, targets)) / q.shape[0]


def pair_prediction(
    q: Float[Tensor, "n d"], h: Float[Tensor, "n d"], first: Int[Tensor, " p"], second: Int[Tensor, " p"]
) -> Float[Tensor, ""]:
    r"""AFGRL: the mean over pairs (i, j) of $(2 - 2\cos(q_i, h_j)) + (2 - 2\cos(q_j, h_i))$. O(P d + P log P) time, O(P + N d)
    memory for P pairs, at least one.
    """
    n, pairs = q.shape[0], first.numel()
    edges = sort_edges(torch.cat([first, second]), torch.cat([second, first]), n)
    both = SparseMatrix(csr_tensor(edges.indptr, edges.indices, torch.ones(2 * pairs, device=q.device), (n, n)))
    return 4 - 2 * _total(q, spmm(both, _targets(h))) / pairs


def found_pairs(
    nearest: Int[Tensor, "n k"], clusters: Int[Tensor, "m n"], graph: Graph
) -> tuple[Int[Tensor, " p"], Int[Tensor, " p"]]:
    r"""AFGRL's positives $P_i = (kNN_i \cap (N(i) \cup \{i\})) \cup (kNN_i \cap C_i)$ as pairs (i, j), each once.

    O(N k (log |E| + m)) time, O(N k m) memory: edges are looked up in a sorted list.

    Args:
        nearest: Nearest nodes of each node, all different.
        clusters: Cluster of each node in each of m clusterings; C_i shares the cluster of i in any of them.
        graph: Its edges are N(i).
    """
    n, k = nearest.shape
    nodes = torch.arange(n, device=nearest.device)[:, None]
    closed = graph.closed_neighbourhoods
    edges, wanted = closed.rows * n + closed.indices, nodes * n + nearest
    place = torch.searchsorted(edges, wanted).clamp(max=edges.numel() - 1)
    chosen = (edges[place] == wanted) | (clusters[:, nearest] == clusters[:, :, None]).any(0)
    return nodes.expand(n, k)[chosen], nearest[chosen]


def _targets(h: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    return unit_rows(h.detach())[0]


def _total(q: Float[Tensor, "n d"], targets: Float[Tensor, "n d"]) -> Float[Tensor, ""]:
    return (unit_rows(q)[0] * targets).sum()
