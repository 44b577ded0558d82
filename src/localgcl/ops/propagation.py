"""The averaging matrix of a graph convolution, and the plain adjacency matrix."""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from localgcl.graph import Graph
from localgcl.graph.csr import CSR, csr_tensor, insert_diagonal, insert_weights
from localgcl.ops.sparse import SparseMatrix


def propagation(
    graph: Graph, self_loops: float = 1.0, normalisation: Literal["symmetric", "row"] = "symmetric"
) -> SparseMatrix:
    r"""The symmetrically normalised adjacency $\hat A = D^{-1/2} (A + w I) D^{-1/2}$ of Kipf & Welling. O(|E|).

    Row i averages over the sources of the edges that point to i; A holds the edge weights, ones where there are none, and D
    is the row sum. With w > 0 every node has one loop of weight w, whatever loops the graph has; with w = 0 the graph's own
    loops stay. Where D is 0, $D^{-1/2}$ is too: a node that no edge points to gets a zero row, and edges that leave it carry
    nothing. With "row" normalisation the matrix is the plain mean, $D^{-1} (A + w I)$.

    The transpose has the same weights on the reversed edges. It is built here without a sort, because every step may bring
    a new view of the graph (`Graph.keep_edges`).
    """
    bare = graph.neighbourhoods if self_loops > 0 else graph.csr
    incoming = _closed(bare.reversed, self_loops)
    degree = torch.segment_reduce(incoming[2], "sum", offsets=incoming[0], unsafe=True, initial=0)
    symmetric = normalisation == "symmetric"
    left = torch.where(degree > 0, degree.rsqrt() if symmetric else degree.reciprocal(), 0.0)
    right = left if symmetric else torch.ones_like(left)
    matrix = _scaled(*incoming, left, right)
    if symmetric and bare.is_symmetric:
        return SparseMatrix(matrix, symmetric=True)
    outgoing = _closed(bare, self_loops)
    return SparseMatrix(matrix, transpose=SparseMatrix(_scaled(*outgoing, right, left)))


def adjacency(graph: Graph) -> SparseMatrix:
    """A with row i the neighbourhood N(i): edge weights or ones, self-loops left out. O(|E|), without a sort.

    Ones are exact in every precision. For means, divide by the row sums (`CSR.strength`) afterwards, in the precision of the
    product.
    """
    bare = graph.neighbourhoods
    if bare.is_symmetric:
        return SparseMatrix(bare.to_torch(), symmetric=True)
    return SparseMatrix(bare.to_torch(), transpose=SparseMatrix(bare.reversed.to_torch()))


def _closed(csr: CSR, self_loops: float) -> tuple[Int[Tensor, " pointers"], Int[Tensor, " k"], Float[Tensor, " k"]]:
    """CSR of A + w I: pointers, columns and weights; those of users in double precision, in which no sum overflows."""
    if self_loops == 0:
        ones = torch.ones(csr.num_entries, device=csr.device)
        return csr.indptr, csr.indices, ones if csr.weights is None else csr.weights.double()
    indptr, indices, diagonal = insert_diagonal(csr.indptr, csr.indices)
    if csr.weights is None:
        return indptr, indices, torch.where(diagonal, self_loops, 1.0)
    return indptr, indices, insert_weights(csr.weights.double(), diagonal, self_loops)


def _scaled(
    indptr: Int[Tensor, " pointers"],
    indices: Int[Tensor, " m"],
    weights: Float[Tensor, " m"],
    left: Float[Tensor, " n"],
    right: Float[Tensor, " n"],
) -> Tensor:
    n = left.numel()
    rows = torch.arange(n, device=left.device).repeat_interleave(indptr.diff(), output_size=indices.numel())
    return csr_tensor(indptr, indices, (left[rows] * weights * right[indices]).float(), (n, n))
