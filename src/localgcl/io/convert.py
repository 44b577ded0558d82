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
from localgcl.graph.csr import as_features
from localgcl.graph.prepare import featureless
from localgcl.io.foreign import family, has_ids, is_table

Array = NDArray[Any]

ACCEPTED = (
    "localgcl.Graph, a torch_geometric Data, a networkx graph, a DGL graph, a scipy sparse matrix (with x=), "
    "an edge_index array of shape (2, m) (with x=), a tuple of either with x or with x and y, "
    "or a pandas or pyarrow table with the columns source and target"
)


class _Parts(NamedTuple):
    """What a foreign graph holds, by node position. Once checked, it is a Graph."""

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
    for role, value in (("the table of edges", obj), ("x", x), ("y", y)):
        if "polars.DataFrame" in family(value):
            raise TypeError(f"{role} is a polars DataFrame, which is not read; pass it as a pyarrow table: its .to_arrow()")
    kin = family(obj)
    if isinstance(obj, Graph):
        if x is None and y is None and node_ids is None and name is None:
            return obj
        parts = _from_graph(obj)
    elif is_table(obj):
        if node_ids is not None:
            raise ValueError("node_ids cannot be given beside a table of edges; its columns and those of x hold the ids")
        parts, x, y = _from_tables(obj, x, y), None, None
    elif "torch_geometric.Data" in kin:
        parts = _from_pyg(obj)
    elif "networkx.Graph" in kin:
        parts = _from_networkx(obj)
    elif kin & {"dgl.DGLGraph", "dgl.DGLHeteroGraph"}:
        parts = _from_dgl(obj)
    elif sp.issparse(obj):
        parts = _from_scipy(obj)
    elif isinstance(obj, Tensor | np.ndarray | list):
        parts = _from_edge_index(obj, x if x is not None else node_ids)
    elif "torch_geometric.HeteroData" in kin:
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
        if has_ids(value):
            raise TypeError(
                f"{role} is a {type(value).__name__} with ids of its own, which needs edges in a table too; "
                f"else pass {role}.to_numpy(), one row per node in node order"
            )
    known: dict[str, Any] = {
        "y": None if y is None else _labels(y),
        "splits": parts.splits,
        "node_ids": _id_array(parts.node_ids if node_ids is None else node_ids),
        "name": name or (parts.name if isinstance(parts.name, str) and parts.name else "graph"),
    }
    if x is None:
        return featureless(parts.source, parts.target, parts.num_nodes, **known)
    features = as_features(x.cpu() if isinstance(x, Tensor) else x)
    if len(features) != parts.num_nodes:
        raise ValueError(
            f"features have {len(features)} rows, but the graph has {parts.num_nodes} nodes; give one row per node"
        )
    return Graph.from_edges(parts.source, parts.target, x=features, **known)


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
    return np.where(np.isnan(values), -1, values) if values.dtype.kind == "f" else values


def _array(values: Any) -> Any:
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else values


def _warn_of_weights(weights: Any) -> None:
    """Warns if the weights (an array, or None) are not all 1."""
    if weights is not None and (np.asarray(_array(weights)) != 1).any():
        warnings.warn("edge weights or features are ignored; all edges count alike", LocalGCLWarning, stacklevel=4)


def _splits(held: Any, num_nodes: int) -> tuple[Split, ...]:
    """Splits of boolean masks of shape (n,) or (n, splits); a flat mask beside wide ones belongs to every split."""
    given = [held.get(f"{part}_mask") for part in ("train", "val", "test")]
    if all(mask is None for mask in given):
        return ()
    masks = [np.zeros(num_nodes, dtype=bool) if mask is None else np.asarray(_array(mask), dtype=bool) for mask in given]
    masks = [mask.reshape(num_nodes, -1) for mask in masks]
    count = max(mask.shape[1] for mask in masks)
    masks = [np.broadcast_to(mask, (num_nodes, count)) for mask in masks]
    parts = [[torch.from_numpy(np.flatnonzero(mask[:, i])) for mask in masks] for i in range(count)]
    return tuple(Split(train, val, test, f"split {i}") for i, (train, val, test) in enumerate(parts))


# One reader a type


def _from_graph(graph: Graph) -> _Parts:
    return _Parts(graph.rows, graph.indices, graph.num_nodes, graph.x, graph.y, graph.splits, graph.node_ids, graph.name)


def _from_tables(edges: Any, x: Any, y: Any) -> _Parts:
    from localgcl.io.tables import join_tables  # brings pyarrow

    joined = join_tables(edges, x, y)
    _warn_of_weights(joined.weight)
    return _Parts(joined.source, joined.target, len(joined.node_ids), joined.x, joined.y, node_ids=joined.node_ids)


def _from_scipy(matrix: Any) -> _Parts:
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"the matrix has shape {matrix.shape}; an adjacency matrix must be square")
    entries = sp.coo_array(matrix)
    stored = entries.data != 0  # an explicit zero is no edge
    _warn_of_weights(entries.data[stored])
    source, target = (ends[stored].astype(np.int64) for ends in entries.coords)
    return _Parts(source, target, matrix.shape[0])


def _from_edge_index(edge_index: Any, rows: Any) -> _Parts:
    """`rows`, if not None, has one row per node, so that isolated nodes at the end count too."""
    ends = np.asarray(_array(edge_index))
    if ends.ndim != 2 or ends.shape[0] != 2:
        hint = "transpose it" if ends.ndim == 2 and ends.shape[1] == 2 else "wrap an adjacency matrix in scipy.sparse.csr_array"
        raise ValueError(f"edges have shape {ends.shape}; an edge_index has shape (2, m): {hint}")
    if rows is None:
        num_nodes = int(ends.max()) + 1 if ends.size else 0
    else:
        num_nodes = rows.shape[0] if hasattr(rows, "shape") else len(rows)
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
    source, target = edge_index.cpu()
    return _Parts(source, target, n, data.x, data.y, _splits(data, n), data.get("node_ids"), data.get("name"))


def _from_networkx(graph: Any) -> _Parts:
    nodes = list(graph)
    position = {node: i for i, node in enumerate(nodes)}
    edges = [(position[a], position[b], weight) for a, b, weight in graph.edges(data="weight", default=1)]
    _warn_of_weights([1 if weight is None else weight for _, _, weight in edges])
    if not graph.is_directed():
        edges += [(b, a, weight) for a, b, weight in edges if a != b]
    source, target = [a for a, _, _ in edges], [b for _, b, _ in edges]
    x, y = _networkx_features(graph), _networkx_labels(graph)
    return _Parts(source, target, len(nodes), x, y, node_ids=nodes, name=graph.name)


def _networkx_features(graph: Any) -> Array | None:
    features = dict(graph.nodes(data="x"))
    without = [node for node, value in features.items() if value is None]
    if len(without) == len(features):
        return None
    if without:
        raise ValueError(f"node {without[0]!r} has no attribute 'x', but other nodes have; give it to all nodes or to none")
    rows = {node: np.asarray(_array(value), dtype=np.float32).ravel() for node, value in features.items()}
    first, *others = rows
    for node in others:
        if len(rows[node]) != len(rows[first]):
            raise ValueError(
                f"node {node!r} has {len(rows[node])} features and node {first!r} has {len(rows[first])}: "
                "a graph of several types of nodes; take the subgraph of one type, or pad the features"
            )
    return np.stack(list(rows.values()))


def _networkx_labels(graph: Any) -> Array | None:
    labels = [value for _, value in graph.nodes(data="y")]
    if all(value is None for value in labels):
        return None
    classes = [-1 if value is None else value for value in labels]
    # Objects keep text as text and -1 as -1, so that Graph refuses the right one by name.
    return np.array(classes, dtype=object if any(isinstance(value, str) for value in classes) else None)


def _from_dgl(graph: Any) -> _Parts:
    if not graph.is_homogeneous:
        raise TypeError(
            "the DGL graph has several types of nodes or edges; convert dgl.to_homogeneous(graph), or one type of it"
        )
    source, target = graph.edges()
    for key in ("weight", "w"):
        _warn_of_weights(graph.edata.get(key))
    held, n = graph.ndata, int(graph.num_nodes())
    return _Parts(source.cpu(), target.cpu(), n, held.get("feat"), held.get("label"), _splits(held, n))
