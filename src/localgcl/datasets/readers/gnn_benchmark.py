"""Amazon Computers and Photo, Coauthor CS and Physics: npz files of CSR arrays."""

import functools
import io
from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp

from localgcl.datasets.readers import Reader
from localgcl.datasets.storage import RawFile
from localgcl.graph import Graph

ADDRESS = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz"


def read_gnn_benchmark(contents: Mapping[str, bytes], file: str, name: str) -> Graph:
    """The graph in `file`, made undirected and without self-loops; features as published (counts for the co-author graphs).

    PyG and the paper's competitors set every positive feature to 1; `scaling="binary"` does that where a recipe asks for it.
    """
    with np.load(io.BytesIO(contents[file]), allow_pickle=False) as parts:
        x = sp.csr_array(
            (parts["attr_data"], parts["attr_indices"], parts["attr_indptr"]), shape=tuple(parts["attr_shape"].tolist())
        )
        source = np.repeat(np.arange(len(parts["adj_indptr"]) - 1), np.diff(parts["adj_indptr"]))
        target, y = parts["adj_indices"], parts["labels"]
    return Graph.from_edges(source, target, x=x, y=y, name=name).without_loops().symmetrized()


def _reader(name: str, folder: str, file: str) -> Reader:
    raw = RawFile(f"{folder}/raw/{file}", f"{ADDRESS}/{file}")
    return Reader((raw,), functools.partial(read_gnn_benchmark, file=file, name=name))


GRAPHS = {
    "computers": _reader("computers", "Computers", "amazon_electronics_computers.npz"),
    "photo": _reader("photo", "Photo", "amazon_electronics_photo.npz"),
    "cs": _reader("cs", "CS", "ms_academic_cs.npz"),
    "physics": _reader("physics", "Physics", "ms_academic_phy.npz"),
}
