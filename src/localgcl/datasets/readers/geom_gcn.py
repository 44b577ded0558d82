"""Chameleon, Squirrel and Actor: tab-separated text, with ten splits as masks."""

import functools
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from localgcl.datasets.catalogue import CATALOGUE
from localgcl.datasets.readers import Reader, read_table
from localgcl.datasets.storage import RawFile
from localgcl.graph import Graph, Split
from localgcl.graph.arrays import matrix_of_parts
from localgcl.io.numpy_files import read_npz

ADDRESS = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master"
NODES, EDGES = "out1_node_feature_label.txt", "out1_graph_edges.txt"


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
    raw = tuple(RawFile(f"{folder}/raw/{path.rpartition('/')[2]}", f"{ADDRESS}/{path}") for path in addresses)
    return Reader(raw, functools.partial(read_geom_gcn, prefix=prefix, name=name, indexed=indexed))


GRAPHS = {
    "chameleon": _reader("chameleon", "chameleon/geom_gcn", "chameleon"),
    "squirrel": _reader("squirrel", "squirrel/geom_gcn", "squirrel"),
    "actor": _reader("actor", "Actor", "film", indexed=True),
}
