"""Amazon Computers and Photo, Coauthor CS and Physics: npz files of CSR arrays."""

import functools
from collections.abc import Mapping
from typing import Any

from localgcl.datasets.readers import Reader
from localgcl.datasets.storage import RawFile
from localgcl.graph import Graph
from localgcl.graph.matrices import matrix_of_parts
from localgcl.io.numpy_files import read_npz

ADDRESS = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz"


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


def _reader(name: str, folder: str, file: str) -> Reader:
    raw = RawFile(f"{folder}/raw/{file}", f"{ADDRESS}/{file}")
    return Reader((raw,), functools.partial(read_gnn_benchmark, file=file, name=name))


GRAPHS = {
    "computers": _reader("computers", "Computers", "amazon_electronics_computers.npz"),
    "photo": _reader("photo", "Photo", "amazon_electronics_photo.npz"),
    "cs": _reader("cs", "CS", "ms_academic_cs.npz"),
    "physics": _reader("physics", "Physics", "ms_academic_phy.npz"),
}
