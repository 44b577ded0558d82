import gc
import weakref
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.nn import augment
from localgcl.nn.augment import (
    Centrality,
    diffuse,
    drop_edges,
    edge_drop_rates,
    feature_drop_rates,
    mask_features,
    node_centrality,
    shuffle_features,
)
from localgcl.ops.propagation import propagation
from tests.references.augment import diffusion, drop_rates, top_rows
from tests.references.graphs import messy_graph, weighted_graph, with_parallels

CENTRALITIES: list[Centrality] = ["degree", "pagerank", "eigenvector"]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def words(n: int = 12, f: int = 9, seed: int = 0) -> Any:
    """Small counts, three quarters of them zero, and one column of zeros."""
    random = np.random.default_rng(seed)
    x = random.integers(1, 4, (n, f)) * (random.random((n, f)) < 0.25)
    x[:, 3] = 0
    return x.astype(np.float32)


def ring(n: int = 8) -> Graph:
    nodes = torch.arange(n)
    return Graph.from_edges(nodes, (nodes + 1) % n, x=torch.eye(n)).symmetrized()


def renamed(graph: Graph, position: Tensor) -> Graph:
    """The same graph with node i called position[i]."""
    x = torch.empty_like(graph.x)
    x[position] = graph.x
    return Graph.from_edges(position[graph.rows], position[graph.indices], x=x)


# Views


def test_dropping_keeps_order_and_takes_each_direction_on_its_own() -> None:
    graph = sbm(300, seed=0)
    view = drop_edges(graph, 0.3, generator())
    draws = torch.rand(graph.num_edges, generator=generator())
    assert torch.equal(view.rows, graph.rows[draws >= 0.3])
    assert torch.equal(view.indices, graph.indices[draws >= 0.3])
    assert not view.is_symmetric
    # A binomial share with this many edges (about 3,000) deviates by less than 0.9%; four deviations are allowed.
    assert view.num_edges / graph.num_edges == pytest.approx(0.7, abs=4 * (0.21 / graph.num_edges) ** 0.5)


@pytest.mark.parametrize("rate", [0.0, 0.4, 1.0])
def test_a_view_is_the_graph_its_edges_make(rate: float) -> None:
    graph = messy_graph(40, 200)
    view = drop_edges(graph, rate, generator(1))
    made = Graph.from_edges(view.rows, view.indices, x=graph.x)  # sorted and checked afresh
    assert torch.equal(view.indptr, made.indptr)
    assert torch.equal(view.indices, made.indices)
    for ours, theirs in zip(view.transposed, made.transposed, strict=True):
        assert torch.equal(ours, theirs)
    assert view.is_symmetric == made.is_symmetric
    assert torch.equal(propagation(view).csr.to_dense(), propagation(made).csr.to_dense())
    assert torch.equal(propagation(view).transposed.csr.to_dense(), propagation(made).csr.to_dense().T)


def test_a_view_of_a_view() -> None:
    graph = messy_graph(40, 200)
    twice = drop_edges(drop_edges(graph, 0.3, generator(1)), 0.3, generator(2))
    made = Graph.from_edges(twice.rows, twice.indices, x=graph.x)
    for ours, theirs in zip(twice.transposed, made.transposed, strict=True):
        assert torch.equal(ours, theirs)


def test_a_rate_for_each_edge() -> None:
    graph = ring()
    rates = (graph.indices > 3).float()
    view = drop_edges(graph, rates, generator())
    assert view.indices.max() <= 3
    assert view.num_edges == int((graph.indices <= 3).sum())


def test_a_view_is_neither_sorted_nor_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = sbm(100, seed=0)
    _ = graph.transposed
    for name in ("check_structure", "check_features", "sort_edges"):
        monkeypatch.setattr(f"localgcl.graph.graph.{name}", lambda *_: pytest.fail("done again"))
    view = mask_features(drop_edges(graph, 0.5, generator()), 0.5, generator())
    _ = propagation(view).transposed


def test_a_view_is_freed_at_once() -> None:
    graph = sbm(100, seed=0)
    view = drop_edges(graph, 0.5, generator())
    propagation(view)
    watched = weakref.ref(view.indices)
    gc.disable()
    try:
        del view
        assert watched() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_masked_columns_are_zero_and_others_as_they_were(layout: Any) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], x=layout(words(f=200)))
    view = mask_features(graph, 0.3, generator())
    assert view.x.layout == graph.x.layout
    keep = torch.rand(200, generator=generator()) >= 0.3
    assert 0 < int(keep.sum()) < 200
    assert torch.equal(view.x.to_dense(), graph.x.to_dense() * keep)
    assert torch.equal(graph.x.to_dense(), torch.from_numpy(words(f=200)))  # the graph itself is left alone
    rates = torch.zeros(200)
    rates[:50] = 1
    assert torch.equal(mask_features(graph, rates, generator()).x.to_dense()[:, 50:], graph.x.to_dense()[:, 50:])
    assert mask_features(graph, rates, generator()).x.to_dense()[:, :50].abs().max() == 0


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_shuffling_permutes_rows_and_leaves_edges(layout: Any) -> None:
    graph = messy_graph(12).with_features(layout(words()))
    view = shuffle_features(graph, generator())
    order = torch.randperm(12, generator=generator())
    assert torch.equal(view.x.to_dense(), graph.x.to_dense()[order])
    assert view.x.layout == graph.x.layout
    assert view.indices is graph.indices


@pytest.mark.parametrize("rate", [-0.1, 1.1])
def test_a_rate_is_a_probability(rate: float) -> None:
    for call in (drop_edges, mask_features):
        with pytest.raises(ValueError, match=r"the rate is .*; it is a probability from 0 to 1"):
            call(ring(), rate, generator())
    with pytest.raises(ValueError, match="the rate is"):
        edge_drop_rates(ring(), rate)


# Diffusion


@pytest.mark.parametrize("alpha", [0.05, 0.2, 1.0])
@pytest.mark.parametrize("undirected", [False, True])
def test_diffusion_is_the_inverse(alpha: float, undirected: bool) -> None:
    graph = messy_graph(30, 60)
    graph = graph.symmetrized() if undirected else graph
    expected = diffusion(graph.to_scipy().toarray().astype(np.float64), alpha)
    # float32, and the matrix to invert has condition number at most (2 - alpha) / alpha = 39 where it is symmetric.
    np.testing.assert_allclose(diffuse(graph, alpha).numpy(), expected, atol=2e-5)
    assert np.allclose(diffuse(graph, alpha)[-1].numpy(), np.eye(30)[-1])  # an isolated node keeps itself


@pytest.mark.parametrize("top_k", [1, 4, 30, 99])
@pytest.mark.parametrize("block", [1, 100, 2**25])
def test_sparse_diffusion_keeps_the_largest_of_each_row(monkeypatch: pytest.MonkeyPatch, top_k: int, block: int) -> None:
    monkeypatch.setattr(augment, "_BLOCK", block)
    graph = messy_graph(30, 60)
    full = diffusion(graph.to_scipy().toarray().astype(np.float64), 0.2)
    found = diffuse(graph, top_k=top_k)
    dense = found.csr.to_dense().numpy()
    assert ((dense > 0).sum(1) == np.minimum((full > 1e-12).sum(1), top_k)).all()
    np.testing.assert_allclose(dense.sum(1), full.sum(1), rtol=1e-5)
    # Entries that are equal in exact arithmetic may be kept one for the other: their values are the same, sorted.
    expected = top_rows(full, top_k)
    np.testing.assert_allclose(np.sort(dense, 1), np.sort(expected, 1), atol=1e-5)
    kept = dense > 0
    scale = full.sum(1, keepdims=True) / np.where(kept, full, 0).sum(1, keepdims=True)
    np.testing.assert_allclose(dense, np.where(kept, full * scale, 0), atol=1e-5)
    torch.testing.assert_close(found.transposed.csr.to_dense(), found.csr.to_dense().T)


def test_diffusion_does_not_depend_on_the_order_of_nodes() -> None:
    graph = messy_graph(30, 90)
    position = torch.randperm(30, generator=generator(3))
    first, second = diffuse(graph), diffuse(renamed(graph, position))
    # Two inverses in float32, rows in another order.
    torch.testing.assert_close(second[position][:, position], first, rtol=1e-4, atol=1e-6)


def test_diffusion_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="alpha is 0"):
        diffuse(ring(), 0)
    with pytest.raises(ValueError, match="top_k is 0; it must be at least 1"):
        diffuse(ring(), top_k=0)


# Rates by importance


def test_centralities_agree_with_networkx() -> None:
    graph = messy_graph(40, 200).coalesced()
    other: nx.DiGraph[int] = nx.DiGraph()
    other.add_nodes_from(range(40))
    other.add_edges_from(zip(graph.rows.tolist(), graph.indices.tolist(), strict=True))
    assert node_centrality(graph, "degree").tolist() == [d for _, d in other.in_degree()]
    ranks = nx.pagerank(other, alpha=0.85, tol=1e-14, max_iter=1000)
    # networkx stops at 1e-14 a node; 200 iterations here leave .85^200 = 1e-14.
    np.testing.assert_allclose(node_centrality(graph, "pagerank").numpy(), list(ranks.values()), atol=1e-12)
    leading = nx.eigenvector_centrality(other, max_iter=10_000, tol=1e-13)
    np.testing.assert_allclose(node_centrality(graph, "eigenvector").numpy(), list(leading.values()), atol=1e-9)


@pytest.mark.parametrize("kind", CENTRALITIES)
def test_edge_rates_follow_the_formula(kind: Centrality) -> None:
    graph = sbm(150, seed=1)
    centrality = node_centrality(graph, kind).numpy()
    expected = drop_rates(centrality[graph.indices.numpy()], 0.3, 0.7)
    rates = edge_drop_rates(graph, 0.3, kind)
    assert rates.dtype == torch.float32
    np.testing.assert_allclose(rates.numpy(), expected, rtol=1e-5, atol=1e-6)
    assert rates.min() == 0  # the edges to the most central node are never dropped
    assert edge_drop_rates(graph, 0.9, kind).max() == pytest.approx(0.7)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("magnitudes", [False, True])
@pytest.mark.parametrize("kind", CENTRALITIES)
def test_feature_rates_follow_the_formula_and_a_zero_column_is_least(layout: Any, magnitudes: bool, kind: Centrality) -> None:
    x = words(30, 9)
    graph = messy_graph(30, 90).symmetrized().with_features(layout(x))
    total = node_centrality(graph, kind).numpy() @ (np.abs(x) if magnitudes else x != 0)
    assert total[3] == 0
    total[3] = np.delete(total, 3).min()
    rates = feature_drop_rates(graph, 0.2, kind, magnitudes=magnitudes)
    np.testing.assert_allclose(rates.numpy(), drop_rates(total, 0.2, 0.7), rtol=1e-5, atol=1e-6)
    assert rates[3] == rates.max()


@pytest.mark.parametrize("kind", CENTRALITIES)
def test_on_a_regular_graph_all_rates_are_the_rate(kind: Centrality) -> None:
    graph = ring()
    assert edge_drop_rates(graph, 0.25, kind).tolist() == [0.25] * graph.num_edges
    assert feature_drop_rates(graph, 0.25, kind).tolist() == [0.25] * graph.num_features
    assert edge_drop_rates(graph, 0.9, kind).unique().tolist() == pytest.approx([0.7])


@pytest.mark.parametrize("kind", CENTRALITIES)
def test_rates_are_probabilities_whatever_the_graph(kind: Centrality) -> None:
    two = Graph.from_edges([0, 1, 2, 3, 0], [1, 0, 3, 2, 4], x=torch.eye(6))  # two components, a sink, an isolated node
    empty = Graph.from_edges([], [], x=torch.zeros(3, 2))
    for graph in (two, messy_graph(), empty, messy_graph().symmetrized()):
        for rates in (edge_drop_rates(graph, 0.4, kind), feature_drop_rates(graph, 0.4, kind)):
            assert torch.isfinite(rates).all()
            assert ((rates >= 0) & (rates <= 0.7)).all()


@pytest.mark.parametrize("kind", CENTRALITIES)
def test_rates_do_not_depend_on_the_order_of_nodes(kind: Centrality) -> None:
    graph = messy_graph(30, 90).symmetrized().with_features(words(30))
    position = torch.randperm(30, generator=generator(3))
    other = renamed(graph, position)
    torch.testing.assert_close(feature_drop_rates(graph, 0.3, kind), feature_drop_rates(other, 0.3, kind))
    dense, moved = torch.zeros(30, 30), torch.zeros(30, 30)
    dense[graph.rows, graph.indices] = edge_drop_rates(graph, 0.3, kind)
    moved[other.rows, other.indices] = edge_drop_rates(other, 0.3, kind)
    torch.testing.assert_close(moved[position][:, position], dense)


# Weights


def test_edges_that_stay_keep_their_weights() -> None:
    graph = weighted_graph(40, 300)
    view = drop_edges(graph, 0.5, generator())
    whole = graph.to_scipy().toarray()
    assert 0 < view.num_edges < graph.num_edges
    assert view.weights is not None
    assert graph.weights is not None
    assert set(zip(view.rows.tolist(), view.indices.tolist(), view.weights.tolist(), strict=True)) <= set(
        zip(graph.rows.tolist(), graph.indices.tolist(), graph.weights.tolist(), strict=True)
    )
    assert (view.to_scipy().toarray() <= whole).all()


@pytest.mark.parametrize("kind", CENTRALITIES)
def test_centralities_count_an_edge_of_weight_k_as_k_edges(kind: Centrality) -> None:
    graph = weighted_graph(whole=True)
    torch.testing.assert_close(node_centrality(graph, kind), node_centrality(with_parallels(graph), kind))


@pytest.mark.parametrize("top_k", [None, 5])
def test_diffusion_counts_an_edge_of_weight_k_as_k_edges(top_k: Any) -> None:
    graph = weighted_graph(whole=True).symmetrized()
    ours, parallel = (diffuse(each, 0.2, top_k) for each in (graph, with_parallels(graph)))
    if top_k is None:
        torch.testing.assert_close(ours, parallel)
    else:
        torch.testing.assert_close(ours.csr.to_dense(), parallel.csr.to_dense())
