"""Your own files -> Graph: edges, features and labels from CSV, TSV, Parquet, NPY and NPZ, matched by node id.

First the three readers that users call, then how ids are matched, then one small reader a format. Every complaint about
a file is one line that names the file, the place in it and the way out.
"""

import csv
import gzip
import os
import re
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
import scipy.sparse as sp
from numpy.typing import NDArray

from localgcl.config import LocalGCLWarning
from localgcl.graph import Graph
from localgcl.preparation import featureless

PathLike = str | os.PathLike[str]
Array = NDArray[Any]

_TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
_BROKEN = (OSError, EOFError, KeyError, MemoryError, SyntaxError, UnicodeError, ValueError, zipfile.BadZipFile, zlib.error)
"""What numpy, scipy, gzip and pyarrow raise for a truncated or corrupt file (pyarrow's errors are OSError or ValueError)."""


_LONGEST_ROW = 1 << 24  # bytes of a row of a CSV file


class _Edges(NamedTuple):
    source: Any  # ids, as a pyarrow array
    target: Any
    num_nodes: int = 0  # 0: not known from the edges


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
        features: CSV, TSV or Parquet: the id first, then numbers. NPY, NPZ with `x`, or a scipy sparse NPZ: one row
            for each of the nodes 0..n-1. Without features, structural ones are computed from the edges, with a warning.
        labels: CSV, TSV or Parquet: id and class number; nodes that are not named get -1. NPY or NPZ with `y`: one
            label per node, in node order.
        name: What to call the graph; the name of the edge file when not given.

    Raises:
        FileNotFoundError: A file does not exist.
        ValueError: A file cannot be read or the files do not fit each other; the message says where and what to do.
    """
    edge_path = Path(edges)
    ends = _read_edges(edge_path)
    x = y = ids = label_ids = None
    if features is not None:
        ids, x = _read_features(Path(features))
    if labels is not None:
        label_ids, y = _read_labels(Path(labels))
    places = (str(edges), str(features), str(labels))
    return _join(ends, ids, x, label_ids, y, name or edge_path.name.split(".")[0], places)


def read_embeddings(path: PathLike) -> tuple[Array | None, Array]:
    """Reads ids and float32 rows of an embeddings file: CSV, TSV or Parquet with the id first; NPY or NPZ has no ids."""
    ids, z = _read_features(Path(path))
    if sp.issparse(z) or z.ndim != 2:
        raise ValueError(f"{path} has no table of embeddings; give one dense row per node")
    if ids is None:
        _check_finite(z, np.arange(len(z)), str(path))
        return None, z
    _check_unique(ids, str(path))
    return _ids_to_numpy(ids), z


def read_labels(path: PathLike) -> tuple[Array | None, Array]:
    """Reads ids and int64 class numbers (-1: unknown) of a labels file; NPY and NPZ have no ids."""
    ids, y = _read_labels(Path(path))
    if ids is None:
        return None, y
    _check_unique(ids, str(path))
    return _ids_to_numpy(ids), y


# Matching ids


def _join(edges: _Edges, ids: Any, x: Any, label_ids: Any, y: Array | None, name: str, places: tuple[str, str, str]) -> Graph:
    """The graph of parts that speak of nodes by id, or by position where `ids` or `label_ids` are None."""
    edges_at, features_at, labels_at = places
    if ids is not None:
        _check_unique(ids, features_at)
        nodes, lacking = ids, f"has no row in {features_at}; add its row"
    elif x is not None or edges.num_nodes or (y is not None and label_ids is None):
        # Something has one row per node, so nodes are its positions: isolated ones at the end count too.
        n, at = (x.shape[0], features_at) if x is not None else (edges.num_nodes, edges_at)
        n, at = (n, at) if n or y is None else (len(y), labels_at)
        nodes, lacking = pa.array(np.arange(n)), f"has no row in {at}, whose {n} rows are the nodes 0 to {n - 1}; add its row"
    else:
        nodes = _sorted_unique([edges.source, edges.target, *([] if label_ids is None else [label_ids])])
        lacking = "is not a node"
    source = _find(edges.source, nodes, f"{edges_at}: node", f"{lacking} or drop its edges")
    target = _find(edges.target, nodes, f"{edges_at}: node", f"{lacking} or drop its edges")
    if y is not None and label_ids is not None:
        _check_unique(label_ids, labels_at)
        given, y = y, np.full(len(nodes), -1)
        y[_find(label_ids, nodes, f"{labels_at}: labelled node", f"{lacking} or drop its label")] = given
    if y is not None and len(y) != len(nodes):
        raise ValueError(f"{labels_at} has {len(y)} labels for {len(nodes)} nodes; give one per node, -1 where unknown")
    node_ids = _ids_to_numpy(nodes)
    if x is None:
        return featureless(source, target, len(node_ids), y=y, node_ids=node_ids, name=name)
    _check_finite(x, node_ids, features_at)
    return Graph.from_edges(source, target, x=x, y=y, node_ids=node_ids, name=name)


def _id_column(values: Any, place: str) -> Any:
    """Node ids as a pyarrow array of int64, or of text if any is not a plain integer ("007" and "1e3" are text)."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else pa.array(values)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_boolean(array.type) or pa.types.is_nested(array.type):
        raise ValueError(f"{place}: node ids are of type {array.type}; use integers or text, in the first column")
    if pa.types.is_floating(array.type):
        try:
            array = array.cast(pa.int64())
        except pa.ArrowInvalid:
            wrong = next(value for value in array.to_pylist() if value is not None and not float(value).is_integer())
            raise ValueError(f"{place}: node id {wrong!r} is no integer; use integers or text, in the first column") from None
    array = array.cast(pa.large_string()) if not pa.types.is_integer(array.type) else array
    text = pa.types.is_large_string(array.type)
    row = pc.index(pc.fill_null(pc.equal(array, ""), True) if text else array.is_null(), True).as_py()
    if row >= 0:
        raise ValueError(f"{place}: the node id in data row {row + 1} is empty; fill it in or drop the row")
    try:
        numbers = array.cast(pa.int64())
    except pa.ArrowInvalid:  # text, or beyond 64 bits
        return array.cast(pa.large_string())
    return numbers if not text or numbers.cast(pa.large_string()).equals(array) else array


def _ids_to_numpy(ids: Any) -> Array:
    array: Array = ids.to_numpy(zero_copy_only=False)
    return array if array.dtype == np.int64 else array.astype(str)


def _alike(columns: Sequence[Any]) -> list[Any]:
    """The columns as integers if all of them are, else all as text."""
    if all(pa.types.is_int64(column.type) for column in columns):
        return list(columns)
    return [column.cast(pa.large_string()) for column in columns]


def _sorted_unique(columns: Sequence[Any]) -> Any:
    every = pa.chunked_array(_alike(columns)).unique()
    return every.take(pc.sort_indices(every))


def _check_unique(ids: Any, place: str) -> None:
    if len(ids.unique()) != len(ids):
        counts = ids.value_counts()
        first = counts.filter(pc.greater(counts.field("counts"), 1))[0].as_py()
        raise ValueError(f"{place}: node {first['values']!r} has {first['counts']} rows; keep one row per node")


def _find(ids: Any, nodes: Any, subject: str, complaint: str) -> Array:
    """Position in `nodes` of each id; ValueError names the first that is not there and counts the others."""
    wanted, known = _alike([ids, nodes])
    positions = pc.index_in(wanted, value_set=known)
    if positions.null_count:
        missing = wanted.filter(positions.is_null()).unique()
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise ValueError(f"{subject} {missing[0].as_py()!r}{more} {complaint}")
    return np.asarray(positions.to_numpy(zero_copy_only=False), dtype=np.int64)


def _check_finite(x: Any, node_ids: Array, place: str) -> None:
    sparse = bool(sp.issparse(x))
    entries: Any = sp.coo_array(x) if sparse else None
    finite = np.isfinite(x if entries is None else entries.data)
    if not finite.all():
        row = np.flatnonzero(~finite.all(axis=1))[0] if entries is None else entries.coords[0][~finite].min()
        raise ValueError(f"{place}: node {node_ids[row].item()!r} has a feature that is NaN or infinite; fill or drop it")


def _class_numbers(values: Array, ids: Any, place: str) -> Array:
    """Labels as int64; ValueError names the first that is not a class number or -1."""
    classes, where = np.unique(values if values.dtype.kind in "biuf" else values.astype(str), return_inverse=True)
    numbers = np.full(len(classes), -2, dtype=np.int64)
    for i, value in enumerate(classes.tolist()):
        try:
            number = float(value)
        except ValueError:
            continue
        if number >= -1 and number.is_integer():
            numbers[i] = int(number)
    wrong = np.flatnonzero(numbers[where] < -1)
    if wrong.size:
        node = int(wrong[0]) if ids is None else ids[int(wrong[0])].as_py()
        value = classes[where[wrong[0]]].item()
        raise ValueError(
            f"{place}: the label of node {node!r} is {value!r}, not a class number; number the classes 0, 1, 2... (-1: unknown)"
        )
    return numbers[where]


# One reader a kind of content


def _read_edges(path: Path) -> _Edges:
    kind = _kind(path, (*_TABLES, ".npy", ".npz"))
    if kind in _TABLES:
        table = _edge_table(path, kind)
        names = [str(column).strip().lower() for column in table.column_names]
        if "weight" in names:
            _warn_of_weights(table.column(names.index("weight")).unique().to_pylist(), path)
        columns = (table.column(names.index(end)) for end in ("source", "target"))
        source, target = (_id_column(c, f"{path}, {end}") for c, end in zip(columns, ("source", "target"), strict=True))
        return _Edges(source, target)
    loaded: Any = _load_npy(path) if kind == ".npy" else _load_npz(path, ("edge_index", "source", "target"))
    sparse = bool(sp.issparse(loaded))
    if sparse:
        if loaded.shape[0] != loaded.shape[1]:
            raise ValueError(f"{path} has shape {loaded.shape}; an adjacency matrix must be square")
        entries = loaded.tocoo()
        stored = entries.data != 0
        _warn_of_weights(np.unique(entries.data[stored]).tolist(), path)
        source, target = (_id_column(ends[stored].astype(np.int64), str(path)) for ends in entries.coords)
        return _Edges(source, target, loaded.shape[0])
    if isinstance(loaded, dict):
        missing = [end for end in ("source", "target") if "edge_index" not in loaded and end not in loaded]
        if missing:
            raise ValueError(f"{path} has no array {missing[0]!r}; save it with source= and target=, or with edge_index=")
        pair = loaded["edge_index"] if "edge_index" in loaded else [loaded["source"].ravel(), loaded["target"].ravel()]
    else:
        pair = loaded
    if not isinstance(pair, list):
        if pair.ndim != 2 or 2 not in pair.shape:
            raise ValueError(f"{path} has shape {pair.shape}; edges need shape (m, 2) or (2, m)")
        pair = list(pair if pair.shape[0] == 2 else pair.T)
    if len(pair[0]) != len(pair[1]) or not len(pair[0]):
        raise ValueError(f"{path} has {len(pair[0])} sources and {len(pair[1])} targets; give one of each per edge")
    source, target = (_id_column(np.ascontiguousarray(ends), str(path)) for ends in pair)
    return _Edges(source, target)


def _read_features(path: Path) -> tuple[Any, Any]:
    """Ids (None: by position) and features: a float32 matrix or a scipy sparse one."""
    kind = _kind(path, (*_TABLES, ".npy", ".npz"))
    if kind in _TABLES:
        table = _id_table(path, kind, pa.float32())
        ids = _id_column(table.column(0), f"{path}, column {table.column_names[0]!r}")
        x = _matrix(table, ids, path)
        _check_finite(x, _ids_to_numpy(ids), str(path))
        return ids, x
    loaded: Any = _load_npy(path) if kind == ".npy" else _load_npz(path, ("x",))
    x = loaded["x"] if isinstance(loaded, dict) else loaded
    if x.dtype.kind not in "biuf" or x.ndim not in (1, 2) or 0 in x.shape:
        raise ValueError(f"{path} has shape {x.shape} and type {x.dtype}; features are numbers, one row per node")
    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, and is refused as such
        x = x.astype(np.float32)
    return None, x[:, None] if x.ndim == 1 else x


def _read_labels(path: Path) -> tuple[Any, Array]:
    kind = _kind(path, (*_TABLES, ".npy", ".npz"))
    if kind in _TABLES:
        table = _id_table(path, kind, pa.string())
        if table.num_columns != 2:
            raise ValueError(f"{path} has the columns {_listed(table.column_names)}; labels need two: id and label")
        ids = _id_column(table.column(0), f"{path}, column {table.column_names[0]!r}")
        column = table.column(1).combine_chunks()
        column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        empty = pc.fill_null(pc.equal(column, ""), True) if text else column.is_null()
        row = pc.index(empty, True).as_py()
        if row >= 0:
            raise ValueError(f"{path}: the label of node {ids[row].as_py()!r} is empty; write -1 or drop the row")
        return ids, _class_numbers(column.to_numpy(zero_copy_only=False), ids, str(path))
    loaded: Any = _load_npy(path) if kind == ".npy" else _load_npz(path, ("y",))
    y = loaded["y"] if isinstance(loaded, dict) else loaded
    if sp.issparse(y) or y.squeeze().ndim > 1 or y.size == 0:
        raise ValueError(f"{path} has shape {y.shape}; labels need shape (n,), one class number per node")
    return None, _class_numbers(y.ravel(), None, str(path))


def _matrix(table: Any, ids: Any, path: Path) -> Array:
    """All columns but the first as float32."""
    if table.num_columns < 2:
        raise ValueError(f"{path} has only the column {table.column_names[0]!r}; give the id first, then the features")
    x = np.empty((table.num_rows, table.num_columns - 1), dtype=np.float32)
    for j, (name, column) in enumerate(zip(table.column_names[1:], table.columns[1:], strict=True)):
        if column.null_count:
            row = pc.index(column.is_null(), True).as_py()
            raise ValueError(f"{path}: column {name!r} is empty for node {ids[row].as_py()!r}; fill it in or drop the row")
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)):
            raise ValueError(f"{path}: column {name!r} is of type {column.type}; features are numbers: encode or drop it")
        with np.errstate(over="ignore"):  # as above
            x[:, j] = column.to_numpy()
    return x


def _warn_of_weights(distinct: Sequence[Any], path: Path) -> None:
    if not {str(weight) for weight in distinct} <= {"1", "1.0", "True"}:  # CSV cells are text
        warnings.warn(f"{path}: edge weights are ignored; all edges count alike", LocalGCLWarning, stacklevel=4)


# One reader a format


def _kind(path: Path, known: Sequence[str]) -> str:
    """The extension that says how to read `path`, once it is sure that there is something to read."""
    lower = path.name.lower()
    kind = next((extension for extension in known if lower.endswith(extension)), None)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; check the path")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it")
    if kind is None:
        raise ValueError(f"{path} has the extension {path.suffix!r}; known are {', '.join(known)}")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty; write it again")
    return kind


def _edge_table(path: Path, kind: str) -> Any:
    if kind == ".parquet":
        table = _read_parquet(path)
        _check_edge_columns(table.column_names, path)
        return table
    header = _first_row(path, kind)
    if len(header) == 2 and all(re.fullmatch(r"-?\d+", cell) for cell in header):
        return _read_csv(path, kind, ["source", "target"], [pa.string()] * 2, skip=0)
    _check_edge_columns(header, path)
    return _read_csv(path, kind, header, [pa.string()] * len(header), skip=1)


def _check_edge_columns(columns: Sequence[str], path: Path) -> None:
    if not {"source", "target"} <= {column.strip().lower() for column in columns}:
        raise ValueError(
            f"{path} has the columns {_listed(columns)}; edges need the columns 'source' and 'target': "
            "rename them, or add the header line source,target"
        )


def _id_table(path: Path, kind: str, value_type: Any) -> Any:
    """A table whose first column is the node id."""
    if kind == ".parquet":
        return _index_first(_read_parquet(path))
    header = _first_row(path, kind)
    if _looks_like_data(header):
        raise ValueError(f"{path}: the first row ({_listed(header)}) looks like data; add a header line such as id,a,b")
    return _read_csv(path, kind, header, [pa.string(), *[value_type] * (len(header) - 1)], skip=1)


def _looks_like_data(row: Sequence[str]) -> bool:
    """Whether a would-be header is numbers; 'id,0,1,2' or ',0,1,2', as pandas writes it, is still a header."""
    numbers = [re.fullmatch(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", cell) is not None for cell in row]
    counted = [cell.strip() for cell in row[1:]] in ([str(i + start) for i in range(len(row) - 1)] for start in (0, 1))
    return len(row) > 1 and all(numbers[1:]) and (numbers[0] or not counted)


def _first_row(path: Path, kind: str) -> list[str]:
    try:
        with gzip.open(path, "rb") if kind.endswith(".gz") else path.open("rb") as file:
            line = file.readline(_LONGEST_ROW).decode("utf-8-sig")
        row = next(csv.reader([line], delimiter="\t" if kind.startswith(".tsv") else ","), [])
    except (*_BROKEN, csv.Error) as error:
        raise _unreadable(path, error) from error
    if not row:
        raise ValueError(f"{path} starts with an empty line; its first line must name the columns")
    return [cell.strip() for cell in row]


def _read_csv(path: Path, kind: str, header: Sequence[str], types: Sequence[Any], *, skip: int) -> Any:
    # Columns go by position, since headers may repeat a name; ids stay text until all files are known, lest pyarrow
    # reads "007" as 7 or a long id as a rounded double.
    columns = [str(i) for i in range(len(header))]
    convert = pyarrow.csv.ConvertOptions(column_types=dict(zip(columns, types, strict=True)), null_values=[""])
    parse = pyarrow.csv.ParseOptions(delimiter="\t" if kind.startswith(".tsv") else ",")

    def read(threads: bool) -> Any:
        # A block must hold a whole row, and rows of features can be long.
        options = pyarrow.csv.ReadOptions(column_names=columns, skip_rows=skip, use_threads=threads, block_size=_LONGEST_ROW)
        return pyarrow.csv.read_csv(path, read_options=options, parse_options=parse, convert_options=convert)

    try:
        table = read(True)
    except (pa.ArrowInvalid, OSError) as error:
        try:
            read(False)  # only one thread counts lines, for the message
        except (pa.ArrowInvalid, OSError) as located:
            raise _bad_cell(path, header, located) from error
        raise _unreadable(path, error) from error
    if table.num_rows == 0:
        raise ValueError(f"{path} has a header but no rows; write it again")
    trimmed = [pc.utf8_trim_whitespace(column) if pa.types.is_string(column.type) else column for column in table.columns]
    return pa.table(trimmed, names=list(header))


def _bad_cell(path: Path, header: Sequence[str], error: Exception) -> ValueError:
    """pyarrow's complaint about a CSV file in terms of lines and column names."""
    ragged = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", str(error))
    if ragged:
        line, expected, got = ragged.groups()
        return ValueError(f"{path}, line {line}: {got} cells where there should be {expected}; mend or drop the line")
    cell = re.search(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+): (.*)", str(error))
    if cell:
        column, line, kind, reason = cell.groups()
        advice = "save the file as UTF-8" if kind == "string" else "features are numbers: encode or drop the column"
        return ValueError(f"{path}, line {line}, column {header[int(column)]!r}: {reason}; {advice}")
    return _unreadable(path, error)


def _read_parquet(path: Path) -> Any:
    try:
        table = pyarrow.parquet.read_table(path)
    except (pa.ArrowException, *_BROKEN) as error:
        raise _unreadable(path, error) from error
    if table.num_rows == 0 or table.num_columns == 0:
        raise ValueError(f"{path} has no rows; write it again")
    return table


def _index_first(table: Any) -> Any:
    """Puts the index of a pandas frame, which Parquet keeps last, first; an unnamed one of integers is a mere counter."""
    index = [name for name in (table.schema.pandas_metadata or {}).get("index_columns", []) if isinstance(name, str)]
    counters = [n for n in index if n.startswith("__index_level_") and pa.types.is_integer(table.schema.field(n).type)]
    names = [name for name in index if name not in counters]
    return table.select(names + [name for name in table.column_names if name not in index]) if index else table


def _load_npy(path: Path) -> Array:
    try:
        loaded = np.load(path, allow_pickle=False)
    except _BROKEN as error:
        raise _unreadable(path, error) from error
    if not isinstance(loaded, np.ndarray):
        loaded.close()
        raise ValueError(f"{path} is an NPZ archive; rename it to end in .npz")
    return loaded


def _load_npz(path: Path, wanted: Sequence[str]) -> Any:
    """A scipy sparse matrix if the archive is one, else those of its arrays that are wanted, at least one."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            names = list(archive.files)
            if "format" in names and "shape" in names:
                return sp.csr_array(sp.load_npz(path))
            found = {name: archive[name] for name in wanted if name in names}
    except _BROKEN as error:
        raise _unreadable(path, error) from error
    if not found:
        raise ValueError(f"{path} has the arrays {_listed(names)}; it needs {' or '.join(wanted)}, or a scipy sparse matrix")
    return found


def _unreadable(path: Path, error: BaseException) -> ValueError:
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(". ")
    return ValueError(f"{path} cannot be read, it may be truncated or of another format ({reason}); write it again")


def _listed(names: Sequence[str]) -> str:
    """At most six names, quoted."""
    shown = ", ".join(repr(name) for name in names[:6])
    return shown if len(names) <= 6 else f"{shown}... ({len(names)} in all)"
