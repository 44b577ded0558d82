"""Embeddings of new nodes without the whole graph: `localgcl embed --add-edges --add-features`.

An encoder that averages K times over neighbours gives a node the same embedding on the whole graph and on the part within K
steps of it, if the nodes of that part keep their degrees (`graph.neighbourhood.part_around`).
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from localgcl.datasets.catalogue import resolve
from localgcl.datasets.source import READERS, Source
from localgcl.graph import Graph
from localgcl.graph.csr import as_features, csr_tensor, features_to_scipy, select_rows
from localgcl.graph.folder_rows import FolderRows
from localgcl.graph.mapped import blocks
from localgcl.graph.neighbourhood import ball, part_around
from localgcl.graph.prepare import prepare, scale
from localgcl.graph.stored import declared
from localgcl.io.added import Addition, read_addition
from localgcl.io.ids import ids_to_numpy, same_type
from localgcl.io.roles import DEFAULT, Columns
from localgcl.io.stored_ids import StoredIds
from localgcl.system.memory import explained
from localgcl.training.joined import Joined, join
from localgcl.training.model import Model

Array = NDArray[Any]
_AT_ONCE = 2**16
"""Nodes that are embedded at a time, with the part of the graph around them."""


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
    new = np.arange(joined.num_stored, joined.num_stored + len(added.ids))
    changed = new[:0] if only_new or steps == 0 else ball(joined.touched(), steps, joined.outgoing)
    changed = changed[changed < joined.num_stored]
    if len(new) + len(changed) == 0:
        raise ValueError(
            f"there are no new nodes{'' if only_new else ', and no embedding changes'}; give features of new nodes "
            "(--add-features), or edges that the graph does not have (--add-edges)"
        )
    wanted = np.concatenate([changed, new])
    named = same_type([ids.take(changed), added.ids])
    names = np.concatenate([ids_to_numpy(part) for part in named])
    parts = _Parts(model, joined, steps, _new_features(model, added, sparse=_is_sparse(joined.features(new[:0]))))
    return AddedEmbeddings(names, len(new), len(changed), parts.embeddings(wanted))


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


def _opened(graph: Source | Graph) -> tuple[Graph | FolderRows, StoredIds]:
    """The graph and its ids; a folder is mapped."""
    folder = graph.folder
    if folder is not None:
        rows = FolderRows.open(folder)
        return rows, StoredIds.of_folder(Path(folder), rows.header)
    loaded = graph.read() if isinstance(graph, Source) else graph
    return loaded, StoredIds.of_graph(loaded)


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


@dataclasses.dataclass(frozen=True)
class _Parts:
    """Embeds some nodes of a joined graph on the part of it around them."""

    model: Model
    joined: Joined
    steps: int
    new_x: Tensor | None

    def embeddings(self, wanted: Array) -> Iterator[Float[Tensor, "b d"]]:
        for rows in blocks(len(wanted), _AT_ONCE):
            yield self._embed(wanted[rows.start : rows.stop])

    @explained("embedding new nodes", "add fewer nodes and edges at a time, or take a machine with more memory")
    def _embed(self, wanted: Array) -> Float[Tensor, "b d"]:
        part = part_around(wanted, self.steps, self.joined.incoming)
        preparation = self.model.config.preparation
        x = scale(self._features(part.inner), preparation.scaling, self.model.statistics)
        bare = Graph.from_edges(part.source, part.target, x=torch.zeros(part.num_nodes, 1), weights=part.values, copy=False)
        edges = prepare(bare, dataclasses.replace(self.joined.preparation, scaling="raw"), {})
        prepared = edges.with_features(_padded(x, part.num_nodes), copy=False)
        return self.model.embed_prepared(prepared)[np.searchsorted(part.inner, wanted)]

    def _features(self, nodes: Array) -> Tensor:
        """Features of stored and new nodes, whose positions increase."""
        old, new = nodes[nodes < self.joined.num_stored], nodes[nodes >= self.joined.num_stored] - self.joined.num_stored
        parts = []
        if len(old):
            parts.append(self.model.matched(_featured(self.joined.features(old), self.joined.feature_names)).x)
        if len(new):
            assert self.new_x is not None
            parts.append(select_rows(self.new_x, torch.from_numpy(new)))
        return _stacked(parts)


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
