"""The averaging matrix; its rows and the message flow of a batch, compared with the whole matrix."""

import dataclasses
from typing import Any

import pytest
import torch

from localgcl.graph import Graph
from localgcl.ops.propagation import Averages, adjacency, flow, propagation, strengths
from tests.losses.problems import seeded
from tests.references.graphs import messy_graph, weighted_graph, with_parallels


def dense(matrix: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The matrix and its transpose as it is stored."""
    return matrix.csr.to_dense(), matrix.transposed.csr.to_dense()


@pytest.mark.parametrize("self_loops", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("symmetrise", [False, True])
def test_row_normalisation_is_the_mean_over_incoming_edges(self_loops: float, symmetrise: bool) -> None:
    graph = messy_graph().symmetrized() if symmetrise else messy_graph()
    a = torch.from_numpy(graph.to_scipy().toarray()).T.clone()
    if self_loops > 0:
        a.fill_diagonal_(self_loops)
    expected = a / a.sum(1, keepdim=True).clamp(min=1e-9)
    matrix = propagation(graph, self_loops, "row")
    torch.testing.assert_close(matrix.csr.to_dense(), expected)
    torch.testing.assert_close(matrix.transposed.csr.to_dense(), expected.T)


@pytest.mark.parametrize("self_loops", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("symmetrise", [False, True])
def test_weights_are_normalised_by_their_sums(self_loops: float, symmetrise: bool) -> None:
    graph = weighted_graph().symmetrized() if symmetrise else weighted_graph()
    a = torch.from_numpy(graph.to_scipy().toarray()).double().T.clone()
    if self_loops > 0:
        a.fill_diagonal_(self_loops)
    sums = a.sum(1)
    half = torch.where(sums > 0, sums.rsqrt(), 0.0)
    expected = (half[:, None] * a * half).float()
    matrix, turned = dense(propagation(graph, self_loops))
    torch.testing.assert_close(matrix, expected)
    torch.testing.assert_close(turned, expected.T)
    assert propagation(graph, self_loops).symmetric == symmetrise


@pytest.mark.parametrize("normalisation", ["symmetric", "row"])
@pytest.mark.parametrize("self_loops", [0.0, 1.0])
def test_a_weight_of_k_is_k_parallel_edges(self_loops: float, normalisation: Any) -> None:
    graph = weighted_graph(whole=True)
    ours, parallel = (dense(propagation(each, self_loops, normalisation)) for each in (graph, with_parallels(graph)))
    torch.testing.assert_close(ours, parallel)
    torch.testing.assert_close(dense(adjacency(graph)), dense(adjacency(with_parallels(graph))))


def test_stored_ones_are_no_weights() -> None:
    """A graph never stores them; a view of a weighted graph may, once its other edges are dropped."""
    graph = messy_graph()
    ones = torch.ones(graph.num_edges)
    csr = graph.csr.with_weights(ones)
    stored = dataclasses.replace(graph, indptr=csr.indptr, indices=csr.indices, structure=csr, weights=ones, trusted=True)
    torch.testing.assert_close(dense(propagation(stored)), dense(propagation(graph)))
    assert all(torch.equal(*pair) for pair in zip(dense(adjacency(stored)), dense(adjacency(graph)), strict=True))


@pytest.mark.parametrize("self_loops", [0.0, 1.0])
@pytest.mark.parametrize("scale", [1e-44, 1e38])
def test_weights_of_any_size_give_averages(scale: float, self_loops: float) -> None:
    """Sums of large ones overflow in single precision."""
    graph = Graph.from_edges([0, 0, 0, 0, 1], [1, 2, 3, 4, 2], x=torch.eye(5), weights=[3 * scale] * 5).symmetrized()
    a = torch.from_numpy(graph.to_scipy().toarray()).double() + self_loops * torch.eye(5)
    half = a.sum(1).rsqrt()
    torch.testing.assert_close(propagation(graph, self_loops).csr.to_dense(), (half[:, None] * a * half).float())


DIRECTED = messy_graph(40, 200)
GRAPHS = {
    "directed": DIRECTED,
    "undirected": DIRECTED.symmetrized(),
    "weighted": weighted_graph(40, 200),
    "weighted, undirected": weighted_graph(40, 200).symmetrized(),
}
NODES = torch.tensor([7, 3, 30, 39, 0])


@pytest.mark.parametrize("self_loops", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_rows_are_those_of_the_whole_matrix(graph: Graph, self_loops: float) -> None:
    whole = propagation(graph, self_loops).csr.to_dense()
    rows, entries = Averages.of(graph, self_loops).block(NODES, 0, seeded(0))
    assert rows[: len(NODES)].tolist() == NODES.tolist()
    assert len(rows.unique()) == len(rows)
    expected = whole[NODES]
    found = torch.zeros_like(expected)
    found[:, rows] = entries.to_torch().to_dense()
    torch.testing.assert_close(found, expected)


def test_sampled_rows_are_right_on_average() -> None:
    graph = GRAPHS["weighted"]
    whole, generator = propagation(graph, 1.0).csr.to_dense()[NODES].double(), seeded(0)
    averages, draws = Averages.of(graph, 1.0), 500
    found = torch.zeros_like(whole)
    for _ in range(draws):
        rows, entries = averages.block(NODES, 2, generator)
        assert entries.degree.max() <= 3  # two neighbours and the node itself
        found[:, rows] += entries.to_torch().to_dense().double() / draws
    # An entry a, drawn with probability p = 2/d and scaled by 1/p, has deviation a sqrt(1/p - 1): five of them.
    share = (2 / averages.csr.degree[NODES].clamp(min=2))[:, None]
    assert bool(((found - whole).abs() <= 5 * whole * ((1 / share - 1) / draws).sqrt() + 1e-6).all())


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_flow_with_all_neighbours_is_exact(layers: int) -> None:
    graph = GRAPHS["weighted"]
    whole, x = propagation(graph, 1.0).csr.to_dense(), torch.randn(40, 5, generator=seeded(1))
    rows, matrices = flow(Averages.of(graph, 1.0), NODES, layers, 0, seeded(0))
    assert len(matrices) == layers
    h, expected = x[rows], x
    for matrix in matrices:
        h, expected = matrix.csr @ h, whole @ expected
    torch.testing.assert_close(h, expected[NODES])


def test_the_generator_decides() -> None:
    averages = Averages.of(GRAPHS["undirected"], 1.0)
    first, again, other = (flow(averages, NODES, 2, 2, seeded(seed)).rows.tolist() for seed in (0, 0, 1))
    assert first == again != other


def test_strengths_are_summed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = GRAPHS["weighted"]
    monkeypatch.setattr("localgcl.graph.mapped.BLOCK", 7)
    torch.testing.assert_close(strengths(graph.csr), graph.csr.strength)
    assert strengths(DIRECTED.csr).tolist() == DIRECTED.degree.tolist()
