"""New nodes and edges for a stored graph: files or tables -> positions in the graph that has both."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from localgcl.graph.edges import weighted_edges
from localgcl.io.columns import edges_of, features_of
from localgcl.io.encode import AUTO
from localgcl.io.files import read_edges, read_features
from localgcl.io.ids import Edges, Ids, Rows, ids_to_numpy, same_type
from localgcl.io.roles import DEFAULT, Columns
from localgcl.io.stored_ids import StoredIds
from localgcl.io.tables import as_table

Array = NDArray[Any]


class Addition(NamedTuple):
    """Nodes and edges to add to a graph.

    Args:
        place: Where the edges come from, for messages.
        ends: Positions of the nodes that the edges join, in increasing order. New nodes come after those of the graph, in the
            order of their rows of features.
        source: Place in `ends` of the node that each edge leaves.
        target: Place in `ends` of the node that it enters.
        weights: Weight of each edge; None where all are 1.
        weighted: Whether the edges came with weights.
        ids: Ids of the new nodes.
        features: Their features; None if there are no new nodes.
    """

    place: str
    ends: Array
    source: Int[Tensor, " m"]
    target: Int[Tensor, " m"]
    weights: Float[Tensor, " m"] | None
    weighted: bool
    ids: Ids
    features: Rows | None


def read_addition(
    edges: Any, features: Any, stored: StoredIds, weight: str | None = None, columns: Columns = DEFAULT
) -> Addition:
    """Reads new edges and the features of new nodes. O(their size), and one pass over the stored ids.

    Args:
        edges: A file or a table of edges as for `read_graph` and `as_graph`; None for none. Their ends are stored or new.
        features: A file or a table of features as for `read_graph` and `as_graph`, with a row for each new node; None for
            none. Rows without ids are the nodes n, n + 1... of a graph whose nodes are 0..n-1.
        stored: The ids of the graph.
        weight: The column of edge weights, as for `read_graph`.
        columns: What the other columns are called.

    Raises:
        ValueError: An edge names an unknown node, or a row of features one that is stored; the message names it.
    """
    if columns.encode == AUTO:
        raise ValueError(
            "encode is 'auto', but new nodes are encoded as those of the graph; give its encoding (Graph.encoding)"
        )
    rows = None if features is None else _read_features(features, columns)
    ids = _new_ids(rows, stored)
    if edges is None:
        nothing = torch.zeros(0, dtype=torch.int64)
        return Addition("", np.zeros(0, dtype=np.int64), nothing, nothing, None, False, ids, rows)
    given = _read_edges(edges, weight, columns)
    both = pa.concat_arrays(same_type([given.source, given.target]))
    names = both.unique()
    at = _positions(names, given.place, ids, rows, stored)
    order = np.argsort(at)
    # The places of ids in the order of their positions.
    place = np.argsort(order)[pc.index_in(both, value_set=names).to_numpy()]
    source, target = torch.from_numpy(place).chunk(2)
    weights = given.weights
    if weights is not None:
        source, target, weights = weighted_edges(source, target, weights, ids_to_numpy(names)[order])
    return Addition(given.place, at[order], source, target, weights, given.weights is not None, ids, rows)


def _read_edges(given: Any, weight: str | None, columns: Columns) -> Edges:
    if isinstance(given, str | os.PathLike):
        return read_edges(Path(given), weight, columns)
    return edges_of(_table(given, "edges"), "the table of edges", weight=weight, columns=columns)


def _read_features(given: Any, columns: Columns) -> Rows:
    if isinstance(given, str | os.PathLike):
        return read_features(Path(given), columns)
    return features_of(_table(given, "features"), "the table of features", columns=columns)


def _table(given: Any, role: str) -> Any:
    table = as_table(given)
    if table is None:
        raise TypeError(f"{role} are a {type(given).__name__}; give a file, or a table such as a pandas frame")
    return table


def _new_ids(rows: Rows | None, stored: StoredIds) -> Ids:
    """The ids of new nodes; ValueError if one is stored already."""
    if rows is None:
        return pa.array([], stored.kind)
    if rows.ids is None:
        if not stored.numbered:
            raise ValueError(
                f"{rows.place} has no node ids, and those of the graph are not 0 to {stored.num_nodes - 1}; give a table with "
                "the id first"
            )
        return pa.array(np.arange(stored.num_nodes, stored.num_nodes + rows.values.shape[0]))
    known = stored.find(rows.ids) >= 0
    if known.any():
        raise ValueError(
            f"{rows.place}: node {_named(rows.ids.filter(pa.array(known)))} is in the graph already, and features of stored "
            "nodes cannot be changed here; drop the row, or embed the joined files"
        )
    return rows.ids


def _positions(names: Ids, place: str, new: Ids, rows: Rows | None, stored: StoredIds) -> Array:
    """Position of each id in the joined graph; ValueError if it is unknown."""
    at = stored.find(names)
    wanted, known = same_type([names, new])
    found = pc.fill_null(pc.index_in(wanted, value_set=known), -1).to_numpy()
    at = np.where(found >= 0, stored.num_nodes + found.astype(np.int64), at)
    if (at < 0).any():
        unknown = _named(names.filter(pa.array(at < 0)))
        if rows is None:
            raise ValueError(
                f"{place}: node {unknown} is not in the graph; give its features (--add-features), or drop its edges"
            )
        raise ValueError(
            f"{place}: node {unknown} is neither in the graph nor in {rows.place}; add its row of features, or drop its edges"
        )
    return at


def _named(ids: Ids) -> str:
    """The first id, and how many others there are."""
    more = f" (and {len(ids) - 1} more)" if len(ids) > 1 else ""
    return f"{ids[0].as_py()!r:.80}{more}"
