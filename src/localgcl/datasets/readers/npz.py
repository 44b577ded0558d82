"""Graphs published as one npz file: Amazon Computers and Photo, Coauthor CS and Physics; filtered Chameleon and Squirrel."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from localgcl.datasets.readers import Reader
from localgcl.datasets.storage import RawFile
from localgcl.graph import Graph, Split
from localgcl.graph.arrays import matrix_of_parts
from localgcl.io.numpy_files import read_npz

GNN_BENCHMARK = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz"
HETEROPHILOUS = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data"


def read_gnn_benchmark(contents: Mapping[str, bytes], file: str, name: str) -> Graph:
    """The graph in `file`, made undirected and without self-loops; features as published (counts for the co-author graphs).

    PyG and the paper's competitors set every positive feature to 1; `scaling="binary"` does that where a recipe asks for it.
    """
    adjacency, x = (_matrix(contents[file], file, part) for part in ("adj", "attr"))
    y = read_npz(contents[file], file, ["labels"])["labels"]
    source, target = adjacency.tocoo().coords
    return Graph.from_edges(source, target, x=x, y=y, name=name).without_loops().symmetrized()


def _matrix(content: bytes, file: str, part: str) -> Any:
    """The CSR matrix of the arrays whose names begin with `part`."""
    arrays = read_npz(content, file, [f"{part}_{name}" for name in ("data", "indices", "indptr", "shape")])
    data, indices, indptr, shape = arrays.values()
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise ValueError(f"{file}: {part}_shape is {shape.tolist()!r:.40}; delete the file, and load again to download it")
    parts = {"data": data, "indices": indices, "indptr": indptr}
    return matrix_of_parts("csr", parts, (int(shape[0]), int(shape[1])), f"{file}: {part}")


def read_heterophilous(contents: Mapping[str, bytes], file: str, name: str) -> Graph:
    """The undirected graph in `file`, whose list of edges names each edge once; ten splits as masks."""
    names = ("edges", "node_features", "node_labels", "train_masks", "val_masks", "test_masks")
    edges, x, y, *masks = read_npz(contents[file], file, names).values()
    if edges.ndim != 2 or edges.shape[1] != 2 or x.ndim != 2 or x.dtype.kind not in "biuf":
        raise ValueError(
            f"{file} has edges of shape {edges.shape} and features of shape {x.shape} and {x.dtype}; download it again"
        )
    if {mask.shape for mask in masks} != {(*masks[0].shape[:1], len(x))}:
        raise ValueError(f"{file} has masks of shapes {', '.join(str(mask.shape) for mask in masks)}; download it again")
    splits = []
    for k, parts_of_split in enumerate(zip(*masks, strict=True)):
        train, val, test = (torch.from_numpy(np.flatnonzero(mask)) for mask in parts_of_split)
        splits.append(Split(train, val, test, f"heterophilous-{k}"))
    return Graph.from_edges(edges[:, 0], edges[:, 1], x=sp.csr_array(x), y=y, splits=splits, name=name).symmetrized()


def _reader(read: Callable[..., Graph], address: str, name: str, folder: str, file: str) -> Reader:
    raw = RawFile(f"{folder}/raw/{file}", f"{address}/{file}")
    return Reader((raw,), functools.partial(read, file=file, name=name))


GRAPHS = {
    name: _reader(read_gnn_benchmark, GNN_BENCHMARK, name, folder, file)
    for name, folder, file in (
        ("computers", "Computers", "amazon_electronics_computers.npz"),
        ("photo", "Photo", "amazon_electronics_photo.npz"),
        ("cs", "CS", "ms_academic_cs.npz"),
        ("physics", "Physics", "ms_academic_phy.npz"),
    )
} | {
    f"{name}-filtered": _reader(read_heterophilous, HETEROPHILOUS, f"{name}-filtered", "heterophilous", f"{name}_filtered.npz")
    for name in ("chameleon", "squirrel")
}
