"""Graphs of other libraries -> their parts by node position, or the rows that losses read.

No library is imported: its types are known by name.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from localgcl.config import LocalGCLWarning
from localgcl.graph import Graph, Split
from localgcl.graph.arrays import checked_matrix
from localgcl.graph.csr import CSR
from localgcl.io.roles import refuse_weight_name, warn_of_unused, weight_name
from localgcl.io.tables import family, to_array

Array = NDArray[Any]

ACCEPTED = (
    "localgcl.Graph, a torch_geometric Data, a networkx graph, a DGL graph, a scipy or torch sparse matrix (with x=), "
    "an edge_index array of shape (2, m) (with x=), a tuple of either with x or with x and y, "
    "or a table with the columns source and target (pandas, polars, pyarrow, DuckDB, or any object with __arrow_c_stream__)"
)


# Attributes that PyG may mistake for edge attributes because of their length.
_PYG_OTHERS = ("x", "y", "adj_t", "name", "node_ids", "feature_names", "class_names", "train_mask", "val_mask", "test_mask")


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
    feature_names: Any = None
    weights: Any = None
    class_names: Any = None
    encoding: Any = None
    structural: bool = False


def parts_of(obj: Any, rows: Any = None, weight: str | None = None) -> GraphParts:
    """The parts of the graph `obj`; TypeError if it is none.

    Args:
        obj: A graph of a known type.
        rows: One row per node, if the caller has any: an edge_index does not count isolated nodes at the end.
        weight: What holds the edge weights (see `as_graph`).
    """
    kin = family(obj)
    if isinstance(obj, Graph):
        refuse_weight_name(weight, "a localgcl.Graph")
        known = (obj.splits, obj.node_ids, obj.name, obj.feature_names, obj.weights if weight is None else None)
        made = (obj.class_names, obj.encoding, obj.structural)
        return GraphParts(obj.rows, obj.indices, obj.num_nodes, obj.x, obj.y, *known, *made)
    if "torch_geometric.Data" in kin:
        return _from_pyg(obj, weight)
    if "networkx.Graph" in kin:
        return _from_networkx(obj, weight)
    if kin & {"dgl.DGLGraph", "dgl.DGLHeteroGraph"}:
        return _from_dgl(obj, weight)
    if sp.issparse(obj) or (isinstance(obj, Tensor) and obj.layout != torch.strided):
        refuse_weight_name(weight, "the adjacency matrix")
        parts = from_matrix(checked_matrix(obj, "the adjacency matrix"))
        return parts if weight is None else parts._replace(weights=None)
    if isinstance(obj, Tensor | np.ndarray | list):
        refuse_weight_name(weight, "an edge_index")
        return _from_edge_index(obj, rows)
    if "torch_geometric.HeteroData" in kin:
        raise TypeError("HeteroData has several types of nodes or edges; convert data.to_homogeneous(), or one type of it")
    raise TypeError(f"cannot make a graph of {type(obj).__module__}.{type(obj).__qualname__}; give {ACCEPTED}")


def from_matrix(matrix: Any, place: str = "the matrix") -> GraphParts:
    """Edges and weights of a scipy array that was checked; `place` is what messages call it."""
    entries = matrix.tocoo()
    if entries.shape[0] != entries.shape[1] or entries.shape[0] == 0:
        raise ValueError(f"{place} has shape {entries.shape}; an adjacency matrix must be square, with a row for each node")
    stored = entries.data != 0  # an explicit zero is no edge
    source, target = (ends[stored].astype(np.int64) for ends in entries.coords)
    return GraphParts(source, target, entries.shape[0], weights=entries.data[stored])


def _ends(edge_index: Any) -> Array:
    """Sources and targets, shape (2, m)."""
    ends = to_array(edge_index)
    if ends.ndim != 2 or ends.shape[0] != 2:
        hint = "transpose it" if ends.ndim == 2 and ends.shape[1] == 2 else "wrap an adjacency matrix in scipy.sparse.csr_array"
        raise ValueError(f"edges have shape {ends.shape}; an edge_index has shape (2, m): {hint}")
    return ends


def _from_edge_index(edge_index: Any, rows: Any) -> GraphParts:
    ends = _ends(edge_index)
    if rows is None:
        num_nodes = int(ends.max()) + 1 if ends.size else 0
    else:
        num_nodes = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    return GraphParts(ends[0], ends[1], num_nodes)


def _from_pyg(data: Any, weight: str | None) -> GraphParts:
    edges, n = _pyg_edge_attributes(data), int(data.num_nodes)
    if data.edge_index is not None:
        source, target = _ends(data.edge_index)
        held = _pyg_weight(edges, weight)
        weights = None if held is None else edges.pop(held)
    elif isinstance(data.get("adj_t"), Tensor) and data.adj_t.layout != torch.strided:
        refuse_weight_name(weight, "adj_t")
        matrix = from_matrix(checked_matrix(data.adj_t, "adj_t"))
        source, target = matrix.target, matrix.source  # adj_t is the transposed adjacency
        weights = matrix.weights if weight is None else None
    else:
        raise ValueError("the Data object has no edge_index; give it one, of shape (2, m)")
    warn_of_unused(edges, "the Data object", weighted=weights is not None)
    known = (data.get("node_ids"), data.get("name"), data.get("feature_names"), weights, data.get("class_names"))
    return GraphParts(source, target, n, data.x, data.y, _splits(data, n), *known)


def _pyg_edge_attributes(data: Any) -> dict[str, Any]:
    """The edge attributes of the Data object, without edge_index."""
    held, by_length = dict(iter(data)), data.edge_attrs()
    names = [key for key in held if "edge" in key or (key in by_length and key not in _PYG_OTHERS)]
    return {key: held[key] for key in names if key != "edge_index" and held[key] is not None}


def _pyg_weight(edges: dict[str, Any], asked: str | None) -> str | None:
    """The attribute that holds the weights: the one that is asked for, `edge_weight`, or an `edge_attr` of one column."""
    if asked is not None:
        return weight_name(list(edges), asked, "the Data object")
    if "edge_weight" in edges or "edge_attr" not in edges:
        return "edge_weight" if "edge_weight" in edges else None
    values = to_array(edges["edge_attr"])
    if values.ndim > 1 and values.shape[1:] != (1,):
        return None
    if (values != 1).any():
        # The fifth frame is the caller of as_graph. Such a column may as well hold kinds or distances.
        text = "edge_attr has one column, which is read as edge weights; pass weight='' if it is something else"
        warnings.warn(text, LocalGCLWarning, stacklevel=5)
    return "edge_attr"


def _from_networkx(graph: Any, weight: str | None) -> GraphParts:
    nodes = list(graph)
    position = {node: i for i, node in enumerate(nodes)}
    edges = [(position[a], position[b], attributes) for a, b, attributes in graph.edges(data=True)]
    names = list(dict.fromkeys(name for _, _, attributes in edges for name in attributes if isinstance(name, str)))
    held = weight_name(names, weight, "the networkx graph")
    warn_of_unused([name for name in names if name != held], "the networkx graph", weighted=held is not None)
    if not graph.is_directed():
        edges += [(b, a, attributes) for a, b, attributes in edges if a != b]
    source, target = [a for a, _, _ in edges], [b for _, b, _ in edges]
    given = [attributes.get(held) for _, _, attributes in edges]
    weights = None if held is None else [1 if value is None else value for value in given]
    x, y = _networkx_features(graph), _networkx_labels(graph)
    return GraphParts(source, target, len(nodes), x, y, node_ids=nodes, name=graph.name, weights=weights)


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


def _from_dgl(graph: Any, weight: str | None) -> GraphParts:
    if not graph.is_homogeneous:
        raise TypeError(
            "the DGL graph has several types of nodes or edges; convert dgl.to_homogeneous(graph), or one type of it"
        )
    source, target = graph.edges()
    edges, held, n = dict(graph.edata), graph.ndata, int(graph.num_nodes())
    short = weight is None and "weight" not in edges and "w" in edges  # DGL's own examples call them w
    name = weight_name(list(edges), "w" if short else weight, "the DGL graph")
    weights = None if name is None else edges.pop(name)
    warn_of_unused([key for key in edges if key != "_ID"], "the DGL graph", weighted=name is not None)
    known: dict[str, Any] = {"splits": _splits(held, n), "weights": weights}
    return GraphParts(source.cpu(), target.cpu(), n, held.get("feat"), held.get("label"), **known)


def _splits(held: Any, num_nodes: int) -> tuple[Split, ...]:
    """Splits of boolean masks of shape (n,) or (n, splits); a flat mask beside wide ones belongs to every split."""
    given = [held.get(f"{part}_mask") for part in ("train", "val", "test")]
    if all(mask is None for mask in given):
        return ()
    masks = [np.zeros(num_nodes, dtype=bool) if mask is None else to_array(mask).astype(bool) for mask in given]
    count = max(mask.shape[1] if mask.ndim == 2 else 1 for mask in masks)
    for mask in masks:
        if mask.shape not in ((num_nodes,), (num_nodes, 1), (num_nodes, count)):
            raise ValueError(f"a mask has shape {mask.shape}; give ({num_nodes},) or ({num_nodes}, splits), a value per node")
    masks = [mask.reshape(num_nodes, -1) for mask in masks]
    masks = [np.broadcast_to(mask, (num_nodes, count)) for mask in masks]
    parts = [[torch.from_numpy(np.flatnonzero(mask[:, i])) for mask in masks] for i in range(count)]
    return tuple(Split(train, val, test, f"split {i}") for i, (train, val, test) in enumerate(parts))


def neighbourhoods(edges: Any, num_nodes: int, device: torch.device | str = "cpu") -> Graph | CSR:
    """The edges as a CSR, whose row i lists the neighbours of node i; a `Graph` or a `CSR` is returned as it is.

    Edges are taken as stored: of an undirected graph, both directions must be there, as PyG has them. O(|E| log |E|), on the
    CPU. Losses call this themselves; call it once before a loop to save the time at each step.

    Args:
        edges: An `edge_index` of shape (2, m), a PyG `Data`, a scipy or torch sparse adjacency matrix, a networkx or DGL graph.
            Weights of edges are kept (see `as_graph`); features are not looked at.
        num_nodes: Number of nodes: the rows of the embeddings.
        device: Where the embeddings are.

    Example:
        >>> rows = neighbourhoods(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 3)
        >>> rows.indptr.tolist(), rows.indices.tolist()
        ([0, 1, 3, 4], [1, 0, 2, 1])
    """
    if isinstance(edges, Graph | CSR):
        return edges
    parts = parts_of(edges, range(num_nodes))
    if parts.num_nodes != num_nodes:
        raise ValueError(f"{num_nodes} embeddings for {parts.num_nodes} nodes; give one row per node")
    # Features only count the nodes here.
    return Graph.from_edges(parts.source, parts.target, x=torch.zeros(num_nodes, 1), weights=parts.weights).to(device).csr
