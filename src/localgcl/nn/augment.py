r"""Augmentations: pure functions Graph -> Graph that draw everything random from the given generator.

A view keeps the nodes and their order. Each stored direction of an edge is dropped on its own, as in the published codes, so a
view of an undirected graph is directed. Edges that stay keep their weights. Drop rates by importance (GCA) are computed once
from the graph:

$p_e = \min\left( \frac{s_{max} - s_e}{s_{max} - \bar s}\, p,\ \text{cap} \right)$, $s$ the logarithm of a centrality.
"""

import math
from typing import Literal, overload

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.graph import Graph
from localgcl.graph.csr import CSR, csr_tensor, select_rows
from localgcl.ops.propagation import propagation
from localgcl.ops.sparse import SparseMatrix, spmm

Centrality = Literal["degree", "pagerank", "eigenvector"]
# The power series of the diffusion is cut where the remainder is below the rounding of float32.
_TAIL = 1e-7
# Numbers in one block of diffusion rows: 128 MiB a copy.
_BLOCK = 2**25
_DAMPING = 0.85
_ITERATIONS = 200
# The largest drop rate by importance.
_CAP = 0.7


def drop_edges(graph: Graph, rate: float | Float[Tensor, " m"], generator: torch.Generator) -> Graph:
    """Drops each stored (directed) edge independently, with one probability for all or one for each. O(|E|)."""
    if _nothing(rate):
        return graph
    draws = torch.rand(graph.num_edges, generator=generator, device=graph.device)
    return graph.keep_edges(draws >= rate)


def mask_features(graph: Graph, rate: float | Float[Tensor, " f"], generator: torch.Generator) -> Graph:
    """Sets whole feature columns to zero, with one probability for all or one for each. Sparse features stay sparse."""
    if _nothing(rate):
        return graph
    keep = (torch.rand(graph.num_features, generator=generator, device=graph.device) >= rate).float()
    x = graph.x
    if x.layout != torch.sparse_csr:
        return graph.derived(x=x * keep)
    # Zeros stay stored: finding them would make the host wait for the GPU, and the pattern of non-zeros is shared.
    columns = x.col_indices()
    return graph.derived(x=csr_tensor(x.crow_indices(), columns, x.values() * keep[columns], (x.shape[0], x.shape[1])))


def shuffle_features(graph: Graph, generator: torch.Generator) -> Graph:
    """Permutes the rows of X and keeps the edges: the corruption of DGI."""
    order = torch.randperm(graph.num_nodes, generator=generator, device=graph.device)
    return graph.derived(x=select_rows(graph.x, order))


@overload
def diffuse(graph: Graph, alpha: float = 0.2, top_k: None = None) -> Float[Tensor, "n n"]: ...
@overload
def diffuse(graph: Graph, alpha: float, top_k: int) -> SparseMatrix: ...
@overload
def diffuse(graph: Graph, alpha: float = 0.2, *, top_k: int) -> SparseMatrix: ...
def diffuse(graph: Graph, alpha: float = 0.2, top_k: int | None = None) -> Tensor | SparseMatrix:
    r"""Personalised-PageRank diffusion $S = \alpha (I - (1-\alpha) \hat A)^{-1}$, $\hat A = D^{-1/2} (A + I) D^{-1/2}$.

    $\hat A$ is `propagation(graph)`: row i of S holds the weight of each node at i. An isolated node has weight at itself only.

    Args:
        graph: Its own self-loops are replaced by one per node.
        alpha: Probability to return to the start, in (0, 1].
        top_k: None gives the exact matrix as a dense tensor: O(|V|^3) time, O(|V|^2) memory. A number keeps the top_k
            largest entries of each row, scaled so that the row keeps its sum, as a sparse matrix. Rows are computed in
            blocks by $\alpha \sum_t (1-\alpha)^t \hat A^t$: O(|V| |E|) time, O(|V| top_k) memory beside one block, never
            |V| x |V|. Which of equal entries is kept is not specified.
    """
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha is {alpha}; it must be above 0 and at most 1, for example 0.2")
    matrix = propagation(graph)
    if top_k is None:
        identity = torch.eye(graph.num_nodes, device=graph.device)
        exact: Tensor = alpha * torch.linalg.inv(identity - (1 - alpha) * matrix.csr.to_dense())
        return exact
    if top_k < 1:
        raise ValueError(f"top_k is {top_k}; it must be at least 1, for example 64, or None for the exact dense matrix")
    return _sparse_diffusion(matrix.transposed, alpha, min(top_k, graph.num_nodes))


def _sparse_diffusion(transposed: SparseMatrix, alpha: float, top_k: int) -> SparseMatrix:
    n, device = transposed.shape[0], transposed.csr.device
    terms = math.ceil(math.log(_TAIL) / math.log(1 - alpha)) if alpha < 1 else 0
    indices, values = [], []
    for nodes in torch.arange(n, device=device).split(max(1, _BLOCK // n)):
        start = torch.zeros(n, nodes.numel(), device=device)  # column b: row nodes[b] of S, transposed
        start[nodes, torch.arange(nodes.numel(), device=device)] = alpha
        block = start
        for _ in range(terms):
            block = spmm(transposed, block).mul_(1 - alpha).add_(start)
        largest, where = block.T.topk(top_k, dim=1)
        scale = block.sum(0) / largest.sum(1)
        where, order = where.sort(dim=1)
        indices.append(where)
        values.append(largest.gather(1, order) * scale[:, None])
    columns, weights = torch.cat(indices).flatten(), torch.cat(values).flatten()
    everywhere = CSR(torch.arange(0, n * top_k + 1, top_k, device=device), columns)
    kept = everywhere.keep(weights > 0)  # a row that fewer than top_k nodes reach was filled up with zeros
    return SparseMatrix(csr_tensor(kept.indptr, kept.indices, weights[weights > 0], (n, n)))


def edge_drop_rates(graph: Graph, rate: float, centrality: Centrality = "degree") -> Float[Tensor, " m"]:
    """GCA's drop rate of each stored edge: `rate` on average before the cap, less for edges to central nodes."""
    return _drop_rates(node_centrality(graph, centrality)[graph.indices], rate)


def feature_drop_rates(
    graph: Graph, rate: float, centrality: Centrality = "degree", *, magnitudes: bool = False
) -> Float[Tensor, " f"]:
    r"""GCA's drop rate of each feature column f, whose centrality is $\sum_i c_i [x_{if} \ne 0]$.

    With `magnitudes` it is $\sum_i c_i |x_{if}|$, for dense features that are hardly ever zero.
    """
    weights, x = node_centrality(graph, centrality), graph.x
    if x.layout == torch.sparse_csr:
        values = x.values().double().abs() if magnitudes else (x.values() != 0).double()
        rows = torch.arange(x.shape[0], device=x.device).repeat_interleave(x.crow_indices().diff(), output_size=values.numel())
        total = weights.new_zeros(x.shape[1]).index_add_(0, x.col_indices(), values * weights[rows])
    else:
        total = weights @ (x.abs().double() if magnitudes else (x != 0).double())
    return _drop_rates(total, rate)


def node_centrality(graph: Graph, kind: Centrality) -> Float[Tensor, " n"]:
    r"""Importance of each node by the edges that point to it, in double precision; edges count by their weights.

    "degree": their number, or the sum of their weights. "pagerank": $c = (1-q)/n + q\, P^T c$ with damping q = 0.85; mass of
    nodes that no edge leaves is spread over all. "eigenvector": the leading eigenvector of $A^T$, by iterating $A^T + I$, which
    has the same one and does not oscillate on bipartite graphs. The last two run a fixed number of iterations, O(|E|) each.
    """
    turned = graph.csr.reversed
    if kind == "degree":
        return turned.strength.double()
    n = graph.num_nodes
    ones = torch.ones(graph.num_edges, dtype=torch.float64, device=graph.device)
    values = ones if turned.weights is None else turned.weights.double()
    incoming = SparseMatrix(csr_tensor(turned.indptr, turned.indices, values, (n, n)))
    leaving = graph.csr.strength.double()
    c = torch.full((n, 1), 1 / n, dtype=torch.float64, device=graph.device)
    for _ in range(_ITERATIONS):
        if kind == "pagerank":
            moved = spmm(incoming, c / torch.where(leaving > 0, leaving, 1.0)[:, None])
            c = (1 - _DAMPING) / n + _DAMPING * (moved + c[leaving == 0].sum() / n)
        else:
            c = c + spmm(incoming, c)
            c = c / c.norm()
    return c.flatten()


def _drop_rates(centrality: Float[Tensor, " k"], rate: float) -> Float[Tensor, " k"]:
    """min((max - s) / (max - mean) * rate, cap) for s the log centrality; `rate` for all if all are equally central.

    A centrality of zero (an all-zero column, a node outside the leading component) counts as the smallest of the others.
    """
    _nothing(rate)
    if centrality.numel() == 0:
        return centrality.float()
    present = centrality > 1e-8 * centrality.max()
    if not bool(present.any()):
        return torch.full_like(centrality, min(rate, _CAP), dtype=torch.float32)
    score = torch.where(present, centrality, centrality[present].min()).log()
    spread = score.max() - score.mean()
    # Iterated centralities of a regular graph differ by rounding only; 1e-6 in a logarithm is no difference in importance.
    if float(spread) < 1e-6:
        return torch.full_like(centrality, min(rate, _CAP), dtype=torch.float32)
    return ((score.max() - score) / spread * rate).clamp(max=_CAP).float()


def _nothing(rate: float | Tensor) -> bool:
    """True if the rate is the number 0; ValueError if it is no probability. Tensors are not read: that would wait for a GPU."""
    if isinstance(rate, Tensor):
        return False
    if not 0 <= rate <= 1:
        raise ValueError(f"the rate is {rate}; it is a probability from 0 to 1, for example 0.3")
    return rate == 0
