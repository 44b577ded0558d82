import subprocess
import sys
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from localgcl import Graph, LocalGCLWarning, Split, as_graph, to_pyg
from localgcl.graph.prepare import structural_features
from tests.io.helpers import edge_set

X = np.arange(8, dtype=np.float32).reshape(4, 2)


def same(a: Graph, b: Graph) -> bool:
    alike = torch.equal(a.indptr, b.indptr) and torch.equal(a.indices, b.indices)
    alike = alike and torch.equal(a.x.to_dense(), b.x.to_dense()) and a.x.layout == b.x.layout
    alike = alike and ((a.y is None) == (b.y is None)) and (a.y is None or b.y is None or torch.equal(a.y, b.y))
    alike = alike and a.node_ids.tolist() == b.node_ids.tolist() and a.name == b.name
    parts = [[(s.train.tolist(), s.val.tolist(), s.test.tolist()) for s in graph.splits] for graph in (a, b)]
    return alike and parts[0] == parts[1]


def test_a_graph_is_returned_as_it_is() -> None:
    graph = Graph.from_edges([0], [1], x=X)
    assert as_graph(graph) is graph
    renamed = as_graph(graph, y=[0, 1, 0, 1], name="other")
    assert renamed.name == "other"
    assert renamed.y is not None
    assert renamed.y.tolist() == [0, 1, 0, 1]
    assert edge_set(renamed) == edge_set(graph)


def test_importing_convert_imports_no_foreign_library() -> None:
    code = """
import sys, torch, scipy.sparse, jaxtyping  # torch itself may import networkx
before = set(sys.modules)
import localgcl.io.convert
print({'torch_geometric', 'networkx', 'pandas', 'pyarrow', 'dgl'} & (set(sys.modules) - before))
"""
    added = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert added.stdout == "set()\n"


# PyG


@settings(deadline=None, max_examples=30)
@given(
    n=st.integers(1, 6),
    edges=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12),
    labelled=st.booleans(),
    sparse=st.booleans(),
    splits=st.integers(0, 3),
)
def test_pyg_round_trip(n: int, edges: list[tuple[int, int]], labelled: bool, sparse: bool, splits: int) -> None:
    x = np.random.default_rng(0).integers(0, 3, (n, 3)).astype(np.float32)
    thirds = [torch.arange(n)[i::3] for i in range(3)]
    graph = Graph.from_edges(
        [a % n for a, _ in edges],
        [b % n for _, b in edges],
        x=sp.csr_array(x) if sparse else x,
        y=np.arange(n) % 2 if labelled else None,
        splits=[Split(thirds[i % 3], thirds[(i + 1) % 3], thirds[(i + 2) % 3], f"split {i}") for i in range(splits)],
        node_ids=[f"node {i}" for i in range(n)],
        name="round",
    )
    assert same(as_graph(to_pyg(graph)), graph)


def test_pyg_masks_and_labels() -> None:
    mask = torch.tensor([[1, 0], [0, 1], [0, 0], [0, 0]]).bool()
    test_mask = torch.tensor([0, 0, 0, 1]).bool()
    y = torch.tensor([[0.0], [1.0], [float("nan")], [1.0]])  # as OGB writes unknown classes
    data = Data(
        torch.from_numpy(X), torch.tensor([[0, 1], [1, 2]]), y=y, train_mask=mask, val_mask=mask.flip(1), test_mask=test_mask
    )
    graph = as_graph(data)
    assert [(s.train.tolist(), s.val.tolist(), s.test.tolist()) for s in graph.splits] == [([0], [1], [3]), ([1], [0], [3])]
    assert graph.y is not None
    assert graph.y.tolist() == [0, 1, -1, 1]
    assert edge_set(graph) == [(0, 1), (1, 2)]


def test_pyg_subclass_and_transposed_adjacency() -> None:
    class MyData(Data):
        pass

    adj_t = torch.sparse_coo_tensor(torch.tensor([[1], [0]]), torch.ones(1), (4, 4), check_invariants=False).to_sparse_csr()
    assert edge_set(as_graph(MyData(x=torch.from_numpy(X), adj_t=adj_t))) == [(0, 1)]
    with pytest.raises(ValueError, match="no edge_index"):
        as_graph(Data(x=torch.from_numpy(X)))


def test_heterogeneous_graphs_are_refused_with_a_hint() -> None:
    with pytest.raises(TypeError, match=r"several types.*to_homogeneous"):
        as_graph(HeteroData())
    with pytest.raises(TypeError, match=r"several types.*dgl\.to_homogeneous"):
        as_graph(DGLGraph(homogeneous=False))
    mixed: Any = nx.Graph()
    mixed.add_node("user", x=[1.0])
    mixed.add_node("film", x=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"'film' has 2 features.*several types of nodes"):
        as_graph(mixed)


def test_to_pyg_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    with pytest.raises(ImportError, match=r"pip install 'localgcl\[pyg\]'"):
        to_pyg(Graph.from_edges([0], [1], x=X))


# scipy and edge_index


@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix, sp.coo_array])
def test_scipy_pairs_and_triples(make: Any) -> None:
    adjacency = make((np.array([1.0, 1.0, 0.0]), (np.array([0, 2, 3]), np.array([1, 0, 3]))), shape=(4, 4))
    for graph in (as_graph((adjacency, X)), as_graph(adjacency, x=X), as_graph((adjacency, sp.csr_array(X)))):
        assert edge_set(graph) == [(0, 1), (2, 0)]  # the stored zero is no edge
        np.testing.assert_array_equal(graph.x.to_dense().numpy(), X)
    labelled = as_graph((adjacency, X, [0, 1, 0, 1]), node_ids=["a", "b", "c", "d"], name="abcd")
    assert labelled.y is not None
    assert labelled.y.tolist() == [0, 1, 0, 1]
    assert edge_set(labelled) == [("a", "b"), ("c", "a")]
    assert labelled.name == "abcd"


def test_scipy_round_trip() -> None:
    graph = Graph.from_edges([0, 2, 2], [1, 0, 3], x=X)
    assert same(as_graph((graph.to_scipy(), X)), graph)


@pytest.mark.parametrize("kind", [np.array, torch.tensor, list])
def test_edge_index_pairs(kind: Any) -> None:
    assert edge_set(as_graph((kind([[0, 1, 3], [1, 2, 3]]), X))) == [(0, 1), (1, 2), (3, 3)]


def test_missing_features_are_structural_ones_and_said_so() -> None:
    edges = np.array([[0, 1, 2], [1, 2, 3]])
    with pytest.warns(LocalGCLWarning, match="no features given: using 1024 structural features computed from the edges alone"):
        graph = as_graph(edges, y=[0, 1, 0, 1])
    assert graph.x.shape == (4, 1024)
    assert edge_set(graph) == [(0, 1), (1, 2), (2, 3)]  # the features see the undirected graph; the edges stay directed
    assert torch.equal(graph.x, structural_features(graph.symmetrized(), 1024))


# Sparse matrices of torch, and matrices whose parts do not fit each other


@pytest.mark.parametrize("layout", [Tensor.to_sparse_coo, Tensor.to_sparse_csr, Tensor.to_sparse_csc])
def test_torch_adjacency_matrices(layout: Any) -> None:
    adjacency = torch.zeros(4, 4)
    adjacency[[0, 2], [1, 0]] = 1
    assert edge_set(as_graph((layout(adjacency), X))) == [(0, 1), (2, 0)]
    assert edge_set(as_graph(Data(x=torch.from_numpy(X), adj_t=layout(adjacency.T)))) == [(0, 1), (2, 0)]


def broken_csr(indptr: list[int]) -> Tensor:
    return torch.sparse_csr_tensor(torch.tensor(indptr), torch.arange(4), torch.ones(4), (4, 4), check_invariants=False)


@pytest.mark.parametrize("indptr", [[0, 10**9, 0, 0, 4], [0, 2, 1, 3, 4], [0, 1, 2, 3, 5]])
def test_corrupt_pointers_are_refused_wherever_they_enter(indptr: list[int]) -> None:
    matrix: Any = sp.csr_array(np.eye(4))
    matrix.indptr = np.array(indptr)
    tensor, edges = broken_csr(indptr), [[0], [1]]
    given: list[tuple[Any, str]] = [
        ((matrix, X), "the adjacency matrix"),
        ((tensor, X), "the adjacency matrix"),
        ((edges, matrix), "features"),
        ((edges, tensor), "features"),
        (Data(x=torch.from_numpy(X), adj_t=tensor), "adj_t"),
        (Data(x=tensor, edge_index=torch.tensor(edges)), "features"),
        (DGLGraph(feat=tensor), "features"),
    ]
    for obj, place in given:
        with pytest.raises(ValueError, match=f"{place}: row pointers .indptr. must rise from 0 to the number of entries .4."):
            as_graph(obj)


def test_pyg_edges_and_masks_must_have_their_shapes() -> None:
    x = torch.from_numpy(X)
    with pytest.raises(ValueError, match=r"edges have shape \(3, 2\); an edge_index has shape \(2, m\): transpose it"):
        as_graph(Data(x, torch.zeros(3, 2, dtype=torch.int64)))
    for mask in (torch.ones(3).bool(), torch.ones(4, 2, 2).bool()):
        with pytest.raises(ValueError, match=r"a mask has shape .*; give \(4,\) or \(4, splits\), a value per node"):
            as_graph(Data(x, torch.tensor([[0], [1]]), train_mask=mask))


def test_big_endian_arrays_are_read() -> None:
    edges, x, y = np.array([[0, 1], [1, 2]], dtype=">i8"), X.astype(">f8"), np.array([0, 1, 0, 1], dtype=">i4")
    assert same(as_graph((edges, x, y)), as_graph((edges.astype(int), X, [0, 1, 0, 1])))


# networkx


def test_networkx_undirected_with_attributes_and_text_ids() -> None:
    graph: Any = nx.Graph(name="friends")
    for i, node in enumerate("dbca"):
        graph.add_node(node, x=torch.tensor([float(i), 1.0]), y=i % 2)
    graph.add_edges_from([("a", "b"), ("b", "d"), ("c", "c")])
    got = as_graph(graph)
    assert got.node_ids.tolist() == ["d", "b", "c", "a"]
    assert edge_set(got) == [("a", "b"), ("b", "a"), ("b", "d"), ("c", "c"), ("d", "b")]  # a loop has one direction
    assert got.x[:, 0].tolist() == [0, 1, 2, 3]
    assert got.y is not None
    assert got.y.tolist() == [0, 1, 0, 1]
    assert got.name == "friends"


def test_networkx_directed_multigraph_and_partial_labels() -> None:
    directed = nx.DiGraph([(10, 20), (20, 30)])
    directed.nodes[20]["y"] = 1
    got = as_graph(directed, x=X[:3])
    assert edge_set(got) == [(10, 20), (20, 30)]
    assert got.y is not None
    assert got.y.tolist() == [-1, 1, -1]
    parallel: Any = nx.MultiGraph([(0, 1), (0, 1)])
    assert edge_set(as_graph(parallel, x=X[:2])) == [(0, 1), (0, 1), (1, 0), (1, 0)]


def test_networkx_ids_that_numpy_would_mangle() -> None:
    grid = nx.grid_2d_graph(2, 2)
    assert as_graph(grid, x=X).node_ids.tolist() == [(0, 0), (0, 1), (1, 0), (1, 1)]
    mixed = nx.Graph([(1, "a")])
    assert as_graph(mixed, x=X[:2]).node_ids.tolist() == ["1", "a"]
    with pytest.warns(LocalGCLWarning, match="structural"):
        assert as_graph(grid).x.shape == (4, 1024)


def test_networkx_with_features_on_some_nodes_is_refused() -> None:
    graph = nx.path_graph(3)
    graph.nodes[0]["x"] = [1.0]
    with pytest.raises(ValueError, match="node 1 has no attribute 'x'"):
        as_graph(graph)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=15))
def test_networkx_and_scipy_agree(edges: list[tuple[int, int]]) -> None:
    graph = nx.Graph(edges)
    x = np.ones((len(graph), 1))
    assert edge_set(as_graph(graph, x=x)) == edge_set(as_graph((nx.to_scipy_sparse_array(graph), x), node_ids=list(graph)))


# DGL, which no longer installs beside current torch: a stand-in with its interface


class DGLGraph:
    __module__ = "dgl.heterograph"

    def __init__(self, homogeneous: bool = True, feat: Tensor | None = None) -> None:
        self.is_homogeneous = homogeneous
        features = torch.from_numpy(X) if feat is None else feat
        self.ndata = {"feat": features, "label": torch.tensor([0, 1, 1, 0]), "train_mask": torch.eye(4)[0].bool()}
        self.edata: dict[str, Tensor] = {}

    def edges(self) -> tuple[Tensor, Tensor]:
        return torch.tensor([0, 1], dtype=torch.int32), torch.tensor([1, 2], dtype=torch.int32)

    def num_nodes(self) -> int:
        return 4


def test_dgl() -> None:
    graph = as_graph(DGLGraph())
    assert edge_set(graph) == [(0, 1), (1, 2)]
    np.testing.assert_array_equal(graph.x.numpy(), X)
    assert graph.y is not None
    assert graph.y.tolist() == [0, 1, 1, 0]
    assert graph.splits[0].train.tolist() == [0]
    assert graph.splits[0].test.numel() == 0


# Refusals

SQUARE = sp.csr_array(np.eye(4))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("edges.csv",), TypeError, r"cannot make a graph of builtins\.str; give localgcl\.Graph, a torch_geometric Data"),
        ((None,), TypeError, "NoneType"),
        (((SQUARE,),), ValueError, r"a tuple of 1 is not a graph; give \(edges, x\)"),
        (((SQUARE, X), X), ValueError, "given twice"),
        (((SQUARE, X[:3]),), ValueError, "features have 3 rows, but the graph has 4 nodes"),
        ((sp.csr_array(np.ones((2, 3))), X), ValueError, r"shape \(2, 3\); an adjacency matrix must be square"),
        ((np.zeros((5, 2), int), X), ValueError, r"shape \(5, 2\); an edge_index has shape \(2, m\): transpose it"),
        ((np.eye(4), X), ValueError, r"wrap an adjacency matrix in scipy\.sparse\.csr_array"),
        ((np.array([[0], [9]]), X), ValueError, "target 9.*4 rows"),
        ((np.array([[0.5], [1]]), X), ValueError, "not integers"),
        ((SQUARE, X, np.zeros((4, 2))), ValueError, r"labels have shape \(4, 2\)"),
        ((SQUARE, X, ["a", "b", "c", "0"]), ValueError, "y: the label of node 0 is 'a', not a class number"),
        ((SQUARE, pd.DataFrame(X)), TypeError, r"x is a DataFrame with ids of its own.*x\.to_numpy\(\)"),
        ((SQUARE, X, pd.Series([0, 1, 1, 0], index=list("abcd"))), TypeError, r"y is a Series with ids of its own"),
        ((np.zeros((2, 0), int),), ValueError, "no nodes"),
    ],
)
def test_what_is_not_a_graph_is_refused(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        as_graph(*arguments)
