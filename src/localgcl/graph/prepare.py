"""Preparation: a graph as loaded -> the graph that a method reads, with the columns of training."""

import dataclasses
import hashlib
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from localgcl.config import LocalGCLWarning, Preparation, Scaling
from localgcl.graph import Graph, Split
from localgcl.graph.csr import CSR, as_features, csr_tensor, features_to_scipy
from localgcl.system.text import listed

_CONSTANT = 1e-9
"""A column that deviates by less than this part of its largest value is constant: sums over many nodes round by as much."""

ColumnStatistics = dict[str, Tensor]
"""Mean and deviation of each feature column of the training graph, for scaling="standard"; empty otherwise."""


def column_statistics(graph: Graph, scaling: Scaling) -> ColumnStatistics:
    """Mean and deviation of each feature column, by which nodes that are not in the graph are scaled, too."""
    if scaling != "standard":
        return {}
    x = graph.x.to_dense().double()
    deviation = x.std(dim=0, correction=0)
    # A constant column has no deviation; dividing by one leaves it at zero.
    return {"mean": x.mean(dim=0).float(), "deviation": torch.where(deviation > 0, deviation, 1.0).float()}


def prepare(graph: Graph, preparation: Preparation, statistics: ColumnStatistics) -> Graph:
    """The graph with the edges and the scaled features that `preparation` asks for. O(|E| log |E| + stored feature values).

    Keeping parallel edges while symmetrising gives A + A^T: an undirected graph then holds each edge twice, as in the data
    releases behind the paper's edge counts, and self-loops in the GCN weigh half as much. Dropping them sums their weights,
    where edges have any (`Graph.symmetrized`).
    """
    if graph.indices.dtype != torch.int64:  # mapped from a folder
        csr = CSR(graph.indptr, graph.indices.long(), weights=graph.weights, simple=True)
        graph = dataclasses.replace(graph, indices=csr.indices, structure=csr, trusted=True)
    if preparation.symmetrise and preparation.parallel_edges == "drop":
        graph = graph.symmetrized()
    elif preparation.symmetrise:
        graph = graph.with_reversed()
    elif preparation.parallel_edges == "drop":
        graph = graph.coalesced()
    if preparation.drop_loops:
        graph = graph.without_loops()
    return graph.with_features(scale(graph.x, preparation.scaling, statistics), graph.feature_names, copy=False)


def scale(x: Tensor, scaling: Scaling, statistics: ColumnStatistics) -> Tensor:
    """Scaled features; sparse ones stay sparse, except that standardising fills every entry."""
    if scaling == "raw":
        return x
    if scaling == "standard":
        return (x.to_dense() - statistics["mean"].to(x.device)) / statistics["deviation"].to(x.device)
    if x.layout == torch.sparse_csr:
        values = x.values()
        values = (values != 0).float() if scaling == "binary" else _sparse_unit_rows(x, 1 if scaling == "l1" else 2)
        return csr_tensor(x.crow_indices(), x.col_indices(), values, (x.shape[0], x.shape[1]))
    if scaling == "binary":
        return (x != 0).float()
    scaled = x * _power_near(torch.linalg.vector_norm(x, ord=torch.inf, dim=1, keepdim=True))
    norms = torch.linalg.vector_norm(scaled, ord=1 if scaling == "l1" else 2, dim=1, keepdim=True)
    return scaled.div_(torch.where(norms > 0, norms, 1.0))


def _sparse_unit_rows(x: Tensor, order: int) -> Float[Tensor, " stored"]:
    """The stored values of sparse features, each row divided by its norm."""
    counts, values = x.crow_indices().diff(), x.values()

    def per_value(row_values: Any) -> Tensor:
        return torch.as_tensor(row_values).to(values).repeat_interleave(counts, output_size=values.numel())

    largest = abs(features_to_scipy(x)).max(axis=1).toarray().ravel()
    scaled = values * per_value(_power_near(torch.from_numpy(largest)))
    matrix = features_to_scipy(csr_tensor(x.crow_indices(), x.col_indices(), scaled, (x.shape[0], x.shape[1])))
    norms = sp.linalg.norm(matrix, ord=order, axis=1)
    return scaled / per_value(np.where(norms > 0, norms, 1.0))


def _power_near(largest: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The power of two that brings a row's largest value near 1, so that squares neither overflow nor vanish.

    Multiplying by it rounds nothing, so rows of common size keep their scaled values to the bit.
    """
    exponent = torch.frexp(largest).exponent.clamp(-126, 126)  # beyond, the power itself is no normal float32
    return torch.exp2(-exponent.to(largest.dtype))


_STRUCTURAL_COLUMNS = (1024, 512, 128)


def structural_columns(num_nodes: int) -> int:
    """How many structural features a graph gets that has no features of its own: fewer where they would fill the memory."""
    small, medium, large = _STRUCTURAL_COLUMNS
    return small if num_nodes <= 50_000 else medium if num_nodes <= 200_000 else large


def structural_features(graph: Graph, num_columns: int = 128, *, hops: int = 3) -> Float[Tensor, "n f"]:
    r"""Features computed from the edges alone, for graphs without any; labels are not used.

    Column block k = 1..hops is $P^k R$, where $P = D^{-1} A$ averages over neighbours and R holds random signs; its rows
    place nodes that reach the same part of the graph close together (very sparse random projection of the k-step
    transition matrix, as in FastRP). One column, log(1 + degree), adds the node's own role. All columns are standardised.
    Where edges have weights, A holds them and a degree is their sum.

    The signs of a node are a hash of its id, not a draw in node order, so a node keeps its signs when the graph grows
    and `transform` can embed new nodes. O(|E| f).
    """
    adjacency = graph.to_scipy()
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    average: Any = sp.diags_array(1 / np.where(degree > 0, degree, 1)) @ adjacency
    width, extra = divmod(num_columns - 1, hops)
    blocks = [np.log1p(degree)[:, None]]
    signal = hashed_signs(graph.node_ids, width + (extra > 0))
    for hop in range(hops):
        signal = average @ signal
        blocks.append(signal[:, : width + (hop < extra)])
    return torch.from_numpy(standardised(np.concatenate(blocks, axis=1)))


def standardised(x: NDArray[np.float64]) -> NDArray[np.float32]:
    """Columns with mean 0 and deviation 1, or 0 where they are constant up to rounding."""
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    largest = np.maximum(x.max(axis=0), -x.min(axis=0))
    deviation[deviation <= _CONSTANT * largest] = np.inf  # so that rounding errors become zero
    scaled: NDArray[np.float32] = ((x - mean) / deviation).astype(np.float32)
    return scaled


def with_structural_features(graph: Graph, num_columns: int) -> Graph:
    """The graph with `structural_features` of its undirected edges in place of its features."""
    return graph.with_features(structural_features(graph.symmetrized(), num_columns), copy=False).derived(structural=True)


def with_as_many_columns(graph: Graph, num_columns: int) -> Graph:
    """The graph, its structural features computed anew if it has another number of them; other features stay as they are.

    Their number depends on the size of the graph, and a model reads as many as it was trained on. Another number than a graph
    without features can have is left alone: the model was trained on a user's own columns, and will say so.
    """
    if not graph.structural or num_columns not in _STRUCTURAL_COLUMNS or graph.num_features == num_columns:
        return graph
    return with_structural_features(graph, num_columns)


def featureless(
    source: Any,
    target: Any,
    num_nodes: int,
    *,
    y: Any = None,
    splits: Sequence[Split] = (),
    node_ids: Any = None,
    name: str = "graph",
    weights: Any = None,
    class_names: Sequence[str] | None = None,
    stacklevel: int = 3,
) -> Graph:
    """A graph with structural features, for edges that come without any; warns that it does so. O(|E| f).

    `stacklevel` is that of the warning: by default it names the caller of the caller.
    """
    known: dict[str, Any] = {"y": y, "splits": splits, "node_ids": node_ids, "name": name, "weights": weights}
    bare = Graph.from_edges(source, target, x=torch.zeros(num_nodes, 1), class_names=class_names, copy=False, **known)
    graph = with_structural_features(bare, structural_columns(num_nodes))
    warnings.warn(
        f"no features given: using {graph.num_features} structural features computed from the edges alone "
        "(log degree and hashed random walks); pass features if the nodes have any",
        LocalGCLWarning,
        stacklevel=stacklevel,
    )
    return graph


def hashed_signs(ids: NDArray[Any], columns: int) -> NDArray[Any]:
    """A fixed row of +-1 for each id: bits of a keyed hash, the same on every machine."""
    size = -(-columns // 8)
    rows = np.empty((len(ids), size), dtype=np.uint8)
    for i, name in enumerate(ids.tolist()):
        rows[i] = np.frombuffer(hashlib.shake_128(f"{type(name).__name__}:{name}".encode()).digest(size), dtype=np.uint8)
    return np.unpackbits(rows, axis=1)[:, :columns] * 2.0 - 1.0


def match_features(graph: Graph, names: tuple[str, ...] | None) -> Graph:
    """The graph with the feature columns `names`, in that order: those that a model was trained on. O(n f).

    Columns in another order are put right. Columns that `names` does not have are left out, with a warning that names
    them. Where only one side has names, columns are taken by position, with a warning; where neither has, without one.

    Args:
        graph: A graph with features as they were read, before any scaling.
        names: The names of the columns in training; None if they had none.

    Raises:
        ValueError: The graph lacks some of `names`; the message names the first and counts them.
    """
    given = graph.feature_names
    if given == names:
        return graph
    if given is None or names is None:
        which = "the model was trained on features without names" if names is None else "the graph's features have no names"
        _warn(f"{which}, so feature columns are matched by position; check that they are in the same order")
        return graph
    place = {name: column for column, name in enumerate(given)}
    missing = [name for name in names if name not in place]
    if missing:
        raise ValueError(
            f"the graph lacks {len(missing)} of the {len(names)} feature columns that the model was trained on: "
            f"{listed(missing)}; add them under these names (the graph has {listed(given)})"
        )
    known = set(names)
    extra = [name for name in given if name not in known]
    if extra:
        _warn(f"feature columns that the model was not trained on are ignored: {listed(extra)}")
    x = _columns(graph.x, [place[name] for name in names])
    return graph.derived(x=x, feature_names=names)


def _columns(x: Tensor, order: list[int]) -> Tensor:
    """Some columns of dense or sparse features, in the order given."""
    if x.layout == torch.sparse_csr:
        return as_features(features_to_scipy(x)[:, order]).to(x.device)
    return x[:, order]


def _warn(message: str) -> None:
    warnings.warn(message, LocalGCLWarning, stacklevel=4)  # the caller of transform or embed
