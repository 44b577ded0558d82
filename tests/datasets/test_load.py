"""The loaded graphs against PyG's loaders and against the published counts."""

import functools
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from localgcl.config import LocalGCLWarning
from localgcl.datasets import CATALOGUE, READERS, load, names
from localgcl.graph import Graph
from localgcl.graph.csr import features_to_scipy
from localgcl.graph.prepare import structural_features

# Directed edges and homophily once made undirected without self-loops, for the graphs that are not so as loaded.
UNDIRECTED = {
    "chameleon": (62_742, 0.230),
    "squirrel": (396_706, 0.222),
    "actor": (53_318, 0.217),
    "arxiv-structure": (2_315_598, 0.654),
}
# The paper prints none.
HOMOPHILY_OF_OURS = {"arxiv-structure": 0.655, "digits": 0.965, "chameleon-filtered": 0.236, "squirrel-filtered": 0.207}
FEATURED = ("cora", "citeseer", "pubmed", "computers", "photo", "cs", "physics", "chameleon", "squirrel", "actor")
HERE = tuple(name for name in names() if name != "arxiv")  # its features cannot be had


@pytest.fixture(scope="module")
def loaded(graphs_root: Path) -> Callable[[str], Graph]:
    """`load`, each graph once: graphs are frozen, so tests may share them."""
    return functools.cache(lambda name: load(name, graphs_root, download=False))


def linked(graphs_root: Path, folder: Path, name: str) -> Path:
    """A folder of links to the raw files of one graph: PyG and some tests write beside them."""
    for file in READERS[name].files:
        for source in (graphs_root / file.path).parent.iterdir():
            target = (folder / file.path).parent / source.name
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                target.symlink_to(source)
    return folder


def pyg(name: str, root: Path) -> Any:
    from torch_geometric import datasets

    loaders: dict[str, Callable[[], Any]] = {
        "cora": lambda: datasets.Planetoid(str(root), "Cora"),
        "citeseer": lambda: datasets.Planetoid(str(root), "CiteSeer"),
        "pubmed": lambda: datasets.Planetoid(str(root), "PubMed"),
        "computers": lambda: datasets.Amazon(str(root), "Computers"),
        "photo": lambda: datasets.Amazon(str(root), "Photo"),
        "cs": lambda: datasets.Coauthor(str(root), "CS"),
        "physics": lambda: datasets.Coauthor(str(root), "Physics"),
        "chameleon": lambda: datasets.WikipediaNetwork(str(root), "chameleon"),
        "squirrel": lambda: datasets.WikipediaNetwork(str(root), "squirrel"),
        "actor": lambda: datasets.Actor(str(root / "Actor")),
    }
    return loaders[name]()[0]


# The large ones of a format that a smaller one has too: PyG takes seconds for them, and a gigabyte for Physics.
SLOW = ("physics", "squirrel")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in FEATURED])
def test_equals_what_pyg_loads(name: str, loaded: Callable[[str], Graph], graphs_root: Path, tmp_path: Path) -> None:
    graph, theirs = loaded(name), pyg(name, linked(graphs_root, tmp_path, name))

    edges = theirs.edge_index[0] * theirs.num_nodes + theirs.edge_index[1]
    assert torch.equal(graph.rows * graph.num_nodes + graph.indices, edges.sort().values)
    assert graph.y is not None
    assert torch.equal(graph.y, theirs.y)

    assert graph.x.layout == torch.sparse_csr
    x: Any = features_to_scipy(graph.x).copy()  # it shares memory with the graph
    x.eliminate_zeros()
    if name in ("computers", "photo", "cs", "physics"):
        x.data[:] = 1  # PyG binarises these
    expected: Any = sp.csr_array(theirs.x.numpy())
    assert x.shape == expected.shape
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(x, part), getattr(expected, part))

    if "train_mask" in theirs:
        masks = [getattr(theirs, f"{part}_mask").reshape(graph.num_nodes, -1) for part in ("train", "val", "test")]
        assert len(graph.splits) == masks[0].shape[1]
        for k, split in enumerate(graph.splits):
            for ours, mask in zip((split.train, split.val, split.test), masks, strict=True):
                assert torch.equal(ours, mask[:, k].nonzero().flatten())
    else:
        assert graph.splits == ()


@pytest.mark.parametrize("name", HERE)
def test_counts_and_homophily(name: str, loaded: Callable[[str], Graph]) -> None:
    graph, entry = loaded(name), CATALOGUE[name]
    assert graph.name == name
    counts = (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes)
    assert counts == (entry.nodes, entry.edges, entry.features, entry.classes)
    homophily = HOMOPHILY_OF_OURS.get(name, entry.homophily)
    assert homophily == pytest.approx(graph.homophily(), abs=0.0006)  # printed with three digits

    plain = graph.symmetrized().without_loops()
    edges, homophily = UNDIRECTED.get(name, (entry.edges, homophily))
    assert plain.num_edges == edges
    assert homophily == pytest.approx(plain.homophily(), abs=0.0006)
    assert graph.is_symmetric == (name not in UNDIRECTED)

    kinds = {"public": ["public"], "ogb": ["ogb"], "geom-gcn": [f"geom-gcn-{k}" for k in range(10)], "random": []}
    kinds["heterophilous"] = [f"heterophilous-{k}" for k in range(10)]
    assert [split.name for split in graph.splits] == kinds[entry.splits]


def test_names_are_read_in_any_case(graphs_root: Path) -> None:
    assert load("Cora", graphs_root, download=False).name == "cora"


def test_coauthor_features_stay_counts(loaded: Callable[[str], Graph]) -> None:
    assert float(loaded("cs").x.values().max()) > 1


def test_public_split_has_twenty_training_nodes_a_class(loaded: Callable[[str], Graph]) -> None:
    graph = loaded("citeseer")
    assert graph.y is not None
    (split,) = graph.splits
    assert graph.y[split.train].bincount().tolist() == [20] * 6
    assert (len(split.val), len(split.test)) == (500, 1000)


def test_citeseer_nodes_that_the_index_skips_have_no_features_and_no_split(loaded: Callable[[str], Graph]) -> None:
    graph = loaded("citeseer")
    empty = (graph.x.crow_indices().diff() == 0).nonzero().flatten()
    (split,) = graph.splits
    assert len(empty) == 15
    assert not torch.isin(empty, torch.cat([split.train, split.val, split.test])).any()
    assert graph.y is not None
    assert graph.y[empty].tolist() == [0] * 15


def test_arxiv_structure_is_made_of_edges_alone(loaded: Callable[[str], Graph]) -> None:
    graph = loaded("arxiv-structure")
    (split,) = graph.splits
    assert (len(split.train), len(split.val), len(split.test)) == (90_941, 29_799, 48_603)
    bare = Graph(graph.indptr, graph.indices, torch.ones(graph.num_nodes, 1))
    assert torch.equal(graph.x, structural_features(bare.symmetrized(), 128))


def test_arxiv_features_are_accepted_by_their_shape(graphs_root: Path, tmp_path: Path) -> None:
    root = linked(graphs_root, tmp_path, "arxiv-structure")
    path = root / "ogbn_arxiv" / "raw" / "node-feat.csv.gz"
    path.unlink(missing_ok=True)
    rest = ",0.5" * 127
    path.write_bytes(gzip.compress("".join(f"{i}{rest}\n" for i in range(169_343)).encode(), compresslevel=1))
    graph = load("arxiv", root, download=False)
    assert graph.x.shape == (169_343, 128)
    assert torch.equal(graph.x[:, 0], torch.arange(169_343.0))
    assert torch.equal(graph.x[:, 1:], torch.full((169_343, 127), 0.5))
    assert (graph.name, graph.num_edges, graph.splits[0].name) == ("arxiv", 1_166_243, "ogb")

    for content, complaint in ((b"1,2\n3,4\n", r"shape \(2, 2\), but \(169343, 128\)"), (b"a\n", "is not a table of numbers")):
        path.write_bytes(gzip.compress(content))
        with pytest.raises(ValueError, match=rf"node-feat.csv.gz.*{complaint}"):
            load("arxiv", root, download=False)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(ValueError, match=r"node-feat.csv.gz is not a whole gzip file"):
        load("arxiv", root, download=False)


def test_other_bytes_of_wikipedia_features_are_read_with_a_warning(graphs_root: Path, tmp_path: Path) -> None:
    root = linked(graphs_root, tmp_path, "chameleon")
    path = root / "chameleon/geom_gcn/raw/out1_node_feature_label.txt"
    header, *lines = path.read_bytes().splitlines()
    path.unlink()

    path.write_bytes(b"\n".join([header, *reversed(lines)]) + b"\n")  # the same graph in another order
    with pytest.warns(LocalGCLWarning, match="not the bytes this library was tested with"):
        graph = load("chameleon", root, download=False)
    tested = load("chameleon", graphs_root, download=False)
    assert graph.y is not None
    assert tested.y is not None
    assert torch.equal(graph.x.to_dense(), tested.x.to_dense())
    assert torch.equal(graph.y, tested.y)

    path.write_bytes(b"\n".join([header, *lines[:-1]]) + b"\n")
    with (
        pytest.warns(LocalGCLWarning),
        pytest.raises(ValueError, match="2276 nodes by 2325 features, but 2277 by 2325 are expected"),
    ):
        load("chameleon", root, download=False)
    path.write_bytes(b"\n".join([header, *lines])[:-3000])  # ends within a line
    with pytest.warns(LocalGCLWarning), pytest.raises(ValueError, match=f"{path.name} is not a table of numbers"):
        load("chameleon", root, download=False)
