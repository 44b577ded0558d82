"""Graph: the one type that all other packages work on. Frozen, validated once, compressed sparse rows (CSR)."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

import localgcl.system.vectormath  # noqa: F401 - before any tensor of ours is computed with
from localgcl.graph.checks import (
    check_ends,
    check_features,
    check_labels,
    check_splits,
    check_structure,
    column_names,
    frame_names,
    ids,
    labels,
    named_classes,
    positions,
)
from localgcl.graph.csr import CSR, Transposed, as_features, select_rows, sort_edges
from localgcl.graph.edges import (
    add_reversed,
    check_weights,
    induced,
    merge_repeats,
    selected,
    undirected,
    unless_ones,
    weighted_edges,
)
from localgcl.graph.split import Split
from localgcl.graph.statistics import as_html, edge_homophily, sizes_in_words, summary

if TYPE_CHECKING:
    from localgcl.graph.mapped import MappedGraph  # it imports Graph


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A graph with node features and, optionally, labels and splits.

    Row i of the CSR structure lists the targets of the edges that leave node i, in increasing order; an undirected
    graph stores each edge in both directions. Parallel edges and self-loops are kept as given: `coalesced`,
    `without_loops` and `symmetrized` return graphs without them.

    The constructor uses its tensors as they are; `from_edges` copies what it is given.

    Args:
        indptr: CSR row pointers, shape (n + 1,).
        indices: CSR column indices, shape (number of directed edges,).
        x: Node features, shape (n, f): a dense float tensor, or a sparse CSR one for bags of words.
        y: Class of each node, shape (n,); -1 where unknown.
        splits: Train/validation/test divisions that belong to the graph.
        node_ids: The user's own name of each node (any hashable scalars); 0..n-1 when not given.
        name: What to call the graph in logs and tables.
        structure: The CSR of `indptr` and `indices`, if already made.
        feature_names: Name of each feature column as the user's table has it, by which `transform` matches the columns of
            other graphs; None for features without names.
        weights: Weight of each stored edge, above 0; None where all are 1. Edges of weight 1 and edges without weights are the
            same graph.
        folder: The graph folder whose mapped arrays these are; None for a graph in memory.
        class_names: Names of the classes 0, 1, 2...; None where they have none.
        encoding: How features were made of a table's columns, as plain data; None where they were numbers.
        structural: Whether features were computed from the edges, because the user gave none.
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
    feature_names: tuple[str, ...] | None = None
    weights: Float[Tensor, " m"] | None = None
    folder: Path | None = None
    class_names: tuple[str, ...] | None = None
    encoding: Mapping[str, Any] | None = None
    structural: bool = False
    trusted: dataclasses.InitVar[bool] = False

    def __post_init__(self, trusted: bool) -> None:
        if self.structure is not None:
            assert self.structure.indices is self.indices, "a structure of other edges"
            assert self.structure.weights is self.weights, "a structure of other weights"
        if trusted:
            return
        n = self.indptr.numel() - 1
        if n < 1:
            raise ValueError("the graph has no nodes; give at least one row of features or one edge")
        if len(self.node_ids) == 0:
            object.__setattr__(self, "node_ids", np.arange(n))
        object.__setattr__(self, "splits", tuple(self.splits))
        if self.x.requires_grad:  # features are data: training needs no gradient of them
            object.__setattr__(self, "x", self.x.detach())
        check_structure(self.indptr, self.indices, self.node_ids)
        if self.weights is not None:
            check_weights(self.weights, self.rows, self.indices, self.node_ids)
            if self.structure is None:
                object.__setattr__(self, "weights", unless_ones(self.weights))
        check_features(self.x, self.node_ids)
        object.__setattr__(self, "feature_names", column_names(self.feature_names, self.num_features))
        check_labels(self.y, n)
        object.__setattr__(self, "class_names", named_classes(self.class_names, self.y))
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
        feature_names: Sequence[str] | None = None,
        weights: Any = None,
        class_names: Sequence[str] | None = None,
        copy: bool = True,
    ) -> "Graph":
        """Builds a graph from two equally long lists of node positions. O(|E| log |E|).

        Args:
            source: Position of the node that each edge leaves.
            target: Position of the node that each edge enters.
            x: Features, one row per node: an array, a tensor, a scipy sparse matrix, or a pandas or polars frame of numbers.
            y: Class of each node, -1 where unknown.
            splits: Train/validation/test divisions.
            node_ids: The user's own name of each node.
            name: What to call the graph.
            feature_names: Name of each column of `x`; those of the frame if `x` is one.
            weights: Weight of each edge, finite and not negative. Edges of weight 0 are left out, with a warning.
            class_names: Names of the classes 0, 1, 2...
            copy: Copy the features, so that later changes to `x` do not reach the graph. A float32 array that is mapped
                read-only is used in place. False saves the copy, for features that nobody else holds.
        """
        features = as_features(x, copy=copy)
        n = features.shape[0]
        source, target = positions(source, "source"), positions(target, "target")
        check_ends(source, target, n)
        names = ids(node_ids)
        if weights is not None:
            source, target, weights = weighted_edges(source, target, weights, names)
        csr = sort_edges(source, target, n, weights)
        y = None if y is None else labels(y)
        splits = tuple(split.copy() for split in splits)
        columns = column_names(frame_names(x) if feature_names is None else feature_names, features.shape[1])
        parts = (csr.indptr, csr.indices, features, y, splits, names, name, csr, columns, csr.weights)
        return cls(*parts, class_names=class_names)  # type: ignore[arg-type]  # made a tuple where it is checked

    @classmethod
    def open(cls, folder: str | Path) -> "Graph":
        """The graph in a folder that `localgcl convert` made. Features are mapped, so they need not fit in memory."""
        from localgcl.graph.mapped import open_graph  # it imports Graph

        return open_graph(folder)

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

    @property
    def on_disk(self) -> "MappedGraph | None":
        """This graph, if its arrays stay on disk and are read as they are needed; else None."""
        return None

    def features(self, nodes: Int[Tensor, " b"] | range) -> Tensor:
        """Features of some nodes as encoders read them; sparse ones stay sparse."""
        if isinstance(nodes, range) and self.x.layout == torch.strided:
            return self.x[nodes.start : nodes.stop]
        rows = torch.arange(nodes.start, nodes.stop, device=self.device) if isinstance(nodes, range) else nodes
        return select_rows(self.x, rows)

    def __repr__(self) -> str:
        return f"Graph({self.name!r}: {', '.join(sizes_in_words(self))})"

    def _repr_html_(self) -> str:
        return as_html(self)

    def __sklearn_clone__(self) -> "Graph":
        return self  # frozen: clones of an estimator share it, where scikit-learn would copy every array

    # Structure

    @cached_property
    def csr(self) -> CSR:
        """The edges as a CSR structure."""
        return self.structure or CSR(self.indptr, self.indices, weights=self.weights)

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
        """Whether every edge is stored in both directions, equally often and with the same weight."""
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

    def with_edges(self, source: Int[Tensor, " k"], target: Int[Tensor, " k"], weights: Any = None) -> "Graph":
        """The same nodes with other edges, which are checked; `weights` as for `from_edges`."""
        if weights is not None:
            source, target, weights = weighted_edges(source, target, weights, self.node_ids)
        return self._with_structure(sort_edges(source, target, self.num_nodes, weights), trusted=False)

    def with_reversed(self) -> "Graph":
        """Adds the reverse of every edge, of the same weight, whether there is one or not: A + A^T."""
        return self._with_structure(add_reversed(self.csr))

    def symmetrized(self) -> "Graph":
        """Adds the reverse of every edge that has none, and merges repeats: the undirected simple graph, loops kept.

        With weights, repeats and opposite directions sum: an edge has the weight $w_{ij} + w_{ji}$ in both. A graph that has
        the same weight (up to rounding) in both directions of every edge is undirected already, and keeps its weights: their
        sum would double them beside the self-loops of a GCN, and once more at each further call.
        """
        return self._merged(undirected(self.csr))

    def keep_edges(self, mask: Bool[Tensor, " m"]) -> "Graph":
        """The same nodes with the edges that `mask` selects, in their order. O(|E|): nothing is sorted or checked again."""
        return self._with_structure(self.csr.keep(mask))

    def coalesced(self) -> "Graph":
        """Merges parallel edges: one of each set is kept, with the sum of their weights if they have any."""
        return self._merged(merge_repeats(self.csr))

    def without_loops(self) -> "Graph":
        return self.keep_edges(~self.loops)

    def with_features(self, x: Any, feature_names: Sequence[str] | None = None, *, copy: bool = True) -> "Graph":
        """The same graph with other features, which are checked; its edges are not checked again.

        Args:
            x: As for `from_edges`.
            feature_names: As for `from_edges`. The names of the old features are dropped.
            copy: As for `from_edges`.
        """
        features = as_features(x, copy=copy).to(self.device)
        check_features(features, self.node_ids)
        names = column_names(frame_names(x) if feature_names is None else feature_names, features.shape[1])
        return self.derived(x=features, feature_names=names, encoding=None, structural=False)

    def derived(self, **parts: Any) -> "Graph":
        """This graph with some parts other than edges replaced. Nothing is checked: the new parts are known to be right."""
        folder = None if "x" in parts else self.folder
        return dataclasses.replace(self, **{"folder": folder, **parts}, structure=self.csr, trusted=True)

    def _with_structure(self, csr: CSR, *, trusted: bool = True) -> "Graph":
        """The same nodes with other edges, which are checked unless `trusted`."""
        parts: dict[str, Any] = {"indptr": csr.indptr, "indices": csr.indices, "structure": csr, "weights": csr.weights}
        return dataclasses.replace(self, **parts, folder=None, trusted=trusted)

    def _merged(self, csr: CSR) -> "Graph":
        """The same nodes with merged edges, whose weights may have become too large, or all 1."""
        if csr.weights is None:
            return self._with_structure(csr)
        check_weights(csr.weights, csr.rows, csr.indices, self.node_ids)
        return self._with_structure(csr.with_weights(unless_ones(csr.weights)))

    def with_splits(self, splits: Sequence[Split]) -> "Graph":
        changed = self.derived(splits=tuple(split.copy() for split in splits))
        check_splits(changed.splits, self.num_nodes)
        return changed

    def subgraph(self, nodes: Tensor) -> "Graph":
        """The graph induced by `nodes` (positions, or a mask), in the order given; splits are left behind."""
        nodes = selected(nodes, self.csr)
        csr = induced(self.csr, nodes)
        x = select_rows(self.x, nodes)
        y = None if self.y is None else self.y[nodes]
        ids = self.node_ids[nodes.cpu().numpy()]
        parts = (csr.indptr, csr.indices, x, y, (), ids, self.name, csr, self.feature_names, csr.weights)
        return Graph(*parts, class_names=self.class_names, structural=self.structural)

    def to(self, device: torch.device | str) -> "Graph":
        if self.device == torch.device(device):
            return self
        y = None if self.y is None else self.y.to(device)
        splits = tuple(split.to(device) for split in self.splits)
        weights = None if self.weights is None else self.weights.to(device)
        csr = CSR(self.indptr.to(device), self.indices.to(device), weights=weights)
        return dataclasses.replace(self._with_structure(csr), x=self.x.to(device), y=y, splits=splits, trusted=True)

    def to_scipy(self) -> sp.csr_array:
        """The adjacency matrix, of weights or of ones; parallel edges are entries of their own."""
        return self.csr.to_scipy()

    # Statistics

    def homophily(self) -> float:
        r"""Edge homophily, the paper's Definition 1, over edges whose two labels are known.

        $\phi = \sum_{ij} A_{ij} 1[y_i = y_j] / \sum_{ij} A_{ij}$
        """
        if self.y is None:
            raise ValueError(f"graph {self.name!r} has no labels, so homophily is undefined; pass labels when reading it")
        return edge_homophily(self.csr, self.y)

    def summary(self) -> dict[str, float | int]:
        """Sizes, components and degrees, by name; with weights their sum, and with labels homophily."""
        return summary(self)
