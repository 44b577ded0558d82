"""Graphs published as text: Chameleon, Squirrel and Actor with ten splits as masks, and ogbn-arxiv as gzipped tables."""

import functools
import gzip
import io
import re
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from localgcl.datasets.catalogue import CATALOGUE
from localgcl.datasets.readers import Reader
from localgcl.datasets.storage import RawFile
from localgcl.graph import Graph, Split
from localgcl.graph.arrays import matrix_of_parts
from localgcl.graph.prepare import with_structural_features
from localgcl.io.numpy_files import read_npz
from localgcl.system.text import shown

GEOM_GCN = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master"
NODES, EDGES = "out1_node_feature_label.txt", "out1_graph_edges.txt"
OGB = "http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"
FEATURES = "node-feat.csv.gz"


def read_geom_gcn(contents: Mapping[str, bytes], prefix: str, name: str, *, indexed: bool) -> Graph:
    """The directed graph with its self-loops; repeated edges are dropped.

    Args:
        contents: The two text files and the ten masks, by file name.
        prefix: What the names of the masks begin with.
        name: Name of the graph in the catalogue, whose counts the files must match.
        indexed: Whether the feature field lists the columns that are 1 (Actor) instead of one number per column.
    """
    shape = (CATALOGUE[name].nodes, CATALOGUE[name].features)
    ids, x, y = _indexed_nodes(contents[NODES], shape) if indexed else _dense_nodes(contents[NODES])
    if x.shape != shape or not np.array_equal(np.sort(ids), np.arange(shape[0])):
        raise ValueError(
            f"{NODES} of {name} describes {x.shape[0]} nodes by {x.shape[1]} features, but {shape[0]} by {shape[1]} are "
            "expected; delete it, and load again to download it"
        )
    order = np.argsort(ids)
    edges = read_table(contents[EDGES].replace(b"\t", b","), np.int64, EDGES, 2, skip_rows=1)
    files = [f"{prefix}_split_0.6_0.2_{k}.npz" for k in range(10)]
    splits = [_split(contents[file], file, f"geom-gcn-{k}") for k, file in enumerate(files)]
    graph = Graph.from_edges(edges[:, 0], edges[:, 1], x=x[order], y=y[order], splits=splits, name=name)
    return graph.coalesced()


def _dense_nodes(text: bytes) -> tuple[NDArray[Any], Any, NDArray[Any]]:
    """Lines of id, tab, comma-separated feature values, tab, class."""
    table = read_table(text.replace(b"\t", b","), np.float32, NODES, skip_rows=1)
    return table[:, 0].astype(np.int64), sp.csr_array(table[:, 1:-1]), table[:, -1].astype(np.int64)


def _indexed_nodes(text: bytes, shape: tuple[int, int]) -> tuple[NDArray[Any], Any, NDArray[Any]]:
    """Lines of id, tab, comma-separated columns (some twice), tab, class."""
    ids, y, columns = [], [], []
    for number, line in enumerate(text.splitlines()[1:], start=2):
        numbers = re.fullmatch(rb"(\d{1,9})\t(\d{1,9}(?:,\d{1,9})*)\t(\d{1,9})", line)
        if numbers is None:
            raise ValueError(f"{NODES}, line {number} is not id, columns and class; delete it, and load again to download it")
        ids.append(int(numbers[1]))
        columns.append(np.unique(np.array(numbers[2].split(b","), dtype=np.int64)))
        y.append(int(numbers[3]))
    indices = np.concatenate(columns or [np.zeros(0, dtype=np.int64)])
    ones, indptr = np.ones(len(indices), dtype=np.float32), np.cumsum([0, *map(len, columns)])
    parts: dict[str, NDArray[Any]] = {"data": ones, "indices": indices, "indptr": indptr}
    return np.array(ids), sp.csr_array(matrix_of_parts("csr", parts, (len(ids), shape[1]), NODES)), np.array(y)


def _split(content: bytes, file: str, name: str) -> Split:
    masks = read_npz(content, file, ("train_mask", "val_mask", "test_mask")).values()
    train, val, test = (torch.from_numpy(np.flatnonzero(mask)) for mask in masks)
    return Split(train, val, test, name)


def _reader(name: str, folder: str, prefix: str, *, indexed: bool = False) -> Reader:
    addresses = [f"new_data/{prefix}/{NODES}", f"new_data/{prefix}/{EDGES}"]
    addresses += [f"splits/{prefix}_split_0.6_0.2_{k}.npz" for k in range(10)]
    raw = tuple(RawFile(f"{folder}/raw/{path.rpartition('/')[2]}", f"{GEOM_GCN}/{path}") for path in addresses)
    return Reader(raw, functools.partial(read_geom_gcn, prefix=prefix, name=name, indexed=indexed))


def read_arxiv(contents: Mapping[str, bytes]) -> Graph:
    """The directed citation graph with its word-embedding features and the split by year.

    No checksum of the features was available, so only their shape is checked.
    """
    shape = (CATALOGUE["arxiv"].nodes, CATALOGUE["arxiv"].features)
    x = _zipped(contents, FEATURES, np.float32)
    if x.shape != shape:
        raise ValueError(f"{FEATURES} has shape {x.shape}, but {shape} is expected; delete it, and load again to download it")
    return _topology(contents, "arxiv").with_features(x)


def read_arxiv_structure(contents: Mapping[str, bytes]) -> Graph:
    """The same nodes, edges, classes and split, with features computed from the edges alone.

    It serves comparisons of speed, memory and methods on the real edges where the published word embeddings are not
    available. The features are `structural_features` of the undirected graph, which use no labels. They lack what a node's
    text says, so accuracies on this graph must not be compared with those of the published task.
    """
    graph = _topology(contents, "arxiv-structure")
    return with_structural_features(graph, CATALOGUE["arxiv-structure"].features)


def _topology(contents: Mapping[str, bytes], name: str) -> Graph:
    """The graph with a column of ones in place of its features."""
    edges, y = _zipped(contents, "edge.csv.gz", np.int64, 2), _zipped(contents, "node-label.csv.gz", np.int64, 1)
    parts = (_zipped(contents, file, np.int64, 1) for file in ("train.csv.gz", "valid.csv.gz", "test.csv.gz"))
    train, val, test = (torch.from_numpy(np.sort(part[:, 0])) for part in parts)
    ones = torch.ones(len(y), 1)
    return Graph.from_edges(edges[:, 0], edges[:, 1], x=ones, y=y[:, 0], splits=[Split(train, val, test, "ogb")], name=name)


def _zipped(contents: Mapping[str, bytes], file: str, dtype: type[np.generic], columns: int | None = None) -> NDArray[Any]:
    try:
        text = gzip.decompress(contents[file])
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{file} is not a whole gzip file ({error}); delete it, and load again to download it") from error
    return read_table(text, dtype, file, columns)


_TOPOLOGY = ("raw/edge.csv.gz", "raw/node-label.csv.gz", *(f"split/time/{part}.csv.gz" for part in ("train", "valid", "test")))


def _raw_files(*members: str) -> tuple[RawFile, ...]:
    return tuple(RawFile(f"ogbn_arxiv/{member}", OGB, f"arxiv/{member}") for member in members)


def read_table(
    text: bytes, dtype: type[np.generic], name: str, columns: int | None = None, *, skip_rows: int = 0
) -> NDArray[Any]:
    """The numbers in a comma-separated text, which several publishers use, shape (rows, columns).

    Args:
        text: The content of the file.
        dtype: Type of the numbers.
        name: The file, for messages.
        columns: How many there must be; any number of them when not given.
        skip_rows: Lines of header.

    Raises:
        ValueError: A cell is empty or no number of this type, or the rows have another number of columns.
    """
    layout = pyarrow.csv.ReadOptions(skip_rows=skip_rows, autogenerate_column_names=True)
    allowed = pa.types.is_integer if issubclass(dtype, np.integer) else _is_number
    try:
        table = pyarrow.csv.read_csv(io.BytesIO(text), read_options=layout)
        if columns not in (None, table.num_columns):
            raise ValueError(f"it has {table.num_columns} columns in place of {columns}")
        wrong = [str(column.type) for column in table.columns if column.null_count or not allowed(column.type)]
        if wrong:
            raise ValueError(f"a column has empty cells or values of type {wrong[0]}")
        return np.stack([column.to_numpy().astype(dtype) for column in table.columns], axis=1)
    except (ValueError, pa.ArrowException) as error:
        reason = shown(str(error).partition("\n")[0][:200])
        raise ValueError(f"{name} is not a table of numbers ({reason}); delete it, and load again to download it") from error


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


GRAPHS = {
    "chameleon": _reader("chameleon", "chameleon/geom_gcn", "chameleon"),
    "squirrel": _reader("squirrel", "squirrel/geom_gcn", "squirrel"),
    "actor": _reader("actor", "Actor", "film", indexed=True),
    "arxiv": Reader(_raw_files(*_TOPOLOGY, f"raw/{FEATURES}"), read_arxiv),
    "arxiv-structure": Reader(_raw_files(*_TOPOLOGY), read_arxiv_structure),
}
