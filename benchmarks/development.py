"""Graphs on which defaults are chosen: benchmarks, graphs without a recipe, block models, and tables with a neighbour graph."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler

from benchmarks.large.accuracy import drawn
from benchmarks.large.generate import BlockModel
from localgcl.datasets import digits, load, sbm
from localgcl.datasets.storage import cache_root
from localgcl.graph import Graph
from localgcl.graph.prepare import structural_columns, with_structural_features

BENCHMARKS = ("cora", "citeseer", "pubmed", "computers", "photo", "cs", "physics", "chameleon", "squirrel", "actor")
WITHOUT_RECIPE = ("acm", "dblp", "flickr")


def read_npz(name: str) -> Graph:
    """A graph of `WITHOUT_RECIPE`, from development/NAME.npz in the data folder: two CSR matrices and labels."""
    with np.load(cache_root() / "development" / f"{name}.npz", allow_pickle=False) as file:
        indptr, indices = file["adj_indptr"], file["adj_indices"]
        x = sp.csr_array((file["attr_data"], file["attr_indices"], file["attr_indptr"]), shape=tuple(file["attr_shape"]))
        source = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        return Graph.from_edges(source, indices, x=x, y=file["labels"].astype(np.int64), name=name)


def measurements() -> Graph:
    """569 rows of 30 measurements in different units (scikit-learn's breast cancer data), joined to their 10 nearest rows."""
    table = load_breast_cancer()
    near = kneighbors_graph(StandardScaler().fit_transform(table.data), 10).tocoo()
    return Graph.from_edges(near.row, near.col, x=table.data, y=table.target, name="measurements")


def block_model(homophily: float) -> Graph:
    """2,000 nodes of five classes, mean degree 10; edges stay in their class with probability `homophily`."""
    return sbm(2000, homophily=homophily, seed=0, splits=0)


def edges_alone(name: str, columns: int | None = None) -> Graph:
    """A graph of `GRAPHS` without its features: it has as many structural columns as asked for, or as a user gets."""
    graph = GRAPHS[name]().with_splits([])
    return with_structural_features(graph, columns or structural_columns(graph.num_nodes))


GRAPHS: dict[str, Callable[[], Graph]] = {
    **{name: (lambda name=name: read_npz(name)) for name in WITHOUT_RECIPE},  # type: ignore[misc]
    **{name: (lambda name=name: load(name)) for name in BENCHMARKS},  # type: ignore[misc]
    "digits": digits,
    "blocks-alike": lambda: block_model(0.8),
    "blocks-mixed": lambda: block_model(0.1),
    "measurements": measurements,
}
"""Graphs by name."""

LARGE: dict[str, Callable[[], Graph]] = {
    "blocks-large": lambda: drawn(BlockModel(200_000, 2_000_000, 64, homophily=0.3, noise=6.0, seed=1)),
}
"""A graph on which defaults for large graphs are chosen."""
