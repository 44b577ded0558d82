"""Graph: the one type that all other packages work on. Frozen, validated once, compressed sparse rows (CSR)."""

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

import localgcl.system.vectormath  # noqa: F401 - before any tensor of ours is computed with
from localgcl.graph.checks import check_features, check_labels, check_splits, check_structure, ids, labels, positions
from localgcl.graph.csr import CSR, Transposed, as_features, select_rows, sort_edges


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
        structure: The CSR of `indptr` and `indices`, if already made.
        trusted: Skip the checks: the parts come from a graph that was checked.

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
    structure: CSR | None = None
    trusted: dataclasses.InitVar[bool] = False

    def __post_init__(self, trusted: bool) -> None:
        assert self.structure is None or self.structure.indices is self.indices, "a structure of other edges"
        if trusted:
            return
        n = self.indptr.numel() - 1
        if n < 1:
            raise ValueError("the graph has no nodes; give at least one row of features or one edge")
        if len(self.node_ids) == 0:
            object.__setattr__(self, "node_ids", np.arange(n))
        object.__setattr__(self, "splits", tuple(self.splits))
        check_structure(self.indptr, self.indices, self.node_ids)
        check_features(self.x, self.node_ids)
        check_labels(self.y, n)
        check_splits(self.splits, n)

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
        csr = sort_edges(source, target, n)
        y = None if y is None else labels(y)
        return cls(csr.indptr, csr.indices, features, y, tuple(splits), ids(node_ids), name, csr)

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

    # Structure

    @cached_property
    def csr(self) -> CSR:
        """The edges as a CSR structure."""
        return self.structure or CSR(self.indptr, self.indices)

    @property
    def degree(self) -> Int[Tensor, " n"]:
        return self.csr.degree

    @property
    def rows(self) -> Int[Tensor, " m"]:
        """Source node of each stored edge."""
        return self.csr.rows

    @property
    def loops(self) -> Bool[Tensor, " m"]:
        """Which stored edges are self-loops."""
        return self.csr.loops

    @property
    def transposed(self) -> Transposed:
        """CSR of the reversed edges, and for each of them the position of its edge in this graph."""
        return self.csr.transposed

    @property
    def is_symmetric(self) -> bool:
        """Whether every edge is stored in both directions, equally often."""
        return self.csr.is_symmetric

    @property
    def neighbourhoods(self) -> CSR:
        """Row i lists N(i): this graph's edges without self-loops."""
        return self.csr.without_loops

    @property
    def closed_neighbourhoods(self) -> CSR:
        """Row i lists N(i) and i itself."""
        return self.csr.with_loops

    # Graph -> Graph

    def with_edges(self, source: Int[Tensor, " k"], target: Int[Tensor, " k"]) -> "Graph":
        """The same nodes with other edges, which are checked."""
        csr = sort_edges(source, target, self.num_nodes)
        return dataclasses.replace(self, indptr=csr.indptr, indices=csr.indices, structure=csr)

    def symmetrized(self) -> "Graph":
        """Adds the reverse of every edge that has none, and drops repeats: the undirected simple graph, loops kept."""
        return self.with_edges(torch.cat([self.rows, self.indices]), torch.cat([self.indices, self.rows])).coalesced()

    def keep_edges(self, mask: Bool[Tensor, " m"]) -> "Graph":
        """The same nodes with the edges that `mask` selects, in their order. O(|E|): nothing is sorted or checked again."""
        return self._with_structure(self.csr.keep(mask))

    def coalesced(self) -> "Graph":
        """Keeps one of each set of parallel edges. Rows are sorted, so repeats are neighbours."""
        repeat = torch.zeros_like(self.loops)
        repeat[1:] = (self.rows[1:] == self.rows[:-1]) & (self.indices[1:] == self.indices[:-1])
        return self.keep_edges(~repeat)

    def without_loops(self) -> "Graph":
        return self.keep_edges(~self.loops)

    def with_features(self, x: Any) -> "Graph":
        """The same graph with other features, which are checked; its edges are not checked again."""
        changed = self.derived(x=as_features(x).to(self.device))
        check_features(changed.x, self.node_ids)
        return changed

    def derived(self, **parts: Any) -> "Graph":
        """This graph with some parts other than edges replaced. Nothing is checked: the new parts are known to be right."""
        return dataclasses.replace(self, **parts, structure=self.csr, trusted=True)

    def _with_structure(self, csr: CSR) -> "Graph":
        return dataclasses.replace(self, indptr=csr.indptr, indices=csr.indices, structure=csr, trusted=True)

    def with_splits(self, splits: Sequence[Split]) -> "Graph":
        changed = self.derived(splits=tuple(splits))
        check_splits(changed.splits, self.num_nodes)
        return changed

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
        csr = sort_edges(source[inside], target[inside], nodes.numel())
        x = select_rows(self.x, nodes)
        y = None if self.y is None else self.y[nodes]
        return Graph(csr.indptr, csr.indices, x, y, (), self.node_ids[nodes.cpu().numpy()], self.name, csr)

    def to(self, device: torch.device | str) -> "Graph":
        if self.device == torch.device(device):
            return self
        y = None if self.y is None else self.y.to(device)
        splits = tuple(split.to(device) for split in self.splits)
        csr = CSR(self.indptr.to(device), self.indices.to(device))
        return dataclasses.replace(self._with_structure(csr), x=self.x.to(device), y=y, splits=splits, trusted=True)

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
