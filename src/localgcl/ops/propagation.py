r"""Averages over neighbours: the matrix of a graph convolution, whole or a few rows at a time, and the adjacency matrix.

A GCN of L layers computes the embeddings of some nodes from the rows of those within L steps. The message flow of a batch is
one rectangular matrix a layer: it averages the rows that the layer reads into the rows that the next layer reads.
"""

import dataclasses
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from localgcl.graph import Graph
from localgcl.graph.csr import CSR, csr_tensor, insert_diagonal, insert_weights
from localgcl.graph.mapped import blocks
from localgcl.graph.neighbourhood import Block
from localgcl.ops.edges import segment_sum
from localgcl.ops.sampling import block
from localgcl.ops.sparse import SparseMatrix

Numbers = NDArray[Any]


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
    assert incoming.weights is not None
    degree = segment_sum(incoming.weights, incoming)
    symmetric = normalisation == "symmetric"
    left = torch.where(degree > 0, degree.rsqrt() if symmetric else degree.reciprocal(), 0.0)
    right = left if symmetric else torch.ones_like(left)
    matrix = _scaled(incoming, left, right)
    if symmetric and bare.is_symmetric:
        return SparseMatrix(matrix, symmetric=True)
    return SparseMatrix(matrix, transpose=SparseMatrix(_scaled(_closed(bare, self_loops), right, left)))


def adjacency(graph: Graph) -> SparseMatrix:
    """A with row i the neighbourhood N(i): edge weights or ones, self-loops left out. O(|E|), without a sort.

    Ones are exact in every precision. For means, divide by the row sums (`CSR.strength`) afterwards, in the precision of the
    product.
    """
    bare = graph.neighbourhoods
    if bare.is_symmetric:
        return SparseMatrix(bare.to_torch(), symmetric=True)
    return SparseMatrix(bare.to_torch(), transpose=SparseMatrix(bare.reversed.to_torch()))


def _closed(csr: CSR, self_loops: float) -> CSR:
    """A + w I with its weights; those of users in double precision, in which no sum overflows."""
    weights = None if csr.weights is None else csr.weights.double()
    if self_loops == 0:
        ones = torch.ones(csr.num_entries, device=csr.device)
        return CSR(csr.indptr, csr.indices, weights=ones if weights is None else weights)
    indptr, indices, diagonal = insert_diagonal(csr.indptr, csr.indices)
    if weights is None:
        return CSR(indptr, indices, weights=torch.where(diagonal, self_loops, 1.0))
    return CSR(indptr, indices, weights=insert_weights(weights, diagonal, self_loops))


def _scaled(csr: CSR, left: Float[Tensor, " n"], right: Float[Tensor, " n"]) -> Tensor:
    assert csr.weights is not None
    values = (left[csr.rows] * csr.weights * right[csr.indices]).float()
    return csr_tensor(csr.indptr, csr.indices, values, (csr.num_rows, csr.num_rows))


@dataclasses.dataclass(frozen=True, eq=False)
class Averages:
    r"""$\hat A = D^{-1/2} (A + w I) D^{-1/2}$ of `propagation`, not built: its rows are computed when they are asked for.

    Args:
        graph: The graph, whose features batches read, too.
        csr: Row i lists the nodes that node i averages over.
        roots: $D^{-1/2}$, 0 where D is. Degrees are those of the whole graph.
        self_loops: w.
    """

    graph: Graph
    csr: CSR
    roots: Float[Tensor, " n"]
    self_loops: float

    @classmethod
    def of(cls, graph: Graph, self_loops: float) -> "Averages":
        """O(|V|) memory. The graph may be mapped from a folder."""
        bare = graph.neighbourhoods if self_loops > 0 else graph.csr
        incoming = bare if bare.is_symmetric else bare.reversed
        strength = strengths(incoming) + self_loops
        return cls(graph, incoming, torch.where(strength > 0, strength.rsqrt(), 0.0).float(), self_loops)

    def product(self, x: Numbers, rows: range) -> NDArray[np.float32]:
        r"""Rows of $\hat A X$, on the CPU. Graph and X may be mapped from files."""
        from localgcl.ops.cpu.averaging import average_rows  # numba takes a while to import

        weights = None if self.csr.weights is None else self.csr.weights.numpy()
        parts = self.csr.indptr.numpy(), self.csr.indices.numpy(), weights, self.roots.numpy()
        return average_rows(*parts, x, rows, self.self_loops)

    def block(self, nodes: Int[Tensor, " b"], sampled: int, generator: torch.Generator) -> Block:
        r"""The rows of some distinct nodes, their entries as weights. O(sum of their degrees).

        With `sampled`, a row of degree d above it has that many entries, drawn without replacement and scaled by d / `sampled`:
        the expected value of a product with it is that of the whole row. The node itself always stays.
        """
        read, edges = block(self.csr, nodes, sampled, generator)
        left, right = self.roots[nodes].double(), self.roots[read].double()
        scale = left * self.csr.degree[nodes] / edges.degree.clamp(min=1)
        values = scale[edges.rows] * right[edges.indices]
        values = values if edges.weights is None else values * edges.weights
        indptr, indices = edges.indptr, edges.indices
        if self.self_loops > 0:  # a node of the batch is the column of its own row's number
            indptr, indices, diagonal = insert_diagonal(indptr, indices)
            own = (self.self_loops * left.square()).repeat_interleave(indptr.diff(), output_size=indices.numel())
            values = own.masked_scatter(~diagonal, values)
        return Block(read, CSR(indptr, indices, read.numel(), weights=values.float()))


class Flow(NamedTuple):
    """The nodes that the first layer reads, and the matrix of each layer, the first layer's first."""

    rows: Int[Tensor, " r"]
    matrices: tuple[SparseMatrix, ...]


def flow(averages: Averages, nodes: Int[Tensor, " b"], layers: int, sampled: int, generator: torch.Generator) -> Flow:
    """The message flow to `nodes`, which are distinct. With all neighbours it is exact: the rows of a pass over the graph.

    With `sampled` neighbours a layer's averages are right in expectation; activations between layers make the result biased.
    """
    rows, matrices = nodes, []
    for _ in range(layers):
        rows, entries = averages.block(rows, sampled, generator)
        matrices.append(SparseMatrix(entries.to_torch()))
    return Flow(rows, tuple(reversed(matrices)))


def strengths(csr: CSR) -> Float[Tensor, " n"]:
    """Sum of the weights of each row, or its degree, in double precision. O(|V|) memory: weights are read in blocks."""
    if csr.weights is None:
        return csr.degree.double()
    parts = []
    for rows in blocks(csr.num_rows):
        indptr = csr.indptr[rows.start : rows.stop + 1]
        weights = csr.weights[int(indptr[0]) : int(indptr[-1])].double()
        parts.append(torch.segment_reduce(weights, "sum", offsets=indptr - indptr[0], unsafe=True, initial=0))
    return torch.cat(parts)
