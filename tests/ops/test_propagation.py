import dataclasses
from typing import Any

import pytest
import torch

from localgcl.graph import Graph
from localgcl.ops.propagation import adjacency, propagation
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
