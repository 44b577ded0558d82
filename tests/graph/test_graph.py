import dataclasses
import re
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from localgcl.graph import Graph, Split
from localgcl.graph.csr import CSR, as_features

Edges = list[tuple[int, int]]


def graph_of(n: int, edges: Edges, **parts: Any) -> Graph:
    """A graph whose feature row i is [i, 1]."""
    x = parts.pop("x", np.column_stack([np.arange(n), np.ones(n)]))
    return Graph.from_edges([i for i, _ in edges], [j for _, j in edges], x=x, **parts)


def matrix(graph: Graph) -> Any:
    return graph.to_scipy().toarray()


def entries(csr: CSR) -> Any:
    """How often each entry is stored."""
    dense = np.zeros((csr.num_rows, csr.num_columns), dtype=np.float32)
    np.add.at(dense, (csr.rows.numpy(), csr.indices.numpy()), 1)
    return dense


def counts(n: int, edges: Edges) -> Any:
    """The adjacency matrix, added up one edge at a time."""
    a = np.zeros((n, n), dtype=np.float32)
    for i, j in edges:
        a[i, j] += 1
    return a


def tensor(*values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.int64)


@st.composite
def multigraphs(draw: st.DrawFn) -> tuple[int, Edges]:
    """Few nodes and many edges, so that parallel edges, loops and isolated nodes all come up."""
    n = draw(st.integers(1, 7))
    node = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(node, node), max_size=20))


several = settings(deadline=None, max_examples=60)

# Construction


@pytest.mark.parametrize(
    "ends",
    [
        ([2, 0, 0], [1, 2, 1]),
        ((2, 0, 0), (1, 2, 1)),
        (np.array([2, 0, 0]), np.array([1, 2, 1])),
        (np.array([2, 0, 0], dtype=np.uint8), np.array([1, 2, 1], dtype=np.int32)),
        (torch.tensor([2, 0, 0]), torch.tensor([1, 2, 1], dtype=torch.int32)),
    ],
)
def test_edges_may_be_lists_arrays_or_tensors(ends: tuple[Any, Any]) -> None:
    graph = Graph.from_edges(*ends, x=np.eye(3))
    assert graph.indptr.tolist() == [0, 2, 2, 3]
    assert graph.indices.tolist() == [1, 2, 1]
    assert graph.indptr.dtype == graph.indices.dtype == torch.int64


@several
@given(multigraphs())
def test_rows_hold_every_edge_in_increasing_order(made: tuple[int, Edges]) -> None:
    n, edges = made
    graph = graph_of(n, edges)
    assert list(zip(graph.rows.tolist(), graph.indices.tolist(), strict=True)) == sorted(edges)
    np.testing.assert_array_equal(matrix(graph), counts(n, edges))
    assert graph.degree.tolist() == counts(n, edges).sum(axis=1).tolist()
    assert (graph.num_nodes, graph.num_edges) == (n, len(edges))


def test_a_graph_without_edges() -> None:
    graph = graph_of(2, [])
    assert (graph.num_nodes, graph.num_edges, graph.degree.tolist()) == (2, 0, [0, 0])
    assert graph.symmetrized().coalesced().without_loops().num_edges == 0


def test_dense_features_become_float32_rows() -> None:
    x = np.array([[1, 2], [3, 4]], dtype=np.float64)
    for given_x in (x, x.tolist(), np.asfortranarray(x), torch.from_numpy(x), x.astype(np.int32)):
        features = as_features(given_x)
        assert features.dtype == torch.float32
        assert features.is_contiguous()
        assert features.tolist() == x.tolist()


def test_one_feature_per_node_may_come_flat() -> None:
    assert Graph.from_edges([0], [1], x=[3.0, 4.0]).x.tolist() == [[3.0], [4.0]]


@pytest.mark.parametrize("kind", [sp.csr_array, sp.coo_array, sp.csc_matrix, sp.lil_array])
def test_sparse_features_stay_sparse(kind: Any) -> None:
    dense = np.array([[0, 2.5, 0], [0, 0, 0], [1, 0, -3]])
    features = as_features(kind(dense))
    assert features.layout == torch.sparse_csr
    assert features.dtype == torch.float32
    np.testing.assert_array_equal(features.to_dense().numpy(), dense)


def test_torch_sparse_features_become_csr() -> None:
    dense = torch.tensor([[0.0, 2.0], [1.0, 0.0]])
    features = as_features(dense.to_sparse_coo().double())
    assert features.layout == torch.sparse_csr
    assert features.dtype == torch.float32
    assert torch.equal(features.to_dense(), dense)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_reading_sparse_features_leaves_the_callers_matrix_alone(kind: Any) -> None:
    # Columns out of order and one entry twice: both are put right, in a copy.
    parts = (np.array([1, 2, 3, 4], dtype=kind), np.array([2, 0, 0, 1]), np.array([0, 3, 4]))
    x = sp.csr_array(parts, shape=(2, 3))
    assert as_features(x).to_dense().tolist() == [[5, 0, 1], [0, 4, 0]]
    assert x.data.tolist() == [1, 2, 3, 4]
    assert x.indices.tolist() == [2, 0, 0, 1]
    assert x.indptr.tolist() == [0, 3, 4]


def test_labels_may_be_whole_floats() -> None:
    graph = graph_of(3, [], y=np.array([0.0, 2.0, -1.0]))
    assert graph.y is not None
    assert graph.y.tolist() == [0, 2, -1]
    assert graph.y.dtype == torch.int64
    assert graph.num_classes == 3


def test_a_graph_without_labels_has_no_classes() -> None:
    assert graph_of(2, []).num_classes == 0


def test_ids_are_kept() -> None:
    assert graph_of(2, []).node_ids.tolist() == [0, 1]
    assert graph_of(2, [], node_ids=["ann", "bob"]).node_ids.tolist() == ["ann", "bob"]
    mixed = np.array([1, "a", (2, 3)], dtype=object)
    assert graph_of(3, [], node_ids=mixed).node_ids.tolist() == [1, "a", (2, 3)]


def test_repr_tells_sizes() -> None:
    split = Split(tensor(0), tensor(1), tensor(2))
    graph = Graph.from_edges([0] * 1200, [1] * 1200, x=sp.csr_array(np.eye(3)), y=[0, 1, 1], splits=[split], name="toy")
    assert repr(graph) == "Graph('toy': 3 nodes, 1,200 directed edges, 3 sparse features, 2 classes, 1 splits)"
    assert "2 dense features, 0 classes, 0 splits" in repr(graph_of(3, []))


def test_frozen() -> None:
    graph = graph_of(2, [(0, 1)])
    for field in dataclasses.fields(graph):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(graph, field.name, None)


# Validation: each message names what is wrong and what to do

SPLIT = Split(tensor(0), tensor(1), tensor(2), name="first")


@pytest.mark.parametrize(
    ("parts", "wrong", "fix"),
    [
        ({"x": np.zeros((0, 2)), "source": [], "target": []}, "no nodes", "give at least one row"),
        ({"target": [1, 3]}, "target 3, but the features have 3 rows", "from 0 to 2; add the missing rows or drop the edge"),
        ({"source": [-1, 0]}, "source -1", "add the missing rows or drop the edge"),
        ({"source": [0]}, "1 edge sources but 2 edge targets", "give one of each per edge"),
        ({"source": [0.0, 1.0]}, "edge sources are float64", "give node positions"),
        ({"target": torch.tensor([True, False])}, "edge targets are torch.bool", "give node positions"),
        ({"target": torch.tensor([0.5, 1])}, "edge targets are torch.float32", "give node positions"),
        ({"target": ["a", "b"]}, "edge targets are <U1", "give node positions"),
        ({"x": np.zeros((3, 0))}, "features have no columns", "leave them out"),
        ({"x": np.zeros((3, 2, 2))}, "shape (3, 2, 2), but the graph has 3 nodes", "give one row per node"),
        ({"x": [["a"], ["b"], ["c"]]}, "features are list of <U1", "array of numbers"),
        ({"x": None}, "features are NoneType", "array of numbers"),
        ({"x": 1.0}, "features are float", "array of numbers"),
        ({"y": [0, 1]}, "labels have shape (2,)", "give 3 integers"),
        ({"y": np.eye(3, dtype=int)}, "labels have shape (9,)", "give 3 integers"),
        ({"y": [0, 1, 1.5]}, "got 1.5", "number the classes 0, 1, 2"),
        ({"y": torch.tensor([0, 1, 1.5])}, "got 1.5", "number the classes 0, 1, 2"),
        ({"y": np.array([0, 1, np.nan])}, "got nan", "-1 for unknown"),
        ({"y": [0, 1, "cat"]}, "got 'cat'", "number the classes 0, 1, 2"),
        ({"y": np.array(["cat", "dog", "cat"])}, "got 'cat'", "number the classes 0, 1, 2"),
        ({"y": [0, 1, None]}, "got None", "-1 for unknown"),
        ({"y": [True, False, True]}, "got dtype('bool')", "number the classes 0, 1, 2"),
        ({"y": [0, 1, -2]}, "got -2", "renumber the classes"),
        ({"node_ids": ["b", "a", "b"]}, "node id 'b' appears 2 times", "must be unique"),
        ({"node_ids": [7, 7, 7]}, "node id 7 appears 3 times", "must be unique"),
        ({"node_ids": [(0, 1), (0, 2), (0, 3)]}, "shape (3, 2)", "of dtype object"),
        ({"node_ids": ["a", "b"]}, "2 node ids for 3 nodes", "give one id per node"),
        ({"splits": [Split(tensor(0, 1), tensor(1), tensor(2), name="s")]}, "'s' has a node twice", "make them disjoint"),
        ({"splits": [SPLIT, Split(tensor(0), tensor(3), tensor(), name="s")]}, "'s' names node 3", "from 0 to 2; drop it"),
        ({"splits": [Split(tensor(-1), tensor(0), tensor(), name="s")]}, "'s' names node -1", "from 0 to 2; drop it"),
    ],
)
def test_refused(parts: dict[str, Any], wrong: str, fix: str) -> None:
    sound: dict[str, Any] = {"source": [0, 1], "target": [1, 2], "x": np.ones((3, 2)), "y": [0, 1, -1], "splits": [SPLIT]}
    given_parts = {**sound, **parts}
    with pytest.raises(ValueError, match=f"{re.escape(wrong)}.*{re.escape(fix)}"):
        Graph.from_edges(given_parts.pop("source"), given_parts.pop("target"), **given_parts)


def test_feature_rows_must_match_the_nodes() -> None:
    graph = graph_of(3, [])
    with pytest.raises(ValueError, match=r"shape \(2, 5\), but the graph has 3 nodes; give one row per node"):
        graph.with_features(np.ones((2, 5)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_features_that_are_not_finite_name_the_node(value: float, layout: Any) -> None:
    x = np.array([[0, 1.0], [0, 0], [0, 5], [value, value]])
    # The row before is empty in one order: its node must not be blamed.
    for order, node in (([0, 1, 2, 3], "dora"), ([0, 2, 3, 1], "carl"), ([3, 0, 1, 2], "ann")):
        with pytest.raises(ValueError, match=f"2 feature values are NaN or infinite .*node '{node}'.*fill or drop them"):
            Graph.from_edges([], [], x=layout(x[order]), node_ids=["ann", "bob", "carl", "dora"])
    with pytest.raises(ValueError, match=r"node 3\)"):
        Graph.from_edges([], [], x=layout(x))


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        (tensor(), tensor(), "no nodes"),
        (tensor(0), tensor(), "no nodes"),
        (tensor(0, 1, 2).int(), tensor(1, 0), "must be int64, got torch.int32 and torch.int64; use .long"),
        (tensor(1, 1, 2), tensor(1, 0), "must rise from 0 to the number of entries .2., got 1 to 2"),
        (tensor(0, 1, 1), tensor(1, 0), "must rise from 0 to the number of entries .2., got 0 to 1"),
        (tensor(0, 3, 2), tensor(1, 0), "must rise"),
        (tensor(0, 1, 2), tensor(1, 2), "column indices run from 1 to 2, but there are 2 columns"),
        (tensor(0, 1, 2), tensor(-1, 0), "column indices run from -1 to 0"),
        (tensor(0, 2, 2), tensor(1, 0), "in increasing order; build the graph with Graph.from_edges"),
    ],
)
def test_csr_parts_are_checked(indptr: Tensor, indices: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Graph(indptr, indices, torch.ones(2, 1))


# Graph -> Graph, against scipy and networkx


@several
@given(multigraphs())
def test_edge_changes_agree_with_scipy(made: tuple[int, Edges]) -> None:
    n, edges = made
    graph, a = graph_of(n, edges), counts(n, edges)
    np.testing.assert_array_equal(matrix(graph.coalesced()), a > 0)
    np.testing.assert_array_equal(matrix(graph.without_loops()), a - np.diag(np.diag(a)))
    np.testing.assert_array_equal(matrix(graph.symmetrized()), (a + a.T) > 0)
    np.testing.assert_array_equal(matrix(graph.with_edges(graph.indices, graph.rows)), a.T)


@several
@given(multigraphs())
def test_symmetrized_is_networkx_undirected(made: tuple[int, Edges]) -> None:
    n, edges = made
    expected: Any = nx.MultiDiGraph(edges)
    expected.add_nodes_from(range(n))
    undirected = nx.to_numpy_array(nx.Graph(expected), nodelist=range(n))
    np.testing.assert_array_equal(matrix(graph_of(n, edges).symmetrized()), undirected)


@several
@given(multigraphs())
def test_transposed_lists_reversed_edges_and_where_they_came_from(made: tuple[int, Edges]) -> None:
    n, edges = made
    graph = graph_of(n, edges)
    indptr, indices, order = graph.transposed
    reversed_graph = Graph(indptr, indices, graph.x)  # refuses rows out of order
    np.testing.assert_array_equal(matrix(reversed_graph), counts(n, edges).T)
    assert torch.equal(graph.rows[order], reversed_graph.indices)
    assert torch.equal(graph.indices[order], reversed_graph.rows)
    assert sorted(order.tolist()) == list(range(len(edges)))


@several
@given(multigraphs())
def test_is_symmetric_counts_parallel_edges(made: tuple[int, Edges]) -> None:
    n, edges = made
    a = counts(n, edges)
    assert graph_of(n, edges).is_symmetric == np.array_equal(a, a.T)
    assert graph_of(n, edges + [(j, i) for i, j in edges]).is_symmetric


def test_symmetric_by_hand() -> None:
    assert graph_of(3, [(0, 1), (1, 0), (2, 2)]).is_symmetric
    assert not graph_of(3, [(0, 1)]).is_symmetric
    assert not graph_of(3, [(0, 1), (0, 1), (1, 0)]).is_symmetric
    assert not graph_of(3, [(0, 1), (1, 2), (2, 0)]).is_symmetric  # as many edges in as out, everywhere


@several
@given(multigraphs())
def test_neighbourhoods_leave_the_node_out_and_closed_ones_hold_it_once(made: tuple[int, Edges]) -> None:
    n, edges = made
    graph, a = graph_of(n, edges), counts(n, edges)
    without = a - np.diag(np.diag(a))
    np.testing.assert_array_equal(entries(graph.neighbourhoods), without)
    np.testing.assert_array_equal(entries(graph.closed_neighbourhoods), without + np.eye(n))


def test_neighbourhoods_of_a_graph_without_loops_cost_nothing() -> None:
    graph = graph_of(2, [(0, 1)])
    assert graph.neighbourhoods is graph.csr
    looped = graph_of(2, [(0, 1), (1, 1)])
    assert looped.neighbourhoods is looped.neighbourhoods


def test_other_edges_and_features_keep_the_rest() -> None:
    graph = graph_of(3, [(0, 1), (1, 1)], y=[0, 1, 1], splits=[SPLIT], node_ids=["a", "b", "c"], name="toy")
    for changed in (graph.symmetrized(), graph.without_loops(), graph.with_features(np.ones((3, 4)))):
        assert changed.y is graph.y
        assert changed.splits == graph.splits
        assert changed.node_ids is graph.node_ids
        assert changed.name == "toy"
    assert graph.with_features(np.ones((3, 4))).num_features == 4
    assert graph.with_features(np.ones((3, 4))).num_edges == 2
    assert graph.with_splits([]).splits == ()
    assert graph.num_edges == 2  # the original is as it was


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@several
@given(made=multigraphs(), data=st.data())
def test_subgraph_is_the_block_of_its_nodes(layout: Any, made: tuple[int, Edges], data: st.DataObject) -> None:
    n, edges = made
    nodes = data.draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True))
    x = np.column_stack([np.arange(n), np.arange(n) % 2])
    ids = np.array([f"node {i}" for i in range(n)])
    graph = graph_of(n, edges, x=layout(x), y=np.arange(n), node_ids=ids, name="toy")
    part = graph.subgraph(torch.tensor(nodes))
    np.testing.assert_array_equal(matrix(part), counts(n, edges)[np.ix_(nodes, nodes)])
    np.testing.assert_array_equal(part.x.to_dense().numpy(), x[nodes])
    assert part.x.layout == graph.x.layout
    assert part.y is not None
    assert part.y.tolist() == nodes
    assert part.node_ids.tolist() == ids[nodes].tolist()
    assert part.name == "toy"

    mask = torch.zeros(n, dtype=torch.bool)
    mask[nodes] = True
    by_mask = graph.subgraph(mask)
    assert by_mask.node_ids.tolist() == ids[sorted(nodes)].tolist()
    np.testing.assert_array_equal(matrix(by_mask), counts(n, edges)[np.ix_(sorted(nodes), sorted(nodes))])


def test_subgraph_leaves_splits_behind_and_needs_no_labels() -> None:
    part = graph_of(3, [(0, 1)], splits=[SPLIT]).subgraph(tensor(0, 1))
    assert part.splits == ()
    assert part.y is None


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (tensor(2, 0, 2), "node 2 is named more than once.*nodes.unique"),
        (torch.tensor([True, False]), r"mask has shape \(2,\); give one value for each of 3 nodes"),
        (tensor(), "no nodes"),
    ],
)
def test_subgraphs_refused(nodes: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        graph_of(3, [(0, 1)]).subgraph(nodes)


def test_to_the_same_device_is_the_same_graph() -> None:
    graph = graph_of(2, [(0, 1)])
    assert graph.to("cpu") is graph
    assert graph.device == torch.device("cpu")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_to_a_gpu_and_back(layout: Any) -> None:
    graph = graph_of(3, [(0, 1), (2, 1)], x=layout(np.eye(3)), y=[0, 1, 1], splits=[SPLIT], node_ids=["a", "b", "c"])
    there = graph.to("cuda")
    assert there.y is not None
    assert all(part.is_cuda for part in (there.indptr, there.indices, there.x, there.y, there.splits[0].train))
    back = there.symmetrized().to("cpu")
    np.testing.assert_array_equal(matrix(back), matrix(graph.symmetrized()))
    assert torch.equal(back.x.to_dense(), torch.eye(3))
    assert back.node_ids.tolist() == ["a", "b", "c"]


# Statistics


def test_homophily_by_definition_1() -> None:
    # Edges as stored: 0-1 same, both ways; 1->2 differs; the loop of 2 agrees with itself; 2-3 does not count, 3 is unknown.
    edges = [(0, 1), (1, 0), (1, 2), (2, 2), (2, 3), (3, 2)]
    assert graph_of(4, edges, y=[0, 0, 1, -1]).homophily() == 3 / 4
    assert graph_of(4, [*edges, (1, 2)], y=[0, 0, 1, -1]).homophily() == 3 / 5  # parallel edges each count


def test_two_unknown_labels_are_not_the_same_class() -> None:
    assert np.isnan(graph_of(2, [(0, 1)], y=[-1, -1]).homophily())
    assert np.isnan(graph_of(2, [], y=[0, 0]).homophily())


def test_homophily_needs_labels() -> None:
    with pytest.raises(ValueError, match=r"'toy' has no labels.*pass labels"):
        graph_of(2, [(0, 1)], name="toy").homophily()


@several
@given(multigraphs())
def test_summary_agrees_with_networkx(made: tuple[int, Edges]) -> None:
    n, edges = made
    other: Any = nx.MultiDiGraph(edges)
    other.add_nodes_from(range(n))
    degrees = [degree for _, degree in other.out_degree()]
    summary = graph_of(n, edges, y=[0] * n).summary()
    homophily = summary.pop("homophily")
    assert np.isnan(homophily) if not edges else homophily == 1.0
    assert summary == {
        "nodes": n,
        "directed edges": len(edges),
        "self-loops": nx.number_of_selfloops(other),
        "features": 2,
        "classes": 1,
        "components": nx.number_weakly_connected_components(other),
        "isolated nodes": nx.number_of_isolates(other),
        "mean degree": np.mean(degrees),
        "median degree": np.median(degrees),
        "max degree": max(degrees),
    }


def test_summary_without_labels_has_no_homophily() -> None:
    assert "homophily" not in graph_of(2, [(0, 1)]).summary()
