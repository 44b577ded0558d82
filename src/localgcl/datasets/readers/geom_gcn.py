"""Chameleon, Squirrel and Actor: tab-separated text, with ten splits as masks."""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from localgcl.datasets.readers.numbers import read_table
from localgcl.graph import Graph, Split

NODES, EDGES = "out1_node_feature_label.txt", "out1_graph_edges.txt"


def read_geom_gcn(contents: Mapping[str, bytes], prefix: str, name: str, *, shape: tuple[int, int], indexed: bool) -> Graph:
    """The directed graph with its self-loops, repeated edges dropped.

    Args:
        contents: The two text files and the ten masks, by file name.
        prefix: What the names of the masks begin with.
        name: Name of the graph.
        shape: Nodes and feature columns to expect.
        indexed: Whether the feature field lists the columns that are 1 (Actor), rather than one number a column.
    """
    ids, x, y = _indexed_nodes(contents[NODES], shape) if indexed else _dense_nodes(contents[NODES])
    if x.shape != shape or not np.array_equal(np.sort(ids), np.arange(shape[0])):
        raise ValueError(
            f"{NODES} of {name} describes {x.shape[0]} nodes by {x.shape[1]} features, but {shape[0]} by {shape[1]} are "
            "expected; delete it, and load again to download it"
        )
    order = np.argsort(ids)
    edges = read_table(contents[EDGES].replace(b"\t", b","), np.int64, EDGES, skip_rows=1)
    splits = [_split(contents[f"{prefix}_split_0.6_0.2_{k}.npz"], f"geom-gcn-{k}") for k in range(10)]
    graph = Graph.from_edges(edges[:, 0], edges[:, 1], x=x[order], y=y[order], splits=splits, name=name)
    return graph.coalesced()


def _dense_nodes(text: bytes) -> tuple[NDArray[Any], Any, NDArray[Any]]:
    """Lines of id, tab, comma-separated feature values, tab, class."""
    table = read_table(text.replace(b"\t", b","), np.float32, NODES, skip_rows=1)
    return table[:, 0].astype(np.int64), sp.csr_array(table[:, 1:-1]), table[:, -1].astype(np.int64)


def _indexed_nodes(text: bytes, shape: tuple[int, int]) -> tuple[NDArray[Any], Any, NDArray[Any]]:
    """Lines of id, tab, comma-separated columns (some twice), tab, class."""
    fields = [line.split(b"\t") for line in text.splitlines()[1:]]
    columns = [np.unique(np.array(field[1].split(b","), dtype=np.int64)) for field in fields]
    indptr = np.cumsum([0, *map(len, columns)])
    indices = np.concatenate(columns)
    x = sp.csr_array((np.ones(len(indices), dtype=np.float32), indices, indptr), shape=(len(fields), shape[1]))
    return np.array([int(field[0]) for field in fields]), x, np.array([int(field[2]) for field in fields])


def _split(content: bytes, name: str) -> Split:
    with np.load(io.BytesIO(content), allow_pickle=False) as masks:
        train, val, test = (torch.from_numpy(masks[f"{part}_mask"].nonzero()[0]) for part in ("train", "val", "test"))
    return Split(train, val, test, name)
