"""Graph: the one type that every other room speaks of. Frozen, validated once, compressed sparse rows (CSR)."""

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

import localgcl.vectormath  # noqa: F401 - before any tensor of ours is computed with
from localgcl.arrays import as_features, csr_order, ids, labels, positions, select_rows


@dataclasses.dataclass(frozen=True, eq=False)
class Split:
    """One division of the nodes into `train`, `val` and `test` index tensors, pairwise disjoint."""

    train: Int[Tensor, " a"]
    val: Int[Tensor, " b"]
    test: Int[Tensor, " c"]
    name: str = "split"

    def to(self, device: torch.device | str) -> "Split":
        return Split(self.train.to(device), self.val.to(device), self.test.to(device), self.name)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A graph with node features and, optionally, labels and splits.

    Row i of the CSR structure lists the targets of the edges that leave node i, in increasing order; an undirected
    graph stores each edge in both directions. Parallel edges and self-loops are kept as given: `coalesced`,
    `without_loops` and `symmetrized` return graphs without them.

    Args:
        indptr: CSR row pointers, shape (n + 1,).
        indices: CSR column indices, shape (number of directed edges,).
        x: Node features, shape (n, f): a dense float tensor, or a sparse CSR one for bags of words.
        y: Class of each node, shape (n,); -1 where unknown.
        splits: Train/validation/test divisions that belong to the graph.
        node_ids: The user's own name of each node (any hashable scalars); 0..n-1 when not given.
        name: What to call the graph in logs and tables.

    Example:
        >>> path = Graph.from_edges([0, 1], [1, 2], x=torch.eye(3)).symmetrized()
        >>> path.indptr.tolist(), path.indices.tolist()
        ([0, 1, 3, 4], [1, 0, 2, 1])
    """

    indptr: Int[Tensor, " pointers"]
    indices: Int[Tensor, " m"]
    x: Tensor
    y: Int[Tensor, " n"] | None = None
    splits: tuple[Split, ...] = ()
    node_ids: NDArray[Any] = dataclasses.field(default_factory=lambda: np.empty(0, dtype=np.int64))
    name: str = "graph"

    def __post_init__(self) -> None:
        n = self.indptr.numel() - 1
        if n < 1:
            raise ValueError("the graph has no nodes; give at least one row of features or one edge")
        if len(self.node_ids) == 0:
            object.__setattr__(self, "node_ids", np.arange(n))
        object.__setattr__(self, "splits", tuple(self.splits))
        self._check_structure(n)
        self._check_features(n)
        self._check_labels(n)

    @classmethod
    def from_edges(
        cls,
        source: Any,
        target: Any,
        *,
        x: Any,
        y: Any = None,
        splits: Sequence[Split] = (),
        node_ids: Any = None,
        name: str = "graph",
    ) -> "Graph":
        """Builds a graph from two equally long lists of node positions. O(|E| log |E|)."""
        features = as_features(x)
        n = features.shape[0]
        source, target = positions(source, "source"), positions(target, "target")
        if source.shape != target.shape:
            raise ValueError(f"{source.numel()} edge sources but {target.numel()} edge targets; give one of each per edge")
        for role, ends in (("source", source), ("target", target)):
            if ends.numel() and (int(ends.min()) < 0 or int(ends.max()) >= n):
                wrong = int(ends.min()) if int(ends.min()) < 0 else int(ends.max())
                raise ValueError(
                    f"an edge has {role} {wrong}, but the features have "
                    f"{n} rows, so node positions run from 0 to {n - 1}; add the missing rows or drop the edge"
                )
        indptr, indices, _ = csr_order(source, target, n)
        return cls(indptr, indices, features, None if y is None else labels(y), tuple(splits), ids(node_ids), name)

    # Sizes

    @property
    def num_nodes(self) -> int:
        return self.indptr.numel() - 1

    @property
    def num_edges(self) -> int:
        """Number of stored (directed) edges."""
        return self.indices.numel()

    @property
    def num_features(self) -> int:
        return int(self.x.shape[1])

    @property
    def num_classes(self) -> int:
        return 0 if self.y is None or self.y.numel() == 0 else int(self.y.max()) + 1

    @property
    def device(self) -> torch.device:
        return self.indices.device

    def __repr__(self) -> str:
        layout = "sparse" if self.x.layout == torch.sparse_csr else "dense"
        return (
            f"Graph({self.name!r}: {self.num_nodes:,} nodes, {self.num_edges:,} directed edges, "
            f"{self.num_features:,} {layout} features, {self.num_classes} classes, {len(self.splits)} splits)"
        )

    # Structure, each computed once

    @cached_property
    def degree(self) -> Int[Tensor, " n"]:
        return self.indptr.diff()

    @cached_property
    def rows(self) -> Int[Tensor, " m"]:
        """Source node of each stored edge."""
        nodes = torch.arange(self.num_nodes, device=self.device)
        return nodes.repeat_interleave(self.degree, output_size=self.num_edges)

    @cached_property
    def loops(self) -> Bool[Tensor, " m"]:
        """Which stored edges are self-loops."""
        return self.rows == self.indices

    @cached_property
    def transposed(self) -> tuple[Int[Tensor, " pointers"], Int[Tensor, " m"], Int[Tensor, " m"]]:
        """CSR of the reversed edges, and for each of them the position of its edge in this graph."""
        return csr_order(self.indices, self.rows, self.num_nodes)

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether every edge is stored in both directions, equally often."""
        indptr, indices, _ = self.transposed
        return torch.equal(indptr, self.indptr) and torch.equal(indices, self.indices)

    @cached_property
    def neighbourhoods(self) -> "Graph":
        """The same graph without self-loops, as often as it is asked for: row i is N(i)."""
        return self.without_loops() if bool(self.loops.any()) else self

    @cached_property
    def closed_neighbourhoods(self) -> "Graph":
        """Row i is N(i) and i itself."""
        open_, nodes = self.neighbourhoods, torch.arange(self.num_nodes, device=self.device)
        return self.with_edges(torch.cat([open_.rows, nodes]), torch.cat([open_.indices, nodes]))

    # Graph -> Graph

    def with_edges(self, source: Int[Tensor, " k"], target: Int[Tensor, " k"]) -> "Graph":
        """The same nodes with other edges."""
        indptr, indices, _ = csr_order(source, target, self.num_nodes)
        return dataclasses.replace(self, indptr=indptr, indices=indices)

    def symmetrized(self) -> "Graph":
        """Adds the reverse of every edge that has none, and drops repeats: the undirected simple graph, loops kept."""
        return self.with_edges(torch.cat([self.rows, self.indices]), torch.cat([self.indices, self.rows])).coalesced()

    def coalesced(self) -> "Graph":
        """Keeps one of each set of parallel edges. Rows are sorted, so repeats are neighbours."""
        repeat = torch.zeros_like(self.loops)
        repeat[1:] = (self.rows[1:] == self.rows[:-1]) & (self.indices[1:] == self.indices[:-1])
        return self.with_edges(self.rows[~repeat], self.indices[~repeat])

    def without_loops(self) -> "Graph":
        return self.with_edges(self.rows[~self.loops], self.indices[~self.loops])

    def with_features(self, x: Any) -> "Graph":
        return dataclasses.replace(self, x=as_features(x).to(self.device))

    def with_splits(self, splits: Sequence[Split]) -> "Graph":
        return dataclasses.replace(self, splits=tuple(splits))

    def subgraph(self, nodes: Tensor) -> "Graph":
        """The graph induced by `nodes` (positions, or a mask), in the order given; splits are left behind."""
        if nodes.dtype == torch.bool:
            if nodes.shape != (self.num_nodes,):
                raise ValueError(f"the mask has shape {tuple(nodes.shape)}; give one value for each of {self.num_nodes} nodes")
            nodes = nodes.nonzero().flatten()
        nodes = nodes.to(self.device)
        position, order = torch.full((self.num_nodes,), -1, device=self.device), torch.arange(nodes.numel(), device=self.device)
        position[nodes] = order
        if not torch.equal(position[nodes], order):
            twice = int(nodes[position[nodes] != order][0])
            raise ValueError(f"node {twice} is named more than once; a subgraph holds a node once, so pass nodes.unique()")
        source, target = position[self.rows], position[self.indices]
        inside = (source >= 0) & (target >= 0)
        indptr, indices, _ = csr_order(source[inside], target[inside], nodes.numel())
        x = select_rows(self.x, nodes)
        y = None if self.y is None else self.y[nodes]
        return Graph(indptr, indices, x, y, (), self.node_ids[nodes.cpu().numpy()], self.name)

    def to(self, device: torch.device | str) -> "Graph":
        if self.device == torch.device(device):
            return self
        y = None if self.y is None else self.y.to(device)
        splits = tuple(split.to(device) for split in self.splits)
        return Graph(self.indptr.to(device), self.indices.to(device), self.x.to(device), y, splits, self.node_ids, self.name)

    def to_scipy(self) -> sp.csr_array:
        """The adjacency matrix, parallel edges counted."""
        ones = np.ones(self.num_edges, dtype=np.float32)
        parts = (ones, self.indices.cpu().numpy(), self.indptr.cpu().numpy())
        return sp.csr_array(parts, shape=(self.num_nodes, self.num_nodes))

    # Statistics

    def homophily(self) -> float:
        r"""Edge homophily, the paper's Definition 1, over edges whose two labels are known.

        $\phi = \sum_{ij} A_{ij} 1[y_i = y_j] / \sum_{ij} A_{ij}$
        """
        if self.y is None:
            raise ValueError(f"graph {self.name!r} has no labels, so homophily is undefined; pass labels when reading it")
        source, target = self.y[self.rows], self.y[self.indices]
        known = (source >= 0) & (target >= 0)
        if not bool(known.any()):
            return float("nan")
        return float((source == target)[known].double().mean())

    def summary(self) -> dict[str, float | int]:
        """Sizes, components and degrees, by name."""
        components, _ = sp.csgraph.connected_components(self.to_scipy(), directed=False)
        degree = self.degree.cpu().numpy()
        statistics: dict[str, float | int] = {
            "nodes": self.num_nodes,
            "directed edges": self.num_edges,
            "self-loops": int(self.loops.sum()),
            "features": self.num_features,
            "classes": self.num_classes,
            "components": int(components),
            "isolated nodes": int(((self.degree == 0) & (self.transposed[0].diff() == 0)).sum()),
            "mean degree": float(degree.mean()),
            "median degree": float(np.median(degree)),
            "max degree": int(degree.max()),
        }
        if self.y is not None:
            statistics["homophily"] = self.homophily()
        return statistics

    # Validation, run once by __post_init__

    def _check_structure(self, n: int) -> None:
        if self.indptr.dtype != torch.int64 or self.indices.dtype != torch.int64:
            raise ValueError(f"indptr and indices must be int64, got {self.indptr.dtype} and {self.indices.dtype}; use .long()")
        if int(self.indptr[0]) != 0 or int(self.indptr[-1]) != self.indices.numel() or bool((self.indptr.diff() < 0).any()):
            raise ValueError(
                f"indptr must rise from 0 to the number of edges ({self.indices.numel()}), got {int(self.indptr[0])} to "
                f"{int(self.indptr[-1])}; build the graph with Graph.from_edges"
            )
        if self.indices.numel() and (int(self.indices.min()) < 0 or int(self.indices.max()) >= n):
            raise ValueError(
                f"edge targets run from {int(self.indices.min())} to {int(self.indices.max())}, but the graph has nodes 0 to "
                f"{n - 1}; build the graph with Graph.from_edges"
            )
        # Sorted rows are what coalesced and transposed rely on; a key a row apart makes one comparison enough.
        key = self.rows * n + self.indices
        if bool((key.diff() < 0).any()):
            raise ValueError("CSR rows must list their targets in increasing order; build the graph with Graph.from_edges")
        if len(self.node_ids) != n:
            raise ValueError(f"{len(self.node_ids)} node ids for {n} nodes; give one id per node")

    def _check_features(self, n: int) -> None:
        if self.x.ndim != 2 or self.x.shape[0] != n:
            raise ValueError(f"features have shape {tuple(self.x.shape)}, but the graph has {n} nodes; give one row per node")
        if self.x.shape[1] == 0:
            raise ValueError("features have no columns; leave them out to get structural features")
        values = self.x.values() if self.x.layout == torch.sparse_csr else self.x
        finite = torch.isfinite(values)
        if not bool(finite.all()):
            first = (~finite).nonzero()[0].tolist()
            row = int(torch.searchsorted(self.x.crow_indices(), first[0], right=True)) - 1 if len(first) == 1 else first[0]
            node = self.node_ids.tolist()[row]
            raise ValueError(
                f"{int((~finite).sum())} feature values are NaN or infinite (first in the row of node {node!r}); "
                "fill or drop them first"
            )

    def _check_labels(self, n: int) -> None:
        if self.y is not None:
            if self.y.dtype != torch.int64 or self.y.shape != (n,):
                raise ValueError(f"labels have shape {tuple(self.y.shape)} and type {self.y.dtype}; give {n} integers (int64)")
            if int(self.y.min()) < -1:
                raise ValueError(f"labels must be 0, 1, 2... or -1 for unknown, got {int(self.y.min())}; renumber the classes")
        for split in self.splits:
            parts = torch.cat([split.train, split.val, split.test])
            if parts.numel() and (int(parts.min()) < 0 or int(parts.max()) >= n):
                wrong = int(parts.min()) if int(parts.min()) < 0 else int(parts.max())
                raise ValueError(f"split {split.name!r} names node {wrong}, but nodes run from 0 to {n - 1}; drop it")
            if parts.unique().numel() != parts.numel():
                raise ValueError(f"split {split.name!r} puts a node into two of train, val, test; make them disjoint")
