"""ogbn-arxiv: gzipped tables of numbers."""

import gzip
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from localgcl.datasets.readers.numbers import read_table
from localgcl.graph import Graph, Split
from localgcl.graph.prepare import structural_features

FEATURES = "node-feat.csv.gz"


def read_arxiv(contents: Mapping[str, bytes], *, shape: tuple[int, int]) -> Graph:
    """The directed citation graph with its word-embedding features and the split by year.

    No checksum of the features could be had, so they are accepted by their shape alone.
    """
    x = _table(contents, FEATURES, np.float32)
    if x.shape != shape:
        raise ValueError(f"{FEATURES} has shape {x.shape}, but {shape} is expected; delete it, and load again to download it")
    return _topology(contents, "arxiv").with_features(x)


def read_arxiv_structure(contents: Mapping[str, bytes], *, num_columns: int) -> Graph:
    """The same nodes, edges, classes and split, with features computed from the edges alone.

    It is for speed, memory and method comparisons on the real topology where the published word embeddings are not at
    hand: `structural_features` of the undirected graph, which never look at labels. What a node's text says is missing
    from them, so accuracies on this graph are not those of the published task and must not be compared with them.
    """
    graph = _topology(contents, "arxiv-structure")
    return graph.with_features(structural_features(graph.symmetrized(), num_columns))


def _topology(contents: Mapping[str, bytes], name: str) -> Graph:
    """All but the features, for which one column of ones stands in."""
    edges, y = (_table(contents, file, np.int64) for file in ("edge.csv.gz", "node-label.csv.gz"))
    parts = (_table(contents, file, np.int64) for file in ("train.csv.gz", "valid.csv.gz", "test.csv.gz"))
    train, val, test = (torch.from_numpy(np.sort(part[:, 0])) for part in parts)
    ones = torch.ones(len(y), 1)
    return Graph.from_edges(edges[:, 0], edges[:, 1], x=ones, y=y[:, 0], splits=[Split(train, val, test, "ogb")], name=name)


def _table(contents: Mapping[str, bytes], file: str, dtype: type[np.generic]) -> NDArray[Any]:
    try:
        text = gzip.decompress(contents[file])
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{file} is not a whole gzip file ({error}); delete it, and load again to download it") from error
    return read_table(text, dtype, file)
