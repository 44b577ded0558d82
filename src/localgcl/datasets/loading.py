"""load: a benchmark graph by name."""

import os

from localgcl.datasets.catalogue import CATALOGUE, resolve
from localgcl.datasets.readers.geom_gcn import EDGES, NODES, read_geom_gcn
from localgcl.datasets.readers.gnn_benchmark import read_gnn_benchmark
from localgcl.datasets.readers.images import digits
from localgcl.datasets.readers.ogb import FEATURES, read_arxiv, read_arxiv_structure
from localgcl.datasets.readers.planetoid import read_planetoid
from localgcl.datasets.storage import RawFile, obtain
from localgcl.graph import Graph

PLANETOID = "https://github.com/kimiyoung/planetoid/raw/master/data"
GNN_BENCHMARK = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz"
GEOM_GCN = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master"
ARXIV = "http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"

# Folder under the cache root, and what the publisher calls the graph in file names.
_PLANETOID = {"cora": ("Cora", "cora"), "citeseer": ("CiteSeer", "citeseer"), "pubmed": ("PubMed", "pubmed")}
_GNN_BENCHMARK = {
    "computers": ("Computers", "amazon_electronics_computers"),
    "photo": ("Photo", "amazon_electronics_photo"),
    "cs": ("CS", "ms_academic_cs"),
    "physics": ("Physics", "ms_academic_phy"),
}
_GEOM_GCN = {
    "chameleon": ("chameleon/geom_gcn", "chameleon"),
    "squirrel": ("squirrel/geom_gcn", "squirrel"),
    "actor": ("Actor", "film"),
}


def load(name: str, root: str | os.PathLike[str] | None = None, *, download: bool = True) -> Graph:
    """The graph called `name` as its publisher means it: edges, classes and splits as PyG loads them, features untouched.

    Edges keep their directions and self-loops where the publisher keeps them, and features are neither scaled nor set to
    0/1: those choices move accuracy and belong to the recipe (`localgcl.config.Preparation`).

    Args:
        name: One of `localgcl.datasets.names()`, in any case.
        root: Folder of the raw files; by default the environment variable LOCALGCL_HOME, else ~/.cache/localgcl.
        download: Whether to download raw files that are not there. Their checksums are compared before they are kept, and
            each time before they are read.

    Raises:
        ValueError: The name is unknown, or a raw file is not what was published.
        FileNotFoundError: A raw file is missing and cannot be downloaded; the message says which goes where.

    Example:
        >>> load("digits")
        Graph('digits': 1,797 nodes, 17,454 directed edges, 64 dense features, 10 classes, 0 splits)
    """
    name = resolve(name)
    if name == "digits":
        return digits()
    contents = obtain(raw_files(name), root, download=download)
    shape = (CATALOGUE[name].nodes, CATALOGUE[name].features)
    if name in _PLANETOID:
        return read_planetoid(contents, _PLANETOID[name][1], name)
    if name in _GNN_BENCHMARK:
        return read_gnn_benchmark(contents[f"{_GNN_BENCHMARK[name][1]}.npz"], name)
    if name in _GEOM_GCN:
        return read_geom_gcn(contents, _GEOM_GCN[name][1], name, shape=shape, indexed=name == "actor")
    if name == "arxiv":
        return read_arxiv(contents, shape=shape)
    return read_arxiv_structure(contents, num_columns=shape[1])


def raw_files(name: str) -> list[RawFile]:
    """The raw files that `load` reads for a name of the catalogue."""
    if name in _PLANETOID:
        folder, prefix = _PLANETOID[name]
        files = [f"ind.{prefix}.{kind}" for kind in ("allx", "tx", "ally", "ty", "y", "graph", "test.index")]
        return [RawFile(f"{folder}/raw/{file}", f"{PLANETOID}/{file}") for file in files]
    if name in _GNN_BENCHMARK:
        folder, file = _GNN_BENCHMARK[name]
        return [RawFile(f"{folder}/raw/{file}.npz", f"{GNN_BENCHMARK}/{file}.npz")]
    if name in _GEOM_GCN:
        folder, prefix = _GEOM_GCN[name]
        texts = [RawFile(f"{folder}/raw/{file}", f"{GEOM_GCN}/new_data/{prefix}/{file}") for file in (NODES, EDGES)]
        masks = [f"{prefix}_split_0.6_0.2_{k}.npz" for k in range(10)]
        return texts + [RawFile(f"{folder}/raw/{file}", f"{GEOM_GCN}/splits/{file}") for file in masks]
    if name in ("arxiv", "arxiv-structure"):
        members = [
            "raw/edge.csv.gz",
            "raw/node-label.csv.gz",
            *(f"split/time/{part}.csv.gz" for part in ("train", "valid", "test")),
        ]
        members += [f"raw/{FEATURES}"] * (name == "arxiv")
        return [RawFile(f"ogbn_arxiv/{member}", ARXIV, f"arxiv/{member}") for member in members]
    return []
