"""as_graph: a Graph from what other libraries hold. to_pyg: a PyG object from a Graph."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from localgcl.graph import Graph
from localgcl.graph.csr import as_features
from localgcl.graph.prepare import featureless
from localgcl.io.labels import read_labels
from localgcl.io.libraries import parts_of
from localgcl.io.roles import Columns
from localgcl.io.tables import as_table


def as_graph(
    obj: Any,
    x: Any = None,
    y: Any = None,
    *,
    node_ids: Any = None,
    name: str | None = None,
    weight: str | None = None,
    source: str | None = None,
    target: str | None = None,
    id: str | None = None,
    drop: Sequence[str] | None = None,
    encode: Any = None,
) -> Graph:
    """The graph that `obj` describes, whatever its type. Arguments passed beside `obj` replace what `obj` holds.

    Edges are kept as given: directed, with repeats and loops; an undirected networkx graph is stored in both directions.
    A warning names edge columns and attributes that are not used. Without features, structural ones are computed, with a
    warning.

    Features are copied, so that later changes to them do not reach the graph; only a float32 array that is mapped read-only
    is used in place. A tensor that requires grad is detached. The columns of a table name the features.

    Args:
        obj: One of

            - a Graph;
            - a PyG `Data`: `x`, `edge_index`, `y`, and `train_mask`, `val_mask`, `test_mask`, whose columns are splits;
            - a networkx graph: node attributes "x" and "y", and its nodes as node ids;
            - a DGL graph: `ndata` "feat", "label" and the masks;
            - a scipy or torch sparse adjacency matrix, whose values are edge weights, or an `edge_index` array or tensor of
              shape (2, m);
            - a tuple of either of the last two and `x`, or `x` and `y`;
            - a table of edges with the columns `source` and `target`, which hold node ids. A table is a pandas or polars
              frame, a pyarrow table or reader, a DuckDB relation, or any object with `__arrow_c_stream__`.
        x: Features, one row per node in node order. With a table of edges, a table: the node id is its first column (in
            pandas, its index where that is named or textual); its rows give the order of the nodes.
        y: Class of each node, a number or text; -1, NaN, None or empty where unknown. With a table of edges, a table of id and
            class, or a pandas Series whose index is the id; a Series counted 0, 1, 2... is taken in node order. Nodes that are
            not named get -1.
        node_ids: The user's own name of each node, in node order.
        name: Name of the graph.
        weight: What holds the edge weights: a column of the table, an edge attribute of networkx, an attribute of PyG's `Data`,
            or a key of DGL's `edata`. When not given it is `weight`, in PyG `edge_weight` or an `edge_attr` of one column;
            "" reads no weights. Weights are finite and not negative; edges of weight 0 are left out, with a warning, and an
            edge of networkx that has no weight has weight 1.
        source: The column of a table of edges that has the nodes they leave, in any case; `source` when not given.
        target: The column of the nodes that they enter; `target` when not given.
        id: The column of node ids in tables `x` and `y`; the first one when not given.
        drop: Columns of a table `x` to leave out.
        encode: "auto" turns columns of booleans, dates and categories of a table `x`, and empty cells, into numbers, and keeps
            how in `Graph.encoding`. That, or the file encoding.json of a run, encodes other tables in the same way.

    Raises:
        TypeError: `obj` is none of these.
        ValueError: Its parts do not fit each other.

    Example:
        >>> as_graph(([[0, 1], [1, 2]], np.eye(3)), name="path")
        Graph('path': 3 nodes, 2 directed edges, 3 dense features, 0 classes, 0 splits)
    """
    if isinstance(obj, tuple):
        obj, x, y = _unpacked(obj, x, y)
    columns = _columns(source, target, id, drop, encode)
    if isinstance(obj, Graph) and all(given is None for given in (x, y, node_ids, name, weight, *columns)):
        return obj
    edges = as_table(obj)
    if edges is not None:
        if node_ids is not None:
            raise ValueError("node_ids cannot be given beside a table of edges; its columns and those of x hold the ids")
        from localgcl.io.files import joined_graph  # brings pyarrow

        return joined_graph(*_from_tables(edges, x, y, weight, columns), name or "graph")
    if any(columns):
        raise ValueError(
            "source, target, id, drop and encode are for columns of tables, and the edges are in none; leave them out"
        )
    _refuse_tables(x=x, y=y)
    parts = parts_of(obj, x if x is not None else node_ids, weight)
    names, made = None, {}
    if x is None:
        x, names, made = parts.x, parts.feature_names, {"encoding": parts.encoding, "structural": parts.structural}
    y = parts.y if y is None else y
    ids = _id_array(parts.node_ids if node_ids is None else node_ids)
    read = None if y is None else read_labels(y, "y", lambda row: _name(ids, row))
    known: dict[str, Any] = {
        "y": None if read is None else read.numbers,
        "class_names": None if read is None else parts.class_names if y is parts.y and parts.class_names else read.names,
        "splits": parts.splits,
        "node_ids": ids,
        "weights": parts.weights,
        "name": name or (parts.name if isinstance(parts.name, str) and parts.name else "graph"),
    }
    if x is None:
        return featureless(parts.source, parts.target, parts.num_nodes, **known)
    features = _copied(x)
    if len(features) != parts.num_nodes:
        raise ValueError(
            f"features have {len(features)} rows, but the graph has {parts.num_nodes} nodes; give one row per node"
        )
    graph = Graph.from_edges(parts.source, parts.target, x=features, feature_names=names, copy=False, **known)
    return graph.derived(**made)


def to_pyg(graph: Graph) -> Any:
    """The graph as `torch_geometric.data.Data`; splits become masks, with one column for each if there are several."""
    try:
        from torch_geometric.data import Data
    except ImportError as error:
        raise ImportError("to_pyg needs torch-geometric: pip install 'localgcl[pyg]'") from error
    data = Data(x=graph.x, edge_index=torch.stack([graph.rows, graph.indices]), y=graph.y)
    if graph.weights is not None:
        data.edge_weight = graph.weights
    for part in ("train", "val", "test") if graph.splits else ():
        mask = torch.zeros(graph.num_nodes, len(graph.splits), dtype=torch.bool, device=graph.device)
        for column, split in enumerate(graph.splits):
            mask[getattr(split, part), column] = True
        data[f"{part}_mask"] = mask[:, 0] if len(graph.splits) == 1 else mask
    data.name, data.node_ids = graph.name, graph.node_ids
    if graph.feature_names is not None:
        data.feature_names = graph.feature_names
    if graph.class_names is not None:
        data.class_names = graph.class_names
    return data


def _columns(source: str | None, target: str | None, id: str | None, drop: Sequence[str] | None, encode: Any) -> Columns:
    if encode is not None:
        from localgcl.io.encode import as_encoding  # brings pyarrow

        encode = as_encoding(encode)
    return Columns(source, target, id, None if drop is None else tuple(drop), encode)


def _unpacked(parts: tuple[Any, ...], x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Edges, x and y of a tuple of two or three."""
    if len(parts) not in (2, 3):
        raise ValueError(f"a tuple of {len(parts)} is not a graph; give (edges, x) or (edges, x, y)")
    if x is not None or (y is not None and len(parts) == 3):
        raise ValueError("features or labels are given twice, in the tuple and beside it; give them once")
    return parts[0], parts[1], parts[2] if len(parts) == 3 else y


def _copied(x: Any) -> Tensor:
    return as_features(x.cpu() if isinstance(x, Tensor) else x, copy=True)


def _from_tables(edges: Any, x: Any, y: Any, weight: str | None, columns: Columns) -> tuple[Any, Any, Any]:
    """A table of edges with features and labels, tables with ids or arrays in node order, as `Edges`, `Rows` and `Rows`."""
    from localgcl.io.columns import edges_of, features_of, labels_of  # brings pyarrow
    from localgcl.io.ids import Rows

    edge_part = edges_of(edges, "the table of edges", weight=weight, columns=columns)
    features = labels = None
    table = None if x is None else as_table(x)
    if table is None and (columns.drop or columns.encode is not None):
        raise ValueError("drop and encode are for columns of a table x, and there is none; leave them out")
    if x is not None:
        features = Rows("x", None, _copied(x)) if table is None else features_of(table, "x", columns=columns)
    if y is not None:
        table = as_table(y)
        labels = Rows("y", None, *read_labels(y, "y")) if table is None else labels_of(table, "y", id=columns.id)
    return edge_part, features, labels


def _refuse_tables(**arguments: Any) -> None:
    for role, value in arguments.items():
        if as_table(value) is not None:
            raise TypeError(
                f"{role} is a {type(value).__name__} with ids of its own, which needs edges in a table too; "
                f"else pass {role}.to_numpy(), one row per node in node order"
            )


def _id_array(node_ids: Any) -> Any:
    """Node ids as a flat array: integers or text as they are, text where both occur, tuples and the like as objects."""
    if node_ids is None or (isinstance(node_ids, np.ndarray) and node_ids.ndim == 1):
        return node_ids
    ids = node_ids.tolist() if isinstance(node_ids, Tensor | np.ndarray) else list(node_ids)
    if all(isinstance(name, int | np.integer) and not isinstance(name, bool) for name in ids):
        return np.array(ids)
    if len({type(name) for name in ids}) > 1 or all(isinstance(name, str) for name in ids):
        return np.array([str(name) for name in ids])
    return np.fromiter(ids, dtype=object, count=len(ids))  # not np.array, which makes a matrix of a list of tuples


def _name(ids: Any, row: int) -> Any:
    """The name of a row's node in messages: its id, or its position where it has none."""
    return row if ids is None or row >= len(ids) else ids[row : row + 1].tolist()[0]
