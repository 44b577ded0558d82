"""Graphs of other libraries -> their parts by node position. No library is imported: its types are known by name."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from localgcl.graph import Graph, Split
from localgcl.io.arrays import to_array
from localgcl.io.tables import family
from localgcl.io.weights import warn_of_weights

Array = NDArray[Any]

ACCEPTED = (
    "localgcl.Graph, a torch_geometric Data, a networkx graph, a DGL graph, a scipy sparse matrix (with x=), "
    "an edge_index array of shape (2, m) (with x=), a tuple of either with x or with x and y, "
    "or a table with the columns source and target (pandas, polars, pyarrow, DuckDB, or any object with __arrow_c_stream__)"
)


class GraphParts(NamedTuple):
    """What a graph of another library holds, by node position and not yet checked."""

    source: Any
    target: Any
    num_nodes: int
    x: Any = None
    y: Any = None
    splits: tuple[Split, ...] = ()
    node_ids: Any = None
    name: Any = None


def parts_of(obj: Any, rows: Any = None) -> GraphParts:
    """The parts of the graph `obj`; TypeError if it is none.

    Args:
        obj: A graph of a known type.
        rows: One row per node, if the caller has any: an edge_index does not count isolated nodes at the end.
    """
    kin = family(obj)
    if isinstance(obj, Graph):
        return GraphParts(obj.rows, obj.indices, obj.num_nodes, obj.x, obj.y, obj.splits, obj.node_ids, obj.name)
    if "torch_geometric.Data" in kin:
        return _from_pyg(obj)
    if "networkx.Graph" in kin:
        return _from_networkx(obj)
    if kin & {"dgl.DGLGraph", "dgl.DGLHeteroGraph"}:
        return _from_dgl(obj)
    if sp.issparse(obj):
        return _from_scipy(obj)
    if isinstance(obj, Tensor | np.ndarray | list):
        return _from_edge_index(obj, rows)
    if "torch_geometric.HeteroData" in kin:
        raise TypeError("HeteroData has several types of nodes or edges; convert data.to_homogeneous(), or one type of it")
    raise TypeError(f"cannot make a graph of {type(obj).__module__}.{type(obj).__qualname__}; give {ACCEPTED}")


def _from_scipy(matrix: Any) -> GraphParts:
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"the matrix has shape {matrix.shape}; an adjacency matrix must be square")
    entries = sp.coo_array(matrix)
    stored = entries.data != 0  # an explicit zero is no edge
    warn_of_weights(entries.data[stored])
    source, target = (ends[stored].astype(np.int64) for ends in entries.coords)
    return GraphParts(source, target, matrix.shape[0])


def _from_edge_index(edge_index: Any, rows: Any) -> GraphParts:
    ends = to_array(edge_index)
    if ends.ndim != 2 or ends.shape[0] != 2:
        hint = "transpose it" if ends.ndim == 2 and ends.shape[1] == 2 else "wrap an adjacency matrix in scipy.sparse.csr_array"
        raise ValueError(f"edges have shape {ends.shape}; an edge_index has shape (2, m): {hint}")
    if rows is None:
        num_nodes = int(ends.max()) + 1 if ends.size else 0
    else:
        num_nodes = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    return GraphParts(ends[0], ends[1], num_nodes)


def _from_pyg(data: Any) -> GraphParts:
    edge_index = data.edge_index
    if edge_index is None and isinstance(data.get("adj_t"), Tensor):
        edge_index = data.adj_t.to_sparse_coo().coalesce().indices().flip(0)  # adj_t is the transposed adjacency
    if edge_index is None:
        raise ValueError("the Data object has no edge_index; give it one, of shape (2, m)")
    for key in ("edge_weight", "edge_attr"):
        warn_of_weights(data.get(key))
    n = int(data.num_nodes)
    source, target = edge_index.cpu()
    return GraphParts(source, target, n, data.x, data.y, _splits(data, n), data.get("node_ids"), data.get("name"))


def _from_networkx(graph: Any) -> GraphParts:
    nodes = list(graph)
    position = {node: i for i, node in enumerate(nodes)}
    edges = [(position[a], position[b], weight) for a, b, weight in graph.edges(data="weight", default=1)]
    warn_of_weights([1 if weight is None else weight for _, _, weight in edges])
    if not graph.is_directed():
        edges += [(b, a, weight) for a, b, weight in edges if a != b]
    source, target = [a for a, _, _ in edges], [b for _, b, _ in edges]
    x, y = _networkx_features(graph), _networkx_labels(graph)
    return GraphParts(source, target, len(nodes), x, y, node_ids=nodes, name=graph.name)


def _networkx_features(graph: Any) -> Array | None:
    features = dict(graph.nodes(data="x"))
    without = [node for node, value in features.items() if value is None]
    if len(without) == len(features):
        return None
    if without:
        raise ValueError(f"node {without[0]!r} has no attribute 'x', but other nodes have; give it to all nodes or to none")
    rows = {node: to_array(value).astype(np.float32).ravel() for node, value in features.items()}
    first, *others = rows
    for node in others:
        if len(rows[node]) != len(rows[first]):
            raise ValueError(
                f"node {node!r} has {len(rows[node])} features and node {first!r} has {len(rows[first])}: "
                "a graph of several types of nodes; take the subgraph of one type, or pad the features"
            )
    return np.stack(list(rows.values()))


def _networkx_labels(graph: Any) -> list[Any] | None:
    labels = [value for _, value in graph.nodes(data="y")]
    if all(value is None for value in labels):
        return None
    return [-1 if value is None else value for value in labels]


def _from_dgl(graph: Any) -> GraphParts:
    if not graph.is_homogeneous:
        raise TypeError(
            "the DGL graph has several types of nodes or edges; convert dgl.to_homogeneous(graph), or one type of it"
        )
    source, target = graph.edges()
    for key in ("weight", "w"):
        warn_of_weights(graph.edata.get(key))
    held, n = graph.ndata, int(graph.num_nodes())
    return GraphParts(source.cpu(), target.cpu(), n, held.get("feat"), held.get("label"), _splits(held, n))


def _splits(held: Any, num_nodes: int) -> tuple[Split, ...]:
    """Splits of boolean masks of shape (n,) or (n, splits); a flat mask beside wide ones belongs to every split."""
    given = [held.get(f"{part}_mask") for part in ("train", "val", "test")]
    if all(mask is None for mask in given):
        return ()
    masks = [np.zeros(num_nodes, dtype=bool) if mask is None else to_array(mask).astype(bool) for mask in given]
    masks = [mask.reshape(num_nodes, -1) for mask in masks]
    count = max(mask.shape[1] for mask in masks)
    masks = [np.broadcast_to(mask, (num_nodes, count)) for mask in masks]
    parts = [[torch.from_numpy(np.flatnonzero(mask[:, i])) for mask in masks] for i in range(count)]
    return tuple(Split(train, val, test, f"split {i}") for i, (train, val, test) in enumerate(parts))
