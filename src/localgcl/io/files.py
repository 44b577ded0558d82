"""Your own files -> Graph: edges, features and labels, matched by node id.

formats.py decodes the files, columns.py reads their tables, ids.py matches the ids.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

from localgcl.graph import Graph
from localgcl.graph.prepare import featureless
from localgcl.io.columns import check_finite, edges_of, features_of, labels_of
from localgcl.io.formats import TABLES, edge_table, id_table, kind_of, read_arrays
from localgcl.io.ids import Edges, Nodes, Rows, as_ids, join, labels_by_node
from localgcl.io.labels import class_numbers
from localgcl.io.weights import warn_of_weights

PathLike = str | os.PathLike[str]
Array = NDArray[Any]


def read_graph(edges: PathLike, *, features: PathLike | None = None, labels: PathLike | None = None, name: str = "") -> Graph:
    """Reads a graph from files; the extension of each file says its format. O(|V| f + |E|).

    Nodes may have any ids, integers or text. Ids are read as integers if they look so in all files, else as text, so
    that 7 in one file and "7" in another are the same node. Nodes come in the order of the rows of `features`; without
    features, in the order of their sorted ids. Edges are kept as given: directed, with repeats and loops.

    Args:
        edges: CSV or TSV (also gzipped) or Parquet with the columns `source` and `target`, anywhere and in any case;
            a CSV of exactly two columns whose first row is two integers is read as having no header. NPY of shape
            (m, 2) or (2, m); an array of shape (2, 2) is read as (2, m). NPZ with `source` and `target`, with
            `edge_index`, or written by `scipy.sparse.save_npz`. A column `weight` is ignored, with a warning.
        features: CSV, TSV or Parquet: the id first (Parquet from pandas: or in a named or textual index), then
            numbers. NPY, NPZ with `x`, or a scipy sparse NPZ: one row for each of the nodes 0..n-1. Without features,
            structural ones are computed from the edges, with a warning.
        labels: CSV, TSV or Parquet: id and class number; nodes that are not named get -1. NPY or NPZ with `y`: one
            label per node, in node order.
        name: Name of the graph; the name of the edge file when not given.

    Raises:
        FileNotFoundError: A file does not exist.
        ValueError: A file cannot be read or the files do not fit each other; the message says where and what to do.
    """
    edge_part = _read_edges(Path(edges))
    rows = None if features is None else _read_features(Path(features))
    joined = join(edge_part, rows, None if labels is None else _read_labels(Path(labels)))
    name = name or Path(edges).name.split(".")[0]
    if rows is None:
        num_nodes = len(joined.node_ids)
        return featureless(joined.source, joined.target, num_nodes, y=joined.y, node_ids=joined.node_ids, name=name)
    return Graph.from_edges(joined.source, joined.target, x=rows.values, y=joined.y, node_ids=joined.node_ids, name=name)


def read_labelled_embeddings(embeddings: PathLike, labels: PathLike) -> tuple[Array, Array]:
    """Reads embeddings, shape (n, d), and the class of each row (-1: unknown), matched by node id.

    Args:
        embeddings: CSV, TSV or Parquet with the id first; NPY or NPZ with `x` for the nodes 0..n-1.
        labels: As for `read_graph`.
    """
    rows = _read_features(Path(embeddings))
    if sp.issparse(rows.values):
        raise ValueError(f"{embeddings} is a sparse matrix; give one dense row per node")
    return rows.values, labels_by_node(_read_labels(Path(labels)), Nodes.of_rows(rows))


def _read_edges(path: Path) -> Edges:
    kind = kind_of(path)
    if kind in TABLES:
        return edges_of(edge_table(path, kind), str(path), parse_ids=True)
    arrays = read_arrays(path, kind, ("edge_index", "source", "target"))
    if sp.issparse(arrays.get("edge_index")):
        return _adjacency_edges(path, arrays["edge_index"])
    source, target = _ends(path, arrays)
    if len(source) != len(target) or len(source) == 0:
        raise ValueError(f"{path} has {len(source)} sources and {len(target)} targets; give one of each per edge")
    source, target = (as_ids(np.ascontiguousarray(ends), str(path), parse=True) for ends in (source, target))
    return Edges(str(path), source, target)


def _ends(path: Path, arrays: dict[str, Array]) -> tuple[Array, Array]:
    """Sources and targets, from an `edge_index` or from two arrays of these names."""
    if "edge_index" not in arrays:
        missing = [end for end in ("source", "target") if end not in arrays]
        if missing:
            raise ValueError(f"{path} has no array {missing[0]!r}; save it with source= and target=, or with edge_index=")
        return arrays["source"].ravel(), arrays["target"].ravel()
    pair = arrays["edge_index"]
    if pair.ndim != 2 or 2 not in pair.shape:
        raise ValueError(f"{path} has shape {pair.shape}; edges need shape (m, 2) or (2, m)")
    return (pair[0], pair[1]) if pair.shape[0] == 2 else (pair[:, 0], pair[:, 1])


def _adjacency_edges(path: Path, matrix: Any) -> Edges:
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{path} has shape {matrix.shape}; an adjacency matrix must be square")
    entries = matrix.tocoo()
    stored = entries.data != 0  # an explicit zero is no edge
    warn_of_weights(entries.data[stored], str(path))
    source, target = (as_ids(ends[stored], str(path)) for ends in entries.coords)
    return Edges(str(path), source, target, matrix.shape[0])


def _read_features(path: Path) -> Rows:
    """Features as a float32 matrix, dense or sparse."""
    kind = kind_of(path)
    if kind in TABLES:
        return features_of(id_table(path, kind, pa.float32()), str(path), parse_ids=True)
    x = read_arrays(path, kind, ("x",))["x"]
    if x.dtype.kind not in "biuf" or x.ndim not in (1, 2) or 0 in x.shape:
        raise ValueError(f"{path} has shape {x.shape} and type {x.dtype}; features are numbers, one row per node")
    with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite, and check_finite refuses it
        x = x.astype(np.float32)
    x = x[:, None] if x.ndim == 1 else x
    check_finite(x, str(path))
    return Rows(str(path), None, x)


def _read_labels(path: Path) -> Rows:
    """Labels as int64 class numbers, -1 where unknown."""
    kind = kind_of(path)
    if kind in TABLES:
        return labels_of(id_table(path, kind, pa.string()), str(path), parse_ids=True)
    y = read_arrays(path, kind, ("y",))["y"]
    if isinstance(y, sp.csr_array):
        raise ValueError(f"{path} is a sparse matrix of shape {y.shape}; labels need shape (n,), one class number per node")
    return Rows(str(path), None, class_numbers(y, str(path)))
