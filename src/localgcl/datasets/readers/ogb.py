"""ogbn-arxiv: gzipped tables of numbers."""

import gzip
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from localgcl.datasets.catalogue import CATALOGUE
from localgcl.datasets.readers import Reader, read_table
from localgcl.datasets.storage import RawFile
from localgcl.graph import Graph, Split
from localgcl.graph.prepare import with_structural_features

ADDRESS = "http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"
FEATURES = "node-feat.csv.gz"


def read_arxiv(contents: Mapping[str, bytes]) -> Graph:
    """The directed citation graph with its word-embedding features and the split by year.

    No checksum of the features was available, so only their shape is checked.
    """
    shape = (CATALOGUE["arxiv"].nodes, CATALOGUE["arxiv"].features)
    x = _table(contents, FEATURES, np.float32)
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
    edges, y = _table(contents, "edge.csv.gz", np.int64, 2), _table(contents, "node-label.csv.gz", np.int64, 1)
    parts = (_table(contents, file, np.int64, 1) for file in ("train.csv.gz", "valid.csv.gz", "test.csv.gz"))
    train, val, test = (torch.from_numpy(np.sort(part[:, 0])) for part in parts)
    ones = torch.ones(len(y), 1)
    return Graph.from_edges(edges[:, 0], edges[:, 1], x=ones, y=y[:, 0], splits=[Split(train, val, test, "ogb")], name=name)


def _table(contents: Mapping[str, bytes], file: str, dtype: type[np.generic], columns: int | None = None) -> NDArray[Any]:
    try:
        text = gzip.decompress(contents[file])
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{file} is not a whole gzip file ({error}); delete it, and load again to download it") from error
    return read_table(text, dtype, file, columns)


_TOPOLOGY = ("raw/edge.csv.gz", "raw/node-label.csv.gz", *(f"split/time/{part}.csv.gz" for part in ("train", "valid", "test")))


def _raw_files(*members: str) -> tuple[RawFile, ...]:
    return tuple(RawFile(f"ogbn_arxiv/{member}", ADDRESS, f"arxiv/{member}") for member in members)


GRAPHS = {
    "arxiv": Reader(_raw_files(*_TOPOLOGY, f"raw/{FEATURES}"), read_arxiv),
    "arxiv-structure": Reader(_raw_files(*_TOPOLOGY), read_arxiv_structure),
}
