import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.preprocessing import StandardScaler, normalize

from localgcl.config import LocalGCLWarning, Preparation, Scaling
from localgcl.graph import Graph, Split
from localgcl.graph.prepare import column_statistics, featureless, prepare, scale, structural_features

# Counts, negatives and zeros in sizes a bag of words or a measurement has; some rows are all zero.
tables = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 6), st.integers(1, 5)),
    elements=st.one_of(st.just(0.0), st.integers(-9, 9).map(float), st.floats(2**-10, 2**10, width=32)),
)


def graph_of(x: Any, edges: list[tuple[int, int]] | None = None, **parts: Any) -> Graph:
    edges = edges or []
    return Graph.from_edges([i for i, _ in edges], [j for _, j in edges], x=x, **parts)


def random_graph(n: int, num_edges: int, seed: int, **parts: Any) -> Graph:
    random = np.random.default_rng(seed)
    ends = random.integers(0, n, (2, num_edges))
    return Graph.from_edges(*ends, x=np.ones((n, 1)), **parts).symmetrized()


# Scaling


@pytest.mark.parametrize("scaling", ["raw", "binary", "l1", "l2", "standard"])
@settings(deadline=None, max_examples=40)
@given(x=tables)
def test_sparse_and_dense_features_are_scaled_alike(scaling: Scaling, x: Any) -> None:
    dense, sparse = graph_of(x), graph_of(sp.csr_array(x))
    results = [scale(graph.x, scaling, column_statistics(graph, scaling)) for graph in (dense, sparse)]
    assert torch.isfinite(results[0]).all()
    # Both round each entry once; only the order of a row's few additions may differ (float32 has 24 bits).
    torch.testing.assert_close(results[1].to_dense(), results[0], rtol=1e-6, atol=0)
    assert (results[1].layout == torch.sparse_csr) == (scaling != "standard")


@settings(deadline=None, max_examples=40)
@given(tables)
def test_scaled_rows_agree_with_scikit_learn(x: Any) -> None:
    for norm in ("l1", "l2"):
        scaled = scale(graph_of(x).x, norm, {})
        np.testing.assert_allclose(scaled.numpy(), normalize(x.astype(float), norm), rtol=1e-6)  # float32 against float64
    np.testing.assert_array_equal(scale(graph_of(x).x, "binary", {}).numpy(), x != 0)
    np.testing.assert_array_equal(scale(graph_of(x).x, "raw", {}).numpy(), x)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_rows_of_any_size_get_unit_norm(layout: Any, norm: Scaling) -> None:
    # The square of 1e30 is infinite in float32, that of 1e-30 is zero; 1e-40 has few bits, but they are exact.
    sizes = np.array([3e38, 1e30, 1e19, 1.0, 1e-19, 1e-30, 1e-40], dtype=np.float32)
    x = sizes[:, None] * np.array([1, 0, -0.5, 0.25], dtype=np.float32)
    scaled = scale(graph_of(layout(x)).x, norm, {}).to_dense().numpy()
    exact = x.astype(float)  # not scikit-learn, which takes norms below 1e-15 for zero
    exact /= np.linalg.norm(exact, 1 if norm == "l1" else 2, axis=1, keepdims=True)
    np.testing.assert_allclose(scaled, exact, rtol=1e-6)  # float32 against float64


@pytest.mark.parametrize("scaling", ["binary", "l1", "l2"])
def test_zero_rows_and_stored_zeros_stay_zero(scaling: Scaling) -> None:
    # Row 0 stores a zero beside a 3, row 1 nothing, row 2 only a zero.
    x = sp.csr_array((np.array([0.0, 3.0, 0.0]), np.array([0, 1, 0]), np.array([0, 2, 2, 3])), shape=(3, 2))
    graph = graph_of(x)
    assert graph.x.values().numel() == 3
    expected = [[0, 1], [0, 0], [0, 0]]
    assert scale(graph.x, scaling, {}).to_dense().tolist() == expected
    assert scale(graph.x.to_dense(), scaling, {}).tolist() == expected


def test_scaling_leaves_the_graph_as_it_was() -> None:
    for x in (np.array([[2.0, 2.0]]), sp.csr_array([[2.0, 2.0]])):
        graph = graph_of(x)
        prepare(graph, Preparation(scaling="l1"), {})
        assert graph.x.to_dense().tolist() == [[2, 2]]


def test_standard_scaling_agrees_with_scikit_learn() -> None:
    x = np.random.default_rng(0).normal(5, 3, (50, 4)).astype(np.float32)
    graph = graph_of(x)
    scaled = scale(graph.x, "standard", column_statistics(graph, "standard"))
    # Values of order 1 after subtracting a mean of order 5: a few float32 roundings of 5, divided by 3.
    np.testing.assert_allclose(scaled.numpy(), StandardScaler().fit_transform(x.astype(float)), atol=2e-6)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_new_graphs_are_standardised_with_the_training_statistics(layout: Any) -> None:
    statistics = column_statistics(graph_of(layout([[0.0, 10.0], [2.0, 30.0]])), "standard")
    new = prepare(graph_of(layout([[5.0, 20.0]])), Preparation(scaling="standard"), statistics)
    assert new.x.tolist() == [[4.0, 0.0]]  # means 1 and 20, deviations 1 and 10


@pytest.mark.parametrize("n", [1, 3, 10, 1000])
def test_constant_columns_become_zero_and_stay_harmless_on_new_graphs(n: int) -> None:
    # 0.1 has no exact binary form, so a careless deviation would be tiny instead of zero and blow new values up.
    graph = graph_of(np.full((n, 1), 0.1))
    statistics = column_statistics(graph, "standard")
    assert scale(graph.x, "standard", statistics).tolist() == [[0.0]] * n
    new = scale(graph_of([[1.1]]).x, "standard", statistics)
    assert new.item() == pytest.approx(1.0, rel=1e-6)  # one float32 subtraction


@pytest.mark.parametrize("scaling", ["raw", "binary", "l1", "l2"])
def test_only_standard_scaling_remembers_anything(scaling: Scaling) -> None:
    assert column_statistics(graph_of([[1.0], [2.0]]), scaling) == {}


# Edges


@pytest.mark.parametrize("symmetrise", [True, False])
@pytest.mark.parametrize("parallel_edges", ["drop", "keep"])
@pytest.mark.parametrize("drop_loops", [True, False])
def test_edges_by_matrix(symmetrise: bool, parallel_edges: Any, drop_loops: bool) -> None:
    edges = [(0, 1), (0, 1), (1, 0), (1, 2), (2, 2), (3, 3), (3, 3)]
    graph = graph_of(np.eye(5), edges, y=[0, 1, 0, 1, -1])
    a = np.zeros((5, 5))
    for i, j in edges:
        a[i, j] += 1
    if symmetrise:
        a = a + a.T
    if parallel_edges == "drop":
        a = np.minimum(a, 1)
    if drop_loops:
        np.fill_diagonal(a, 0)
    choices = Preparation(symmetrise=symmetrise, parallel_edges=parallel_edges, drop_loops=drop_loops)
    prepared = prepare(graph, choices, {})
    np.testing.assert_array_equal(prepared.to_scipy().toarray(), a)
    assert prepared.y is graph.y
    assert torch.equal(prepared.x, graph.x)


def test_keeping_parallel_edges_doubles_an_undirected_graph() -> None:
    graph = random_graph(20, 40, seed=0).without_loops()
    kept = prepare(graph, Preparation(parallel_edges="keep"), {})
    assert kept.num_edges == 2 * graph.num_edges
    np.testing.assert_array_equal(kept.to_scipy().toarray(), 2 * graph.to_scipy().toarray())
    assert prepare(graph, Preparation(), {}).num_edges == graph.num_edges


# Structural features


def test_structural_features_are_standardised_columns() -> None:
    x = structural_features(random_graph(60, 150, seed=0), 20)
    assert x.shape == (60, 20)
    assert x.dtype == torch.float32
    # Means and deviations of float32 numbers of order 1: rounding is 6e-8 each, 60 of them are averaged.
    torch.testing.assert_close(x.mean(dim=0), torch.zeros(20), atol=1e-6, rtol=0)
    torch.testing.assert_close(x.std(dim=0, correction=0), torch.ones(20), atol=1e-6, rtol=0)


@pytest.mark.parametrize("num_columns", [1, 2, 4, 5, 6, 128])
def test_as_many_columns_as_asked_for(num_columns: int) -> None:
    assert structural_features(random_graph(10, 20, seed=0), num_columns).shape == (10, num_columns)


@pytest.mark.parametrize("n", [5, 20, 61])
def test_structural_columns_that_are_constant_up_to_rounding_are_zero(n: int) -> None:
    """All degrees of a ring are equal; the mean of their logarithms is another double than each of them."""
    ring = graph_of(np.ones((n, 1)), [(i, (i + 1) % n) for i in range(n)]).symmetrized()
    assert structural_features(ring, 10)[:, 0].tolist() == [0.0] * n


def test_structural_columns_by_definition() -> None:
    chords = np.random.default_rng(0).integers(0, 30, (2, 20))
    ring = np.arange(30), (np.arange(30) + 1) % 30
    ends = np.concatenate([chords, ring], axis=1)
    graph = Graph.from_edges(*ends, x=np.ones((30, 1)), node_ids=[f"v{i}" for i in range(30)]).symmetrized()
    x = structural_features(graph, 7, hops=2)
    a = graph.to_scipy().toarray().astype(float)
    degree = a.sum(axis=1)
    average = a / np.maximum(degree, 1)[:, None]

    def standard(columns: Any) -> Any:
        return (columns - columns.mean(axis=0)) / columns.std(axis=0)

    np.testing.assert_allclose(x[:, 0].numpy(), standard(np.log1p(degree)), rtol=1e-5, atol=1e-6)  # float32 of float64
    # A second hop averages a first one: P (P R) from P R, whatever the signs in R. Standardising is affine, and P maps
    # constants to constants (the ring leaves no node isolated), so standard(P standard(P R)) = standard(P P R). The first
    # hop was rounded to float32 (6e-8 of values of order 1), and averaging shrinks columns a little before they are rescaled.
    np.testing.assert_allclose(x[:, 4:].numpy(), standard(average @ x[:, 1:4].numpy()), rtol=1e-4, atol=1e-5)


def test_a_star_shows_the_signs_of_a_node() -> None:
    # Every leaf sees the hub alone, so in the first hop all leaves have the hub's signs, and the hub something between.
    leaves = np.arange(1, 12)
    x = structural_features(graph_of(np.ones((12, 1)), [(0, int(i)) for i in leaves]).symmetrized(), 31, hops=1)
    assert torch.equal(x[1:], x[1:2].expand(11, -1))
    assert len(x[1, 1:].sign().unique()) == 2  # both signs occur


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000))
def test_node_order_does_not_matter_when_ids_are_the_same(seed: int) -> None:
    graph = random_graph(25, 40, seed=seed, node_ids=[f"v{i}" for i in range(25)])
    order = torch.from_numpy(np.random.default_rng(seed).permutation(25))
    # Sums run in another order: float64 rounding, rounded to float32 once, where a rounding may tip the other way.
    torch.testing.assert_close(
        structural_features(graph.subgraph(order), 40), structural_features(graph, 40)[order], rtol=1e-5, atol=1e-6
    )


def test_other_ids_give_other_features() -> None:
    edges = random_graph(25, 40, seed=0)
    named = random_graph(25, 40, seed=0, node_ids=[f"v{i}" for i in range(25)])
    x, y = structural_features(edges, 40), structural_features(named, 40)
    assert torch.equal(x[:, 0], y[:, 0])  # log degree knows no ids
    assert not torch.allclose(x[:, 1:], y[:, 1:], atol=0.1)


def test_a_node_keeps_its_signs_when_the_graph_grows() -> None:
    # In a graph of pairs, the first hop of a node is the sign row of its partner, standardised by column: its sign pattern
    # against the column mean stays, whichever pairs join and wherever in the node order they come.
    small = ["a", "b", "c", "d", "e", "f"]
    large = ["x", "a", "y", "b", "c", "d", "z", "e", "f", "w"]
    pairs = [("a", "b"), ("c", "d"), ("e", "f"), ("x", "y"), ("z", "w")]

    def signs(ids: list[str]) -> dict[str, list[float]]:
        edges = [(ids.index(i), ids.index(j)) for i, j in pairs if i in ids]
        x = structural_features(graph_of(np.ones((len(ids), 1)), edges, node_ids=ids).symmetrized(), 65, hops=1)
        return dict(zip(ids, x[:, 1:].sign().tolist(), strict=True))

    before, after = signs(small), signs(large)
    # A column in which all signs agree is constant, hence zero: compare where neither is.
    told = 0
    for node in small:
        for old, new in zip(before[node], after[node], strict=True):
            if old != 0 and new != 0:
                assert old == new
                told += 1
    # Six fair signs all agree with probability 1/32, so nearly all of the 6 x 64 comparisons count.
    assert told > 300


def test_signs_are_the_same_in_another_process() -> None:
    # Python's own hash of text changes from process to process, so a model could not embed the graph it was trained on.
    code = """
from localgcl.graph import Graph
from localgcl.graph.prepare import structural_features
ids = ["ann", "bob", "carl", "ü"]
x = structural_features(Graph.from_edges([0, 1, 2], [1, 2, 3], x=[[1.0]] * 4, node_ids=ids).symmetrized(), 30)
print(x.numpy().tobytes().hex())
"""
    environment = {**os.environ, "PYTHONHASHSEED": "4321"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], x=[[1.0]] * 4, node_ids=["ann", "bob", "carl", "ü"])
    here = structural_features(graph.symmetrized(), 30).numpy().tobytes().hex()
    assert done.stdout.strip() == here
    assert len(here) == 4 * 30 * 8


def test_whole_numbers_and_their_text_are_different_ids() -> None:
    edges = [(0, 1), (1, 2), (2, 3)]
    numbers = graph_of(np.ones((4, 1)), edges, node_ids=[0, 1, 2, 3]).symmetrized()
    texts = graph_of(np.ones((4, 1)), edges, node_ids=["0", "1", "2", "3"]).symmetrized()
    assert not torch.equal(structural_features(numbers, 40), structural_features(texts, 40))
    small = graph_of(np.ones((4, 1)), edges, node_ids=np.arange(4, dtype=np.int16)).symmetrized()
    assert torch.equal(structural_features(numbers, 40), structural_features(small, 40))  # the width of an integer is no name


def test_labels_and_features_are_not_looked_at() -> None:
    edges = [(0, 1), (1, 2), (2, 3)]
    bare = graph_of(np.ones((4, 1)), edges)
    split = Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([2]))
    full = graph_of(np.eye(4), edges, y=[0, 1, 0, 1], splits=[split], name="other")
    assert torch.equal(structural_features(bare, 20), structural_features(full, 20))


@pytest.mark.parametrize("n", [3, 4, 7, 50])
def test_regular_and_empty_graphs_have_no_noise_columns(n: int) -> None:
    ring = graph_of(np.ones((n, 1)), [(i, (i + 1) % n) for i in range(n)]).symmetrized()
    assert structural_features(ring, 10)[:, 0].tolist() == [0.0] * n  # all degrees are equal
    assert structural_features(graph_of(np.ones((n, 1))), 10).abs().max() == 0


def test_featureless_graphs_say_so() -> None:
    with pytest.warns(LocalGCLWarning, match=r"no features given: using 1024 structural features.*pass features"):
        graph = featureless([0, 1, 1], [1, 2, 2], 4, y=[0, 1, 1, -1], node_ids=["a", "b", "c", "d"], name="toy")
    assert graph.num_edges == 3  # the edges stay as given
    assert graph.name == "toy"
    assert graph.node_ids.tolist() == ["a", "b", "c", "d"]
    assert graph.y is not None
    undirected = Graph.from_edges([0, 1], [1, 2], x=np.ones((4, 1)), node_ids=["a", "b", "c", "d"]).symmetrized()
    assert torch.equal(graph.x, structural_features(undirected, 1024))
    assert graph.structural
