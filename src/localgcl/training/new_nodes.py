"""Embeddings of new nodes without the whole graph: `localgcl embed --add-edges --add-features`.

An encoder that averages K times over neighbours gives a node the same embedding on the whole graph and on the part within K
steps of it, if the nodes of that part keep their degrees (`graph.neighbourhood.block_around`).

Of a graph folder, rows are read as they are needed. A graph in memory is joined and prepared as a whole, as its joined files
would be: whether weights of the two directions of an edge are summed depends on all edges (see `Graph.symmetrized`).
"""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from localgcl.config import Preparation
from localgcl.datasets.catalogue import resolve
from localgcl.datasets.source import READERS, Source
from localgcl.graph import Graph
from localgcl.graph.csr import CSR, as_features, csr_tensor, features_to_scipy, select_rows, sort_edges
from localgcl.graph.edges import undirected
from localgcl.graph.mapped import StoredRows, blocks
from localgcl.graph.neighbourhood import GrownRows, Rows, ball, block_around, closed_edges
from localgcl.graph.prepare import prepare, scale
from localgcl.graph.stored import declared
from localgcl.io.added import Addition, read_addition
from localgcl.io.ids import ids_to_numpy, same_type
from localgcl.io.roles import DEFAULT, Columns
from localgcl.io.stored_ids import StoredIds
from localgcl.system.memory import explained
from localgcl.training.model import Model

Array = NDArray[Any]
_AT_ONCE = 2**16
"""Nodes that are embedded at a time, with the part of the graph around them."""
_DONE = Preparation(symmetrise=False, drop_loops=False, parallel_edges="keep")


class AddedEmbeddings(NamedTuple):
    """Embeddings of stored nodes that changed, in the order of the graph, and then of new nodes, in that of their features."""

    node_ids: Array
    num_new: int
    num_changed: int
    blocks: Iterator[Float[Tensor, "b d"]]
    """The embeddings, some rows at a time, computed as they are asked for."""


def embed_added(
    model: Model,
    graph: Source | Graph,
    edges: Any = None,
    features: Any = None,
    *,
    weight: str | None = None,
    columns: Columns = DEFAULT,
    only_new: bool = False,
) -> AddedEmbeddings:
    """Joins new nodes and edges to a graph and embeds them, as `model.embed` of the joined graph would up to rounding.

    Time and memory grow with the neighbourhoods of the nodes that are embedded: of a graph folder, only their rows are read,
    and one pass is made over its ids. Data sets and files are read as a whole.

    Args:
        model: A trained model.
        graph: The graph to join them to: a source, such as that of a run folder, or a graph. Features that were computed from
            the edges of a `Graph` stay as they are; sources with such features are refused.
        edges: New edges, between nodes of any kind: a file as for `read_graph`, or a table as for `as_graph`.
        features: A file or a table with a row of features for each new node. Columns are matched by name.
        weight: The column of edge weights, as for `read_graph`; by default that of the source.
        columns: What the other columns are called; by default those of the source.
        only_new: Embed new nodes only. Otherwise those nodes of the graph, too, whose embeddings the new edges change.

    Raises:
        ValueError: Ids, columns or weights do not fit the graph; embeddings of this model depend on the whole graph; or nothing
            changes.
    """
    steps = model.method.reach()
    if steps is None:
        raise ValueError(
            f"embeddings of {model.config.method} are more than its encoder's output, so new nodes need the whole graph; "
            "embed the joined files (localgcl embed RUN --edges ... --features ...)"
        )
    if isinstance(graph, Source):
        _refuse_structural(graph)
        weight = graph.weight if weight is None else weight
        columns = Columns(*(theirs if mine is None else mine for mine, theirs in zip(columns, graph.columns, strict=True)))
    stored, ids = _opened(graph)
    added = read_addition(edges, features, ids, weight, columns)
    joined = join(stored, added, model.config.preparation)
    new = torch.arange(joined.num_stored, joined.num_stored + len(added.ids))
    changed = new[:0] if only_new or steps == 0 else ball(joined.touched(), steps, joined.outgoing)
    changed = changed[changed < joined.num_stored]
    if len(new) + len(changed) == 0:
        raise ValueError(
            f"there are no new nodes{'' if only_new else ', and no embedding changes'}; give features of new nodes "
            "(--add-features), or edges that the graph does not have (--add-edges)"
        )
    named = same_type([ids.take(changed.numpy()), added.ids])
    names = np.concatenate([ids_to_numpy(part) for part in named])
    new_x = _new_features(model, added, sparse=_is_sparse(joined.features(new[:0])))
    blocks = _embeddings(model, joined, steps, new_x, torch.cat([changed, new]))
    return AddedEmbeddings(names, len(new), len(changed), blocks)


def _refuse_structural(source: Source) -> None:
    """ValueError if the features are computed from the edges: new edges change those of all nodes."""
    if source.folder is not None:
        structural = declared(source.folder).structural
    elif source.dataset is not None:
        structural = resolve(source.dataset, READERS) == "arxiv-structure"
    else:
        structural = source.features is None
    if structural:
        raise ValueError(
            f"the features of {source.name!r} are computed from its edges, so new edges change those of all nodes; embed the "
            "joined files (localgcl embed RUN --edges ...)"
        )


def _opened(graph: Source | Graph) -> tuple[Graph | StoredRows, StoredIds]:
    """The graph and its ids; a folder is mapped."""
    if graph.folder is not None:
        rows = StoredRows.open(graph.folder)
        return rows, StoredIds.of_folder(Path(graph.folder), rows.header)
    loaded = graph.read() if isinstance(graph, Source) else graph
    return loaded, StoredIds.of_graph(loaded)


# The joined graph


@dataclasses.dataclass(frozen=True)
class Joined:
    """A stored graph with new nodes, which come after its own, and new edges.

    Args:
        num_stored: Number of nodes of the stored graph.
        feature_names: Names of its feature columns.
        features: Gives the features of some of its nodes.
        incoming: Row i lists the sources of the edges that enter node i.
        outgoing: Row i lists the targets of the edges that leave it.
        touched: Gives the nodes whose row of `incoming` is not that of the stored graph.
        preparation: What is left to do to edges.
    """

    num_stored: int
    feature_names: tuple[str, ...] | None
    features: Callable[[Int[Tensor, " b"]], Tensor]
    incoming: Rows
    outgoing: Rows
    touched: Callable[[], Int[Tensor, " k"]]
    preparation: Preparation


def join(graph: Graph | StoredRows, added: Addition, preparation: Preparation) -> Joined:
    """Joins `added` to a graph.

    Edges of a folder are undirected and simple. The added ones are made so on their own, and then added: weights of edges that
    are stored already are summed.

    Raises:
        ValueError: One has edge weights and the other has none.
    """
    held = graph.edges.weights if isinstance(graph, StoredRows) else graph.weights
    if held is not None and added.place and not added.weighted:
        raise ValueError(f"{added.place} has no edge weights, but the graph has; add the column of weights")
    if isinstance(graph, StoredRows):
        return _to_folder(graph, added, preparation)
    return _to_graph(graph, added, preparation)


def _to_folder(folder: StoredRows, added: Addition, preparation: Preparation) -> Joined:
    weights, stored, n = added.weights, folder.edges, folder.header.nodes
    if stored.weights is None and weights is not None:
        raise ValueError(
            f"{added.place} has edge weights, but the graph folder has none; read none with an empty name (--weight ''), or "
            "convert the joined tables"
        )
    if stored.weights is not None and weights is None:
        weights = torch.ones(added.source.numel())
    ends = torch.from_numpy(added.ends)
    simple = undirected(sort_edges(added.source, added.target, len(ends), weights)).without_loops
    more = CSR(simple.indptr, ends[simple.indices], n + len(added.ids), weights=simple.weights)
    rows = GrownRows(stored, ends, more)

    def touched() -> Int[Tensor, " k"]:
        # An edge that is there already changes nothing, unless its weight grows.
        grown = ends[simple.degree > 0]
        if stored.weights is not None:
            return grown
        before = torch.zeros_like(grown)
        before[grown < n] = stored.take(grown[grown < n]).degree
        return grown[before != rows.take(grown).degree]

    # These edges are undirected and simple; what is left is to count them twice, for A + A^T.
    twice = preparation.symmetrise and preparation.parallel_edges == "keep"
    left = dataclasses.replace(_DONE, symmetrise=twice)
    return Joined(n, folder.header.feature_names, folder.features, rows, rows, touched, left)


def _to_graph(graph: Graph, added: Addition, preparation: Preparation) -> Joined:
    edges_only = dataclasses.replace(preparation, scaling="raw")
    ends, n = torch.from_numpy(added.ends), graph.num_nodes
    parts = (graph.rows, graph.indices, graph.weights), (ends[added.source], ends[added.target], added.weights)
    source, target = (torch.cat([old, new]) for old, new in zip(parts[0][:2], parts[1][:2], strict=True))
    weights = None
    if any(part[2] is not None for part in parts):
        weights = torch.cat([torch.ones(part[0].numel()) if part[2] is None else part[2] for part in parts])
    bare = Graph.from_edges(source, target, x=torch.zeros(n + len(added.ids), 1), weights=weights, copy=False)
    csr = prepare(bare, edges_only, {}).csr

    def touched() -> Int[Tensor, " k"]:
        before: Any = prepare(graph.derived(x=torch.zeros(n, 1), feature_names=None), edges_only, {}).csr.reversed.to_scipy()
        before.resize(bare.num_nodes, bare.num_nodes)
        return torch.from_numpy(np.flatnonzero(np.diff((csr.reversed.to_scipy() - before).indptr)))

    return Joined(n, graph.feature_names, graph.features, csr.reversed, csr, touched, _DONE)


# Embeddings on a part of it


def _embeddings(
    model: Model, joined: Joined, steps: int, new_x: Tensor | None, wanted: Int[Tensor, " k"]
) -> Iterator[Float[Tensor, "b d"]]:
    """Embeddings of some nodes, each block of them on the part of the joined graph around it."""
    for rows in blocks(len(wanted), _AT_ONCE):
        yield _embedded(model, joined, steps, new_x, wanted[rows.start : rows.stop])


@explained("embedding new nodes", "add fewer nodes and edges at a time, or take a machine with more memory")
def _embedded(
    model: Model, joined: Joined, steps: int, new_x: Tensor | None, wanted: Int[Tensor, " b"]
) -> Float[Tensor, "b d"]:
    part = block_around(wanted, steps, joined.incoming)
    inner, n = part.rows[: part.neighbours.num_rows], part.rows.numel()
    x = scale(_features(model, joined, new_x, inner), model.config.preparation.scaling, model.statistics)
    source, target, weights = closed_edges(part)
    bare = Graph.from_edges(source, target, x=torch.zeros(n, 1), weights=weights, copy=False)
    edges = prepare(bare, dataclasses.replace(joined.preparation, scaling="raw"), {})
    prepared = edges.with_features(_padded(x, n), copy=False)
    return model.embed_prepared(prepared)[torch.searchsorted(inner, wanted)]


def _features(model: Model, joined: Joined, new_x: Tensor | None, nodes: Int[Tensor, " b"]) -> Tensor:
    """Features of stored and new nodes, whose positions increase, in the columns of training."""
    old, new = nodes[nodes < joined.num_stored], nodes[nodes >= joined.num_stored] - joined.num_stored
    parts = []
    if len(old):
        parts.append(model.matched(_featured(joined.features(old), joined.feature_names)).x)
    if len(new):
        assert new_x is not None
        parts.append(select_rows(new_x, new))
    return _stacked(parts)


def _new_features(model: Model, added: Addition, *, sparse: bool) -> Tensor | None:
    """Features of the new nodes, in the columns of training and the layout of the stored ones."""
    if added.features is None:
        return None
    x = model.matched(_featured(added.features.values, added.features.names, ids_to_numpy(added.ids))).x
    if sparse == _is_sparse(x):
        return x
    return as_features(sp.csr_array(x.numpy())) if sparse else x.to_dense()


def _is_sparse(x: Tensor) -> bool:
    return x.layout == torch.sparse_csr


def _featured(x: Any, names: tuple[str, ...] | None, ids: Array | None = None) -> Graph:
    """Nodes with features and without edges."""
    return Graph.from_edges([], [], x=x, feature_names=names, node_ids=ids, copy=False)


def _stacked(parts: list[Tensor]) -> Tensor:
    """Rows of one layout on top of each other."""
    if not _is_sparse(parts[0]):
        return torch.cat(parts)
    return as_features(sp.vstack([features_to_scipy(part) for part in parts], format="csr"))


def _padded(x: Tensor, num_rows: int) -> Tensor:
    """The rows of `x`, and rows of zeros after them: nothing reads those of the border."""
    shape = (num_rows - x.shape[0], x.shape[1])
    if not _is_sparse(x):
        return _stacked([x, torch.zeros(shape)])
    pointers, columns = torch.zeros(shape[0] + 1, dtype=torch.int64), torch.zeros(0, dtype=torch.int64)
    return _stacked([x, csr_tensor(pointers, columns, torch.zeros(0), shape)])
