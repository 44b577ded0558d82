"""Your own files -> Graph: edges, features and labels, matched by node id.

First the three readers that users call, then how their parts become a graph, then one reader a kind of content. How a
format is read is in formats.py, how ids are matched in localgcl.io.ids.
"""

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from localgcl.config import LocalGCLWarning
from localgcl.graph import Graph
from localgcl.graph.prepare import featureless
from localgcl.io.formats import TABLES, edge_columns, id_table, kind_of, listed, read_arrays
from localgcl.io.ids import Ids, as_ids, first_empty, ids_to_numpy, nodes_of, parsed, positions, repeated, spread

PathLike = str | os.PathLike[str]
Array = NDArray[Any]


class _Edges(NamedTuple):
    path: Path
    source: Ids
    target: Ids
    num_nodes: int | None = None  # None: not known from the edges


class _Rows(NamedTuple):
    """Features or labels: the id of each row (None: row i is about node i) and its values."""

    path: Path
    ids: Ids | None
    values: Any


def read_graph(edges: PathLike, *, features: PathLike | None = None, labels: PathLike | None = None, name: str = "") -> Graph:
    """Reads a graph from files. The kind of each file is told by its extension. O(|V| f + |E|).

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
        name: What to call the graph; the name of the edge file when not given.

    Raises:
        FileNotFoundError: A file does not exist.
        ValueError: A file cannot be read or the files do not fit each other; the message says where and what to do.
    """
    edge_part = _read_edges(Path(edges))
    feature_part = None if features is None else _read_features(Path(features))
    label_part = None if labels is None else _read_labels(Path(labels))
    return _join(edge_part, feature_part, label_part, name or edge_part.path.name.split(".")[0])


def read_embeddings(path: PathLike) -> tuple[Array | None, Array]:
    """Reads ids and float32 rows of an embeddings file: CSV, TSV or Parquet with the id first; NPY or NPZ has no ids."""
    rows = _read_features(Path(path))
    if sp.issparse(rows.values):
        raise ValueError(f"{path} has no table of embeddings; give one dense row per node")
    return None if rows.ids is None else ids_to_numpy(rows.ids), rows.values


def read_labels(path: PathLike) -> tuple[Array | None, Array]:
    """Reads ids and int64 class numbers (-1: unknown) of a labels file; NPY and NPZ have no ids."""
    rows = _read_labels(Path(path))
    return None if rows.ids is None else ids_to_numpy(rows.ids), rows.values


def _join(edges: _Edges, features: _Rows | None, labels: _Rows | None, name: str) -> Graph:
    """The graph of parts that speak of nodes by id, or by position where they have no ids."""
    count = edges.num_nodes
    home = edges.path  # the file that says which nodes there are
    if features is not None:
        count, home = features.values.shape[0], features.path
    elif count is None and labels is not None and labels.ids is None:
        count, home = len(labels.values), labels.path
    mentioned = [edges.source, edges.target, *([] if labels is None or labels.ids is None else [labels.ids])]
    named = None if features is None else features.ids
    nodes = nodes_of(named, count, mentioned)
    lacking = f"has no row in {home}"
    if named is None:
        lacking += f", whose {count} rows are the nodes 0 to {len(nodes) - 1}"
    drop_edges, drop_label = (f"{lacking}; add its row or drop its {mention}" for mention in ("edges", "label"))
    source, target = (positions(ends, nodes, f"{edges.path}: node", drop_edges) for ends in (edges.source, edges.target))
    y = None
    if labels is not None:
        y = labels.values
        if labels.ids is not None:
            rows = positions(labels.ids, nodes, f"{labels.path}: labelled node", drop_label)
            y = spread(y, rows, len(nodes))
        if len(y) != len(nodes):
            raise ValueError(f"{labels.path} has {len(y)} labels for {len(nodes)} nodes; give one per node, -1 where unknown")
    node_ids = ids_to_numpy(nodes)
    if features is None:
        return featureless(source, target, len(nodes), y=y, node_ids=node_ids, name=name)
    return Graph.from_edges(source, target, x=features.values, y=y, node_ids=node_ids, name=name)


# One reader a kind of content


def _read_edges(path: Path) -> _Edges:
    kind = kind_of(path)
    if kind in TABLES:
        return _table_edges(path, edge_columns(path, kind))
    arrays = read_arrays(path, kind, ("edge_index", "source", "target"))
    if sp.issparse(arrays.get("edge_index")):
        return _adjacency_edges(path, arrays["edge_index"])
    source, target = _ends(path, arrays)
    if len(source) != len(target) or len(source) == 0:
        raise ValueError(f"{path} has {len(source)} sources and {len(target)} targets; give one of each per edge")
    source, target = (parsed(as_ids(np.ascontiguousarray(ends), str(path))) for ends in (source, target))
    return _Edges(path, source, target)


def _table_edges(path: Path, columns: dict[str, Any]) -> _Edges:
    if "weight" in columns:
        _warn_of_weights(columns["weight"].unique().to_pylist(), path)
    source, target = (parsed(as_ids(columns[end], f"{path}, {end}")) for end in ("source", "target"))
    return _Edges(path, source, target)


def _ends(path: Path, arrays: dict[str, Array]) -> tuple[Array, Array]:
    """Sources and targets of an edge_index, or of two arrays of these names."""
    if "edge_index" not in arrays:
        missing = [end for end in ("source", "target") if end not in arrays]
        if missing:
            raise ValueError(f"{path} has no array {missing[0]!r}; save it with source= and target=, or with edge_index=")
        return arrays["source"].ravel(), arrays["target"].ravel()
    pair = arrays["edge_index"]
    if pair.ndim != 2 or 2 not in pair.shape:
        raise ValueError(f"{path} has shape {pair.shape}; edges need shape (m, 2) or (2, m)")
    return (pair[0], pair[1]) if pair.shape[0] == 2 else (pair[:, 0], pair[:, 1])


def _adjacency_edges(path: Path, matrix: Any) -> _Edges:
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{path} has shape {matrix.shape}; an adjacency matrix must be square")
    entries = matrix.tocoo()
    stored = entries.data != 0  # an explicit zero is no edge
    _warn_of_weights(np.unique(entries.data[stored]).tolist(), path)
    source, target = (as_ids(ends[stored], str(path)) for ends in entries.coords)
    return _Edges(path, source, target, matrix.shape[0])


def _warn_of_weights(distinct: Iterable[Any], path: Path) -> None:
    if not {str(weight) for weight in distinct} <= {"1", "1.0", "True"}:  # CSV cells are text
        warnings.warn(f"{path}: edge weights are ignored; all edges count alike", LocalGCLWarning, stacklevel=5)


def _read_features(path: Path) -> _Rows:
    """Features are a float32 matrix or a scipy sparse one."""
    kind = kind_of(path)
    if kind in TABLES:
        table = id_table(path, kind, pa.float32())
        ids = _id_column(table, path)
        x: Any = _matrix(table, ids, path)
    else:
        ids, x = None, read_arrays(path, kind, ("x",))["x"]
        if x.dtype.kind not in "biuf" or x.ndim not in (1, 2) or 0 in x.shape:
            raise ValueError(f"{path} has shape {x.shape} and type {x.dtype}; features are numbers, one row per node")
        with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, and is refused as such
            x = x.astype(np.float32)
        x = x[:, None] if x.ndim == 1 else x
    _check_finite(x, ids, path)
    return _Rows(path, ids, x)


def _read_labels(path: Path) -> _Rows:
    """Labels are int64 class numbers, -1 where unknown."""
    kind = kind_of(path)
    if kind in TABLES:
        table = id_table(path, kind, pa.string())
        if table.num_columns != 2:
            raise ValueError(f"{path} has the columns {listed(table.column_names)}; labels need two: id and label")
        ids = _id_column(table, path)
        column = table.column(1).combine_chunks()
        column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        row = first_empty(column)
        if row is not None:
            raise ValueError(f"{path}: the label of node {_name(ids, row)!r} is empty; write -1 or drop the row")
        return _Rows(path, ids, _class_numbers(column.to_numpy(zero_copy_only=False), ids, path))
    y = read_arrays(path, kind, ("y",))["y"]
    if sp.issparse(y) or y.squeeze().ndim > 1 or y.size == 0:
        raise ValueError(f"{path} has shape {y.shape}; labels need shape (n,), one class number per node")
    return _Rows(path, None, _class_numbers(y.ravel(), None, path))


def _id_column(table: Any, path: Path) -> Ids:
    """The ids in the first column, each once."""
    ids = parsed(as_ids(table.column(0), f"{path}, column {table.column_names[0]!r}"))
    twice = repeated(ids)
    if twice is not None:
        raise ValueError(f"{path}: node {twice[0]!r} has {twice[1]} rows; keep one row per node")
    return ids


def _name(ids: Ids | None, row: int) -> Any:
    """What to call the node of a row."""
    return row if ids is None else ids[row].as_py()


def _matrix(table: Any, ids: Ids, path: Path) -> Array:
    """All columns but the first as float32."""
    if table.num_columns < 2:
        raise ValueError(f"{path} has only the column {table.column_names[0]!r}; give the id first, then the features")
    x = np.empty((table.num_rows, table.num_columns - 1), dtype=np.float32)
    for j, (name, column) in enumerate(zip(table.column_names[1:], table.columns[1:], strict=True)):
        if column.null_count:
            row = pc.index(column.is_null(), True).as_py()
            raise ValueError(f"{path}: column {name!r} is empty for node {_name(ids, row)!r}; fill it in or drop the row")
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)):
            raise ValueError(f"{path}: column {name!r} is of type {column.type}; features are numbers: encode or drop it")
        with np.errstate(over="ignore"):  # as above
            x[:, j] = column.to_numpy()
    return x


def _check_finite(x: Any, ids: Ids | None, path: Path) -> None:
    if isinstance(x, sp.csr_array):
        entries: Any = x.tocoo()
        wrong = entries.coords[0][~np.isfinite(entries.data)]
    else:
        wrong = np.flatnonzero(~np.isfinite(x).all(axis=1))
    if wrong.size:
        node = _name(ids, int(wrong.min()))
        raise ValueError(f"{path}: node {node!r} has a feature that is NaN or infinite; fill or drop it")


def _class_numbers(values: Array, ids: Ids | None, path: Path) -> Array:
    """Labels as int64; ValueError names the first that is not a class number or -1."""
    classes, where = np.unique(values if values.dtype.kind in "biuf" else values.astype(str), return_inverse=True)
    y = np.array([_class_number(value) for value in classes.tolist()])[where]
    wrong = np.flatnonzero(y < -1)
    if wrong.size:
        node, value = _name(ids, int(wrong[0])), classes[where[wrong[0]]].item()
        raise ValueError(
            f"{path}: the label of node {node!r} is {value!r}, not a class number; number the classes 0, 1, 2... (-1: unknown)"
        )
    return y


def _class_number(value: Any) -> int:
    """The integer that a number or a text stands for; -2 if it is none."""
    try:
        number = float(value)
    except ValueError:
        return -2
    return int(number) if -1 <= number < 2**63 and number.is_integer() else -2
