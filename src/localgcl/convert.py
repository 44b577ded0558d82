"""as_graph and to_pyg: every foreign type enters and leaves here, and none is imported before an object of it arrives."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from localgcl.config import LocalGCLWarning
from localgcl.graph import Graph, Split
from localgcl.preparation import featureless

Array = NDArray[Any]

ACCEPTED = (
    "localgcl.Graph, a torch_geometric Data, a networkx graph, a DGL graph, a scipy sparse matrix (with x=), "
    "an edge_index array of shape (2, m) (with x=), a tuple of either with x or with x and y, "
    "or a pandas or pyarrow table with the columns source and target"
)


class _Parts(NamedTuple):
    """What a foreign graph holds, by node position."""

    source: Any
    target: Any
    num_nodes: int
    x: Any = None
    y: Any = None
    splits: tuple[Split, ...] = ()
    node_ids: Any = None
    name: Any = None


def as_graph(obj: Any, x: Any = None, y: Any = None, *, node_ids: Any = None, name: str | None = None) -> Graph:
    """The graph that `obj` describes, whatever its type. What is passed beside `obj` wins over what `obj` holds.

    Edges are kept as given: directed, with repeats and loops; an undirected networkx graph is stored in both directions.
    Edge weights are ignored, with a warning. Without features, structural ones are computed, with a warning.

    Args:
        obj: One of

            - a Graph;
            - a PyG `Data`: `x`, `edge_index`, `y`, and `train_mask`, `val_mask`, `test_mask`, whose columns are splits;
            - a networkx graph: node attributes "x" and "y", and its nodes as node ids;
            - a DGL graph: `ndata` "feat", "label" and the masks;
            - a scipy sparse adjacency matrix, or an `edge_index` array or tensor of shape (2, m);
            - a tuple of either of the last two and `x`, or `x` and `y`;
            - a pandas or pyarrow table of edges with the columns `source` and `target`, holding node ids.
        x: Features, one row per node in node order. With a table of edges, a table: the node id is its named (or
            textual) index, else its first column; its rows give the order of the nodes.
        y: Class of each node, -1 where unknown. With a table of edges, a table of id and class, or a Series whose index
            is the id; a Series counted 0, 1, 2... is taken in node order. Nodes that are not named get -1.
        node_ids: The user's own name of each node, in node order.
        name: What to call the graph.

    Raises:
        TypeError: `obj` is none of these.
        ValueError: Its parts do not fit each other.

    Example:
        >>> as_graph(([[0, 1], [1, 2]], np.eye(3)), name="path")
        Graph('path': 3 nodes, 2 directed edges, 3 dense features, 0 classes, 0 splits)
    """
    if isinstance(obj, tuple):
        obj, x, y = _unpacked(obj, x, y)
    family = _family(obj)
    if isinstance(obj, Graph):
        changes = {"x": x, "y": y, "node_ids": node_ids, "name": name}
        if all(value is None for value in changes.values()):
            return obj
        parts = _Parts(obj.rows, obj.indices, obj.num_nodes, obj.x, obj.y, obj.splits, obj.node_ids, obj.name)
    elif family & {"pandas.DataFrame", "pyarrow.Table"}:
        if node_ids is not None:
            raise ValueError("node_ids cannot be given beside a table of edges; its columns and those of x hold the ids")
        return _from_tables(obj, x, y, name or "graph")
    elif sp.issparse(obj):
        parts = _from_scipy(obj)
    elif "torch_geometric.Data" in family:
        parts = _from_pyg(obj)
    elif "networkx.Graph" in family:
        parts = _from_networkx(obj)
    elif family & {"dgl.DGLGraph", "dgl.DGLHeteroGraph"}:
        parts = _from_dgl(obj)
    elif isinstance(obj, Tensor | np.ndarray | list):
        parts = _from_edge_index(obj, x, node_ids)
    elif "torch_geometric.HeteroData" in family:
        raise TypeError("HeteroData has several types of nodes or edges; convert data.to_homogeneous(), or one type of it")
    else:
        raise TypeError(f"cannot make a graph of {type(obj).__module__}.{type(obj).__qualname__}; give {ACCEPTED}")
    return _build(parts, x, y, node_ids, name)


def to_pyg(graph: Graph) -> Any:
    """The graph as `torch_geometric.data.Data`; splits become masks, with one column for each if there are several."""
    try:
        from torch_geometric.data import Data
    except ImportError as error:
        raise ImportError("to_pyg needs torch-geometric: pip install 'localgcl[pyg]'") from error
    data = Data(x=graph.x, edge_index=torch.stack([graph.rows, graph.indices]), y=graph.y)
    for part in ("train", "val", "test") if graph.splits else ():
        mask = torch.zeros(graph.num_nodes, len(graph.splits), dtype=torch.bool, device=graph.device)
        for column, split in enumerate(graph.splits):
            mask[getattr(split, part), column] = True
        data[f"{part}_mask"] = mask[:, 0] if len(graph.splits) == 1 else mask
    data.name, data.node_ids = graph.name, graph.node_ids
    return data


def _family(obj: Any) -> set[str]:
    """'package.Class' of the object's class and all it derives from: tells foreign types without importing them."""
    return {f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in type(obj).__mro__}


def _unpacked(parts: tuple[Any, ...], x: Any, y: Any) -> tuple[Any, Any, Any]:
    if len(parts) not in (2, 3):
        raise ValueError(f"a tuple of {len(parts)} is not a graph; give (edges, x) or (edges, x, y)")
    if x is not None or (y is not None and len(parts) == 3):
        raise ValueError("features or labels are given twice, in the tuple and beside it; give them once")
    return parts[0], parts[1], parts[2] if len(parts) == 3 else y


def _build(parts: _Parts, x: Any, y: Any, node_ids: Any, name: str | None) -> Graph:
    """The graph of `parts`, with what the caller passed in their place."""
    x, y = (parts.x if x is None else x), (parts.y if y is None else y)
    for role, value in (("x", x), ("y", y)):
        family = _family(value)
        if family & {"pandas.DataFrame", "pyarrow.Table"} or ("pandas.Series" in family and not _is_counted(value)):
            raise TypeError(
                f"{role} is a {type(value).__name__} with ids of its own, which needs edges in a table too; "
                f"else pass {role}.to_numpy(), one row per node in node order"
            )
    ids = _id_array(parts.node_ids if node_ids is None else node_ids)
    known: dict[str, Any] = {
        "y": None if y is None else _labels(y),
        "splits": parts.splits,
        "node_ids": ids,
        "name": name or (parts.name if isinstance(parts.name, str) and parts.name else "graph"),
    }
    if x is None:
        return featureless(parts.source, parts.target, parts.num_nodes, **known)
    x = x.cpu() if isinstance(x, Tensor) else x
    rows = x.shape[0] if hasattr(x, "shape") else len(x)
    if rows != parts.num_nodes:
        raise ValueError(f"features have {rows} rows, but the graph has {parts.num_nodes} nodes; give one row per node")
    return Graph.from_edges(parts.source, parts.target, x=x, **known)


def _id_array(node_ids: Any) -> Any:
    """Node ids as a flat array: integers or text as they are, text where both occur, tuples and the like as objects."""
    if node_ids is None or (isinstance(node_ids, np.ndarray) and node_ids.ndim == 1):
        return node_ids
    ids = node_ids.tolist() if isinstance(node_ids, Tensor | np.ndarray) else list(node_ids)
    if all(isinstance(name, int | np.integer) and not isinstance(name, bool) for name in ids):
        return np.array(ids)
    if len({type(name) for name in ids}) > 1 or all(isinstance(name, str) for name in ids):
        return np.array([str(name) for name in ids])
    # One by one, or numpy makes a matrix of a list of tuples.
    array = np.empty(len(ids), dtype=object)
    for i, name in enumerate(ids):
        array[i] = name
    return array


def _labels(y: Any) -> Array:
    """Labels as a flat array; NaN, which some data sets write where the class is unknown, becomes -1."""
    values = np.asarray(_array(y))
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"labels have shape {values.shape}; give one class per node, shape (n,), -1 where unknown")
    if values.dtype.kind != "f":
        return values
    values = np.where(np.isnan(values), -1, values)
    fractions = values[~(np.isfinite(values) & (values == np.floor(values)))]
    if fractions.size:
        raise ValueError(
            f"labels must be integers, got {fractions[0].item()!r}; number the classes 0, 1, 2... (-1 for unknown)"
        )
    return values.astype(np.int64)


def _array(values: Any) -> Any:
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else values


def _warn_of_weights(weights: Any) -> None:
    """Warns if the weights (an array, or None) are not all 1."""
    if weights is not None and (np.asarray(_array(weights)) != 1).any():
        warnings.warn("edge weights or features are ignored; all edges count alike", LocalGCLWarning, stacklevel=4)


def _splits(train: Any, val: Any, test: Any, num_nodes: int) -> tuple[Split, ...]:
    """Splits of boolean masks of shape (n,) or (n, splits); a flat mask beside wide ones belongs to every split."""
    masks = [None if mask is None else np.asarray(_array(mask), dtype=bool) for mask in (train, val, test)]
    count = max((1 if mask.ndim == 1 else mask.shape[1] for mask in masks if mask is not None), default=0)
    columns = [np.zeros((num_nodes, 1), dtype=bool) if mask is None else mask.reshape(len(mask), -1) for mask in masks]
    parts = [[torch.from_numpy(np.flatnonzero(c[:, i % c.shape[1]])) for c in columns] for i in range(count)]
    return tuple(Split(part[0], part[1], part[2], f"split {i}") for i, part in enumerate(parts))


# One reader a library


def _from_scipy(matrix: Any) -> _Parts:
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"the matrix has shape {matrix.shape}; an adjacency matrix must be square")
    entries = sp.coo_array(matrix)
    stored = entries.data != 0  # an explicit zero is no edge
    _warn_of_weights(entries.data[stored])
    source, target = (ends[stored].astype(np.int64) for ends in entries.coords)
    return _Parts(source, target, matrix.shape[0])


def _from_edge_index(edge_index: Any, x: Any, node_ids: Any) -> _Parts:
    ends = np.asarray(_array(edge_index))
    if ends.ndim != 2 or ends.shape[0] != 2:
        hint = "transpose it" if ends.ndim == 2 and ends.shape[1] == 2 else "wrap an adjacency matrix in scipy.sparse.csr_array"
        raise ValueError(f"edges have shape {ends.shape}; an edge_index has shape (2, m): {hint}")
    rows = x if x is not None else node_ids
    if rows is not None:
        num_nodes = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    else:
        num_nodes = int(ends.max()) + 1 if ends.size else 0
    return _Parts(ends[0], ends[1], num_nodes)


def _from_pyg(data: Any) -> _Parts:
    edge_index = data.edge_index
    if edge_index is None and isinstance(data.get("adj_t"), Tensor):
        edge_index = data.adj_t.to_sparse_coo().coalesce().indices().flip(0)  # adj_t is the transposed adjacency
    if edge_index is None:
        raise ValueError("the Data object has no edge_index; give it one, of shape (2, m)")
    for weights in (data.get("edge_weight"), data.get("edge_attr")):
        _warn_of_weights(weights)
    n = int(data.num_nodes)
    splits = _splits(data.get("train_mask"), data.get("val_mask"), data.get("test_mask"), n)
    return _Parts(edge_index[0].cpu(), edge_index[1].cpu(), n, data.x, data.y, splits, data.get("node_ids"), data.get("name"))


def _from_networkx(graph: Any) -> _Parts:
    nodes = list(graph)
    position = {node: i for i, node in enumerate(nodes)}
    edges = [(position[a], position[b], weight) for a, b, weight in graph.edges(data="weight", default=1)]
    _warn_of_weights([1 if weight is None else weight for _, _, weight in edges])
    if not graph.is_directed():
        edges += [(b, a, weight) for a, b, weight in edges if a != b]
    features = {node: value for node, value in graph.nodes(data="x") if value is not None}
    labels = dict(graph.nodes(data="y"))
    x = y = None
    if features:
        without = next((node for node in nodes if node not in features), None)
        if without is not None:
            raise ValueError(f"node {without!r} has no attribute 'x', but other nodes have; give it to all nodes or to none")
        rows = [np.asarray(_array(features[node]), dtype=np.float32).ravel() for node in nodes]
        odd = next((i for i, row in enumerate(rows) if len(row) != len(rows[0])), None)
        if odd is not None:
            raise ValueError(
                f"node {nodes[odd]!r} has {len(rows[odd])} features and node {nodes[0]!r} has {len(rows[0])}: "
                "a graph of several types of nodes; take the subgraph of one type, or pad the features"
            )
        x = np.stack(rows)
    if any(value is not None for value in labels.values()):
        classes = [-1 if labels[node] is None else labels[node] for node in nodes]
        # Objects keep text as text and -1 as -1, so that Graph refuses the right one by name.
        y = np.array(classes, dtype=object if any(isinstance(value, str) for value in classes) else None)
    source, target = [a for a, _, _ in edges], [b for _, b, _ in edges]
    return _Parts(source, target, len(nodes), x, y, (), nodes, graph.name)


def _from_dgl(graph: Any) -> _Parts:
    if not graph.is_homogeneous:
        raise TypeError(
            "the DGL graph has several types of nodes or edges; convert dgl.to_homogeneous(graph), or one type of it"
        )
    source, target = graph.edges()
    for key in ("weight", "w"):
        _warn_of_weights(graph.edata.get(key))
    held, n = graph.ndata, int(graph.num_nodes())
    splits = _splits(held.get("train_mask"), held.get("val_mask"), held.get("test_mask"), n)
    return _Parts(source.cpu(), target.cpu(), n, held.get("feat"), held.get("label"), splits)


# Tables: nodes go by the ids in them


def _from_tables(edges: Any, x: Any, y: Any, name: str) -> Graph:
    columns = {str(column).strip().lower(): values for column, values in _columns(edges)}
    if not {"source", "target"} <= set(columns):
        found = ", ".join(repr(column) for column, _ in _columns(edges))
        raise ValueError(f"the table of edges has the columns {found}; it needs 'source' and 'target': rename them")
    _warn_of_weights(columns.get("weight"))
    source, target = (_table_ids(columns[end], f"the {end} column") for end in ("source", "target"))
    label_ids, labels = _table_labels(y)
    if _is_table(x):
        ids, x = _table_features(x)
    elif x is not None or (labels is not None and label_ids is None):
        ids = np.arange(len(labels if x is None else x))
    else:
        ids = np.unique(np.concatenate(_alike(source, target, *([] if label_ids is None else [label_ids]))))
    ids, source, target = _alike(ids, source, target)
    position = {node: i for i, node in enumerate(ids.tolist())}
    _check_unique(ids, "features")
    if labels is not None and label_ids is not None:
        label_ids = label_ids.astype(str) if ids.dtype.kind == "U" else label_ids
        _check_unique(label_ids, "labels")
        given = _labels(labels)
        # Objects keep text as it is, for Graph to refuse by name.
        labels = np.full(len(ids), -1, dtype=np.int64 if given.dtype.kind in "biu" else object)
        labels[_find(label_ids, position, "labelled node")] = given
    ends = _find(source, position, "node"), _find(target, position, "node")
    return _build(_Parts(*ends, len(ids), node_ids=ids), x, labels, None, name)


def _is_table(obj: Any) -> bool:
    return bool(_family(obj) & {"pandas.DataFrame", "pyarrow.Table"})


def _is_counted(series: Any) -> bool:
    """Whether a pandas index is 0, 1, 2... and nameless: not ids, but what pandas adds when nobody gave any."""
    return series.index.name is None and "pandas.RangeIndex" in _family(series.index)


def _columns(table: Any) -> list[tuple[str, Array]]:
    """Name and values of each column; first the pandas index, if it is named or text and so holds ids."""
    if "pyarrow.Table" in _family(table):
        return [(name, column.to_numpy()) for name, column in zip(table.column_names, table.columns, strict=True)]
    columns = [(str(name), table.iloc[:, i].to_numpy()) for i, name in enumerate(table.columns)]
    index = table.index.to_numpy()
    holds_ids = table.index.name is not None or index.dtype.kind not in "iu"
    return [(str(table.index.name or "index"), index), *columns] if holds_ids else columns


def _table_features(table: Any) -> tuple[Array, Array]:
    (first, ids), *columns = _columns(table)
    if not columns:
        raise ValueError(f"the features have only the column {first!r}; give the id first, then the features")
    for name, values in columns:
        if values.dtype.kind not in "biuf":
            raise ValueError(f"feature column {name!r} is of type {values.dtype}; features are numbers: encode or drop it")
    return _table_ids(ids, f"column {first!r} of the features"), np.column_stack([values for _, values in columns])


def _table_labels(y: Any) -> tuple[Array | None, Any]:
    """Ids (None: in node order) and labels."""
    if "pandas.Series" in _family(y):
        return (None if _is_counted(y) else _table_ids(y.index.to_numpy(), "the index of the labels")), _complete(y.to_numpy())
    if not _is_table(y):
        return None, y
    columns = _columns(y)
    if len(columns) != 2:
        found = ", ".join(repr(name) for name, _ in columns)
        raise ValueError(f"the table of labels has the columns {found}; it needs two, id and label")
    return _table_ids(columns[0][1], f"column {columns[0][0]!r} of the labels"), _complete(columns[1][1])


def _complete(labels: Array) -> Array:
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(f"the label in data row {int(np.isnan(labels).argmax()) + 1} is empty; write -1 or drop the row")
    return labels


def _table_ids(values: Array, place: str) -> Array:
    """Ids as int64 or text; ValueError if one is missing or a fraction."""
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    if values.dtype.kind == "f" and np.isfinite(values).all() and (values == np.floor(values)).all():
        return values.astype(np.int64)
    listed = values.tolist()
    row = next((i for i, value in enumerate(listed) if value is None or value != value or value == ""), None)
    if row is not None:
        raise ValueError(f"{place}: the node id in data row {row + 1} is empty; fill it in or drop the row")
    if values.dtype.kind == "f":
        wrong = next(value for value in listed if not float(value).is_integer())
        raise ValueError(f"{place}: node id {wrong!r} is no integer; use integers or text, in the first column")
    return np.array([str(value) for value in listed])


def _check_unique(ids: Array, role: str) -> None:
    names, counts = np.unique(ids, return_counts=True)
    if len(names) != len(ids):
        first = counts.argmax()
        raise ValueError(f"the {role} have {counts[first]} rows for node {names[first].item()!r}; keep one row per node")


def _alike(*columns: Array) -> list[Array]:
    """The columns as integers if all of them are, else all as text."""
    return list(columns) if all(c.dtype.kind == "i" for c in columns) else [c.astype(str) for c in columns]


def _find(ids: Array, position: dict[Any, int], subject: str) -> Array:
    found = np.array([position.get(node, -1) for node in ids.tolist()], dtype=np.int64)
    missing = np.unique(ids[found < 0])
    if missing.size:
        more = f" (and {missing.size - 1} more)" if missing.size > 1 else ""
        raise ValueError(f"{subject} {missing[0].item()!r}{more} has no row in the features; add its row or drop the mention")
    return found
