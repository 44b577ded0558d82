"""Your own files -> Graph: edges, features and labels, matched by node id.

formats.py decodes the files, columns.py reads their tables, ids.py matches the ids.
"""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

from localgcl.graph import Graph
from localgcl.graph.edges import as_weights
from localgcl.graph.prepare import featureless
from localgcl.io.cells import NUMBER, cells_of, kind_of_cells
from localgcl.io.columns import check_finite, edge_of, edges_of, features_of, labels_of, refuse_texts, with_id_first
from localgcl.io.damage import check_expansion
from localgcl.io.encode import Column, as_encoding, fit_column
from localgcl.io.formats import TABLES, edge_table, id_table, kind_of, read_arrays
from localgcl.io.ids import Edges, Rows, as_ids, join
from localgcl.io.labels import read_labels
from localgcl.io.libraries import from_matrix
from localgcl.io.numpy_files import holds_sparse_matrix, member_names, read_npz
from localgcl.io.roles import DEFAULT, Columns, refuse_weight_name, warn_of_unused, weight_name
from localgcl.system.text import shown

_NODE_BYTES = 1024
"""Approximate bytes of an isolated node: its id and its structural features. A sparse matrix can declare any number."""

PathLike = str | os.PathLike[str]
Array = NDArray[Any]


def read_graph(
    edges: PathLike,
    *,
    features: PathLike | None = None,
    labels: PathLike | None = None,
    name: str = "",
    weight: str | None = None,
    source: str | None = None,
    target: str | None = None,
    id: str | None = None,
    drop: Sequence[str] | None = None,
    encode: Any = None,
) -> Graph:
    """Reads a graph from files; the extension of each file says its format. O(|V| f + |E|).

    Nodes may have any ids, integers or text. Ids are read as integers if they look so in all files, else as text, so
    that 7 in one file and "7" in another are the same node. Nodes come in the order of the rows of `features`; without
    features, in the order of their sorted ids. Edges are kept as given: directed, with repeats and loops.

    Args:
        edges: CSV or TSV (also gzipped) or Parquet with the columns `source` and `target`, anywhere and in any case;
            a CSV of exactly two columns whose first row is two integers is read as having no header. NPY of shape
            (m, 2) or (2, m); an array of shape (2, 2) is read as (2, m). NPZ with `source` and `target`, with
            `edge_index`, or written by `scipy.sparse.save_npz`. The values of a matrix that are not 1 are edge weights.
            A warning names columns and arrays that are not used.
        features: CSV, TSV or Parquet: the id first (Parquet from pandas: or in a named or textual index), then
            numbers. NPY, NPZ with `x`, or a scipy sparse NPZ: one row for each of the nodes 0..n-1. Without features,
            structural ones are computed from the edges, with a warning.
        labels: CSV, TSV or Parquet: id and class, a number or text; nodes that are not named and empty cells get -1. NPY or
            NPZ with `y`: one label per node, in node order. Classes that are text are numbered in the order of their names,
            which become `class_names`.
        name: Name of the graph; the name of the edge file when not given.
        weight: The column, or array of an NPZ file, that holds edge weights, in any case. When not given it is `weight`, if
            there is one; "" reads no weights. Weights are finite and not negative; edges of weight 0 are left out, with a
            warning.
        source: The column (in any case), or array of an NPZ file, of the nodes that edges leave; `source` when not given.
        target: The same of the nodes that they enter; `target` when not given.
        id: The column of node ids in `features` and `labels`, in any case; the first one when not given.
        drop: Columns of `features` to leave out.
        encode: "auto" turns columns of booleans, dates and categories, and empty cells, into numbers (see `io.encode`), and
            keeps how in `Graph.encoding`. That, or the file encoding.json of a run, encodes other files in the same way.

    Raises:
        FileNotFoundError: A file does not exist.
        ValueError: A file cannot be read or the files do not fit each other; the message says where and what to do.
    """
    columns = Columns(source, target, id, None if drop is None else tuple(drop), as_encoding(encode))
    if features is None and (drop or encode is not None):
        raise ValueError("drop and encode are for columns of features, and none are given; leave them out (--drop, --encode)")
    edge_part = read_edges(Path(edges), weight, columns)
    rows = None if features is None else read_features(Path(features), columns)
    classes = None if labels is None else read_classes(Path(labels), columns)
    return joined_graph(edge_part, rows, classes, name or graph_name(edges))


def joined_graph(edges: Edges, rows: Rows | None, classes: Rows | None, name: str) -> Graph:
    """The graph of parts that were read, matched by node id; ValueError if they do not fit each other."""
    joined = join(edges, rows, classes)
    known: dict[str, Any] = {"y": joined.y, "node_ids": joined.node_ids, "weights": edges.weights, "name": name}
    known["class_names"] = None if classes is None else classes.names
    if rows is None:
        return featureless(
            joined.source, joined.target, len(joined.node_ids), stacklevel=4, **known
        )  # names read_graph's caller
    # No copy: the matrix was made here.
    graph = Graph.from_edges(joined.source, joined.target, x=rows.values, feature_names=rows.names, copy=False, **known)
    return graph if rows.encoding is None else graph.derived(encoding=rows.encoding.to_dict())


def graph_name(edges: PathLike) -> str:
    """What to call the graph of an edge file: its name up to the extension.

    Example:
        >>> graph_name("data/people.csv.gz"), graph_name("..csv")
        ('people', 'graph')
    """
    *parts, last = Path(edges).name.split(".")
    return next((part for part in parts or [last] if part.strip()), "graph")


def read_edges(path: Path, weight: str | None, columns: Columns = DEFAULT) -> Edges:
    """Both ends of every edge in a file, and their weights."""
    kind, place = kind_of(path), shown(path)
    if kind in TABLES:
        return edges_of(edge_table(path, kind, columns), place, parse_ids=True, weight=weight, columns=columns)
    names = member_names(path, place) if kind == ".npz" else []
    if columns.names_ends and (kind == ".npy" or holds_sparse_matrix(names)):
        raise ValueError(f"{place} has no columns to name with source= and target= (--source, --target); leave them out")
    if holds_sparse_matrix(names):
        refuse_weight_name(weight, f"the matrix in {place}")
        matrix = read_arrays(path, kind, ("edge_index",))["edge_index"]
        nodes = matrix.shape[0]
        check_expansion(_NODE_BYTES * nodes, path.stat().st_size, place, f"as CSR if the graph has {nodes:,} nodes")
        parts = from_matrix(matrix, place)
        source, target = (as_ids(ends, place) for ends in (parts.source, parts.target))
        weights = None
        if weight is None:
            weights = as_weights(parts.weights, len(source), edge_of(source, target), place)
        return Edges(place, source, target, nodes, weights)
    return _array_edges(path, kind, names, weight, columns)


def _array_edges(path: Path, kind: str, names: list[str], weight: str | None, columns: Columns) -> Edges:
    """Edges, and their weights, in an NPY file or in the arrays `names` of an NPZ file."""
    place = shown(path)
    wanted = columns.ends if columns.names_ends else ("edge_index", *columns.ends)
    others = [name for name in names if name not in wanted]
    held = weight_name(others, weight, place)
    source, target = _ends(place, read_arrays(path, kind, wanted), columns)
    if len(source) != len(target) or len(source) == 0:
        raise ValueError(f"{place} has {len(source)} sources and {len(target)} targets; give one of each per edge")
    source, target = (as_ids(np.ascontiguousarray(ends), place, parse=True) for ends in (source, target))
    given = None if held is None else read_npz(path, place, (held,))[held]
    weights = None if given is None else as_weights(given, len(source), edge_of(source, target), place)
    # One archive may hold the whole graph.
    warn_of_unused([name for name in others if name not in (held, "x", "y")], place, weighted=held is not None)
    return Edges(place, source, target, weights=weights)


def _ends(place: str, arrays: dict[str, Array], columns: Columns) -> tuple[Array, Array]:
    """Sources and targets, from an `edge_index` or from two arrays of these names."""
    if "edge_index" not in arrays:
        missing = [end for end in columns.ends if end not in arrays]
        if missing:
            raise ValueError(f"{place} has no array {missing[0]!r:.80}; save it with source= and target=, or with edge_index=")
        source, target = columns.ends
        return arrays[source].ravel(), arrays[target].ravel()
    pair = arrays["edge_index"]
    if pair.ndim != 2 or 2 not in pair.shape:
        raise ValueError(f"{place} has shape {pair.shape}; edges need shape (m, 2) or (2, m)")
    return (pair[0], pair[1]) if pair.shape[0] == 2 else (pair[:, 0], pair[:, 1])


def read_features(path: Path, columns: Columns = DEFAULT) -> Rows:
    """Features as a float32 matrix, dense or sparse."""
    kind, place = kind_of(path), shown(path)
    if kind in TABLES:
        return features_of(_feature_table(path, kind, columns), place, parse_ids=True, columns=columns)
    if columns.encode is not None or columns.drop:
        raise ValueError(f"{place} has no columns to encode or drop; leave encode and drop out (--encode, --drop)")
    return Rows(place, None, finite_floats(as_matrix(read_arrays(path, kind, ("x",))["x"], place), place))


def as_matrix(x: Any, place: str) -> Any:
    """An array of features with one row per node; ValueError if it holds no numbers."""
    if x.dtype.kind not in "biuf" or x.ndim not in (1, 2) or 0 in x.shape:
        raise ValueError(f"{place} has shape {x.shape} and type {x.dtype}; features are numbers, one row per node")
    return x[:, None] if x.ndim == 1 else x


def finite_floats(x: Any, place: str, first: int = 0) -> Any:
    """Features of the nodes from `first` as float32; ValueError, naming the node, if one is NaN or infinite."""
    with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite
        x = x.astype(np.float32)
    check_finite(x, place, range(first, first + x.shape[0]))
    return x


def _feature_table(path: Path, kind: str, columns: Columns) -> Any:
    """The table of features; where cells are no numbers, ValueError names all columns that have such cells."""
    if columns.encode is not None:
        return id_table(path, kind, pa.string(), columns)
    try:
        return id_table(path, kind, pa.float32(), columns)
    except ValueError:
        if kind != ".parquet":
            refuse_texts(id_table(path, kind, pa.string(), columns), shown(path), columns)
        raise


def read_classes(path: Path, columns: Columns = DEFAULT) -> Rows:
    """Labels as int64 class numbers, -1 where unknown."""
    kind, place = kind_of(path), shown(path)
    if kind in TABLES:
        return labels_of(id_table(path, kind, pa.string(), columns), place, parse_ids=True, id=columns.id)
    return Rows(place, None, *read_labels(label_values(path, kind), place))


def label_values(path: Path, kind: str) -> Array:
    """The labels or targets in a NumPy file; ValueError if they are a sparse matrix."""
    y: Any = read_arrays(path, kind, ("y",))["y"]
    if isinstance(y, sp.csr_array):
        raise ValueError(
            f"{shown(path)} is a sparse matrix of shape {y.shape}; labels need shape (n,), one class number per node"
        )
    return np.asarray(y)


@dataclasses.dataclass(frozen=True)
class ColumnFacts:
    """A column of a table of features.

    Args:
        name: Its name.
        kind: number, boolean, date, category, perhaps how they are written (number like 1,234.5);
            or the type of other cells.
        missing: Number of empty cells.
        distinct: Number of distinct values, missing ones aside.
        features: Number of features that `encode="auto"` makes of it; 0 if it cannot, or is left out.
        refused: Why it cannot be encoded; empty if it can.
        dropped: Whether the user leaves it out.
        plain: Whether it can be read without encoding: numbers without empty cells.
    """

    name: str
    kind: str
    missing: int
    distinct: int
    features: int
    refused: str = ""
    dropped: bool = False
    plain: bool = False


def describe_columns(path: Path, columns: Columns) -> list[ColumnFacts]:
    """The columns of a feature file without the ids; empty for arrays, whose columns are all numbers.

    Raises:
        ValueError: The file cannot be read, or has no such id column.
    """
    kind, place = kind_of(path), shown(path)
    if kind not in TABLES:
        return []
    table = with_id_first(id_table(path, kind, pa.string(), columns), columns.id, place)
    dropped = columns.drop or ()
    pairs = zip(table.column_names[1:], table.columns[1:], strict=True)  # a name may occur twice
    return [_described(name, cells_of(column), name in dropped) for name, column in pairs]


def _described(name: str, cells: Any, dropped: bool) -> ColumnFacts:
    kind, fitted = kind_of_cells(cells), fit_column(name, cells)
    refused = fitted if isinstance(fitted, str) else ""
    return ColumnFacts(
        name=name,
        kind=fitted.description if isinstance(fitted, Column) else kind or str(cells.type)[:40],
        missing=cells.null_count,
        distinct=len(cells.drop_null().unique()) if kind is not None else 0,
        features=len(fitted.features) if isinstance(fitted, Column) and not dropped else 0,
        refused=refused,
        dropped=dropped,
        plain=kind == NUMBER and not cells.null_count and not (isinstance(fitted, Column) and fitted.form),
    )
