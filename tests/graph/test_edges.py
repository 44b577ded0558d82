"""Edge weights in a Graph: None where all are 1, sums where edges are merged, and one line that names a wrong one."""

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from localgcl.config import LocalGCLWarning, Preparation
from localgcl.graph import Graph
from localgcl.graph.csr import CSR
from localgcl.graph.prepare import prepare, structural_features
from tests.references.graphs import messy_graph, weighted_graph, with_parallels


def make(source: list[int], target: list[int], weights: Any, **parts: Any) -> Graph:
    return Graph.from_edges(source, target, x=torch.eye(4), weights=weights, **parts)


def dense(graph: Graph) -> Any:
    return graph.to_scipy().toarray()


GRAPH = weighted_graph()

# What is stored


@pytest.mark.parametrize("ones", [[1, 1, 1], np.ones((3, 1)), torch.ones(3, dtype=torch.bfloat16), [True, True, True]])
def test_weights_of_1_are_no_weights(ones: Any) -> None:
    graph = make([0, 1, 1], [1, 2, 2], ones)
    assert graph.weights is None
    assert graph.csr.weights is None
    assert "with weights" not in repr(graph)


def test_weights_follow_their_edges_when_these_are_sorted() -> None:
    graph = make([2, 0, 1], [0, 1, 3], np.array([2.5, 0.5, 3], dtype=">f8"))
    assert graph.weights is not None
    assert (graph.rows.tolist(), graph.indices.tolist(), graph.weights.tolist()) == ([0, 1, 2], [1, 3, 0], [0.5, 3.0, 2.5])
    assert graph.csr.weights is graph.weights
    assert "3 directed edges with weights," in repr(graph)


def test_zero_is_no_edge_and_said_once() -> None:
    with pytest.warns(LocalGCLWarning, match=r"^2 edges of weight 0 are left out \(first 'b' -> 'c'\)$") as caught:
        graph = make([0, 1, 2], [1, 2, 3], [2, 0, 1e-60], node_ids=["a", "b", "c", "d"])  # 1e-60 is 0 in single precision
    assert len(caught) == 1
    assert graph.num_edges == 1


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf"), 1e39])
def test_a_wrong_weight_names_its_edge(wrong: float) -> None:
    with pytest.raises(ValueError, match=r"the weight of edge 'b' -> 'c' is .*; weights are numbers from 0 to 3\.4e\+38: mend"):
        make([0, 1], [1, 2], [1.0, wrong], node_ids=["a", "b", "c", "d"])
    with pytest.raises(ValueError, match="the weight of edge 1 -> 2 is"):
        make([0, 1], [1, 2], [1.0, wrong])
    with pytest.raises(ValueError, match="the weight of edge 1 -> 2 is"):
        make([0], [1], None).with_edges(torch.tensor([0, 1]), torch.tensor([1, 2]), torch.tensor([1.0, wrong]))


@pytest.mark.parametrize("wrong", [[1.0], [[1.0, 2.0]], [1.0, 2.0, 3.0], 1.0])
def test_there_is_one_weight_an_edge(wrong: Any) -> None:
    with pytest.raises(ValueError, match="but there are 2 edges; give one number an edge"):
        make([0, 1], [1, 2], wrong)


@pytest.mark.parametrize("wrong", [["1", "2"], [1j, 2], [None, 1]])
def test_weights_are_numbers(wrong: Any) -> None:
    with pytest.raises(ValueError, match="edge weights are of type"):
        make([0, 1], [1, 2], wrong)


@pytest.mark.parametrize("weights", [torch.tensor([0.0]), torch.tensor([torch.nan]), torch.ones(1).double()])
def test_the_constructor_checks_them(weights: torch.Tensor) -> None:
    with pytest.raises(ValueError, match=r"weight of edge 0 -> 1 is (0\.0|nan)|edge weights have shape .*; give 1 float32"):
        Graph(torch.tensor([0, 1, 1]), torch.tensor([1]), torch.eye(2), weights=weights)


# Graph -> Graph


def test_parallel_edges_sum() -> None:
    graph = make([0, 0, 0, 1], [1, 1, 2, 3], [1, 2.5, 4, 0.5]).coalesced()
    assert graph.weights is not None
    assert (graph.indices.tolist(), graph.weights.tolist()) == ([1, 2, 3], [3.5, 4.0, 0.5])
    halves = make([0, 0, 1], [1, 1, 2], [0.5, 0.5, 1]).coalesced()
    assert halves.weights is None


def test_a_sum_that_is_too_large_is_refused() -> None:
    graph = make([0, 0], [1, 1], [3e38, 3e38])
    with pytest.raises(ValueError, match=r"the weight of edge 0 -> 1 is inf; .* and so are the sums of parallel ones: rescale"):
        graph.coalesced()


def test_opposite_directions_sum() -> None:
    graph = make([0, 1, 1, 2, 3], [1, 0, 2, 1, 3], [2, 3, 5, 0.5, 7]).symmetrized()
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[1, 0] = 5
    expected[1, 2] = expected[2, 1] = 5.5
    expected[3, 3] = 7  # a loop has no opposite direction
    np.testing.assert_array_equal(dense(graph), expected)


@pytest.mark.parametrize("seed", range(3))
def test_the_undirected_graph_is_symmetric_to_the_bit_and_stays(seed: int) -> None:
    graph = weighted_graph(seed=seed).symmetrized()
    assert graph.is_symmetric
    again = graph.symmetrized()
    assert torch.equal(again.indices, graph.indices)
    assert again.weights is not None
    assert graph.weights is not None
    assert torch.equal(again.weights, graph.weights)


def test_an_undirected_graph_in_both_directions_keeps_its_weights() -> None:
    weights = np.array([0.3, 2, 0.3, 2])
    graph = make([0, 1, 1, 2], [1, 2, 0, 1], weights).symmetrized()
    np.testing.assert_array_equal(dense(graph), dense(make([0, 1, 1, 2], [1, 2, 0, 1], weights)))
    # Both directions were computed, and differ by rounding.
    rounded = make([0, 1, 1, 2], [1, 2, 0, 1], weights * [1 + 1e-7, 1, 1, 1 - 1e-7]).symmetrized()
    np.testing.assert_allclose(dense(rounded), dense(graph), rtol=2e-7)
    assert rounded.is_symmetric


def test_all_changes_of_a_graph_keep_the_weights() -> None:
    n = GRAPH.num_nodes
    order = torch.randperm(n, generator=torch.Generator().manual_seed(0))
    np.testing.assert_array_equal(dense(GRAPH.subgraph(order)), dense(GRAPH)[order][:, order])
    np.testing.assert_array_equal(dense(GRAPH.without_loops()), dense(GRAPH) - np.diag(np.diag(dense(GRAPH))))
    for same in (GRAPH.with_features(torch.ones(n, 2)), GRAPH.derived(name="other"), GRAPH.with_splits(()), GRAPH.to("cpu")):
        assert same.weights is GRAPH.weights
    mask = torch.arange(GRAPH.num_edges) % 3 > 0
    kept = GRAPH.keep_edges(mask)
    assert GRAPH.weights is not None
    assert kept.weights is not None
    assert torch.equal(kept.weights, GRAPH.weights[mask])
    assert kept.csr.weights is kept.weights
    np.testing.assert_array_equal(dense(GRAPH.with_reversed()), dense(GRAPH) + dense(GRAPH).T)
    without: Any = dataclasses.replace(GRAPH, weights=None, structure=None)
    assert without.weights is None


def test_loops_of_neighbourhoods_have_weight_1() -> None:
    bare = dense(GRAPH) - np.diag(np.diag(dense(GRAPH)))
    np.testing.assert_array_equal(GRAPH.neighbourhoods.to_scipy().toarray(), bare)
    np.testing.assert_array_equal(GRAPH.closed_neighbourhoods.to_scipy().toarray(), bare + np.eye(len(bare)))


def test_the_transpose_and_row_sums() -> None:
    np.testing.assert_array_equal(GRAPH.csr.reversed.to_scipy().toarray(), dense(GRAPH).T)
    # One rounding to single precision an entry.
    np.testing.assert_allclose(GRAPH.csr.strength.numpy(), dense(GRAPH).sum(1), rtol=1e-6)
    plain = messy_graph().csr
    assert plain.strength is plain.degree


@pytest.mark.parametrize(("change", "expected"), [(lambda w: w, True), (lambda w: w * torch.tensor([1, 2.0]), False)])
def test_symmetry_is_of_edges_and_weights(change: Callable[[torch.Tensor], torch.Tensor], expected: bool) -> None:
    csr = CSR(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), weights=change(torch.tensor([0.5, 0.5])))
    assert csr.is_symmetric is expected


# Preparation


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("symmetrise", [False, True])
def test_a_weight_of_k_is_k_parallel_edges_that_are_kept(symmetrise: bool, drop: bool) -> None:
    graph, preparation = weighted_graph(whole=True), Preparation("raw", symmetrise, drop, "keep")
    ours, parallel = prepare(graph, preparation, {}), prepare(with_parallels(graph), preparation, {})
    np.testing.assert_array_equal(dense(ours), dense(parallel))
    assert parallel.num_edges > ours.num_edges


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("symmetrise", [False, True])
def test_merged_edges_of_a_directed_graph_have_the_weight_of_all(symmetrise: bool, drop: bool) -> None:
    graph = weighted_graph(whole=True)
    merged = prepare(graph, Preparation(symmetrise=symmetrise, drop_loops=drop), {})
    kept = prepare(graph, Preparation(symmetrise=symmetrise, drop_loops=drop, parallel_edges="keep"), {})
    expected = dense(kept)
    if symmetrise and not drop:
        np.fill_diagonal(expected, np.diag(expected) / 2)  # A + A^T has each loop twice
    np.testing.assert_array_equal(dense(merged), expected)
    assert merged.num_edges < kept.num_edges


def test_structural_features_see_the_weights() -> None:
    graph = weighted_graph(whole=True).symmetrized()
    with_weights, parallel = structural_features(graph), structural_features(with_parallels(graph))
    torch.testing.assert_close(with_weights, parallel, rtol=0, atol=1e-6)  # the order of sums in double precision
    assert graph.weights is not None
    small = dataclasses.replace(graph, weights=graph.weights / 1000, structure=None)
    # Below 1 the sums of weights still divide: averages are the same, and only the logarithm of the degree differs.
    torch.testing.assert_close(structural_features(small)[:, 1:], with_weights[:, 1:], rtol=0, atol=1e-5)


# Statistics


def test_homophily_counts_edges_by_their_weights() -> None:
    graph = make([0, 1, 2], [1, 2, 3], [3, 1, 1], y=[0, 0, 1, -1])
    assert graph.homophily() == 0.75
    assert graph.summary()["sum of weights"] == 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "sum of weights" not in messy_graph().summary()
