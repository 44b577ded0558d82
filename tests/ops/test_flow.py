"""Rows of the averaging matrix and the message flow of a batch, compared with the whole matrix."""

import pytest
import torch

from localgcl.graph import Graph
from localgcl.ops.flow import Averages, flow, strengths
from localgcl.ops.propagation import propagation
from tests.losses.problems import seeded
from tests.references.graphs import messy_graph, weighted_graph

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
