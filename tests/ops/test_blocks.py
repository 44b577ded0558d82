"""Blocks: nodes with all or some of their neighbours."""

import itertools

import pytest
import torch

from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.ops import blocks
from localgcl.ops.blocks import block, draw_nodes, without_some
from tests.references.graphs import weighted_graph

GRAPH = sbm(100, mean_degree=8, seed=0)
NODES = torch.tensor([5, 2, 99, 40])


def neighbours(graph: Graph, node: int) -> set[int]:
    return set(graph.indices[graph.indptr[node] : graph.indptr[node + 1]].tolist())


def test_a_block_has_all_neighbours() -> None:
    rows, edges = block(GRAPH.csr, NODES, 0, torch.Generator())
    assert rows[:4].tolist() == NODES.tolist()
    assert len(set(rows.tolist())) == len(rows) == edges.num_columns
    for place, node in enumerate(NODES.tolist()):
        columns = edges.indices[edges.indptr[place] : edges.indptr[place + 1]]
        assert bool((columns.diff() > 0).all())
        assert set(rows[columns].tolist()) == neighbours(GRAPH, node)


@pytest.mark.parametrize("sampled", [1, 3, 100])
def test_a_sample_has_distinct_neighbours_and_all_of_them_where_there_are_few(sampled: int) -> None:
    rows, edges = block(GRAPH.csr, NODES, sampled, torch.Generator().manual_seed(0))
    assert edges.degree.tolist() == [min(sampled, len(neighbours(GRAPH, node))) for node in NODES.tolist()]
    for place, node in enumerate(NODES.tolist()):
        columns = edges.indices[edges.indptr[place] : edges.indptr[place + 1]]
        assert len(set(columns.tolist())) == len(columns)
        assert set(rows[columns].tolist()) <= neighbours(GRAPH, node)


def test_every_neighbour_is_drawn_equally_often() -> None:
    node, draws = torch.tensor([7]), 2000
    generator = torch.Generator().manual_seed(0)
    counts = torch.zeros(100)
    for _ in range(draws):
        rows, edges = block(GRAPH.csr, node, 2, generator)
        counts[rows[edges.indices]] += 1
    near = sorted(neighbours(GRAPH, 7))
    share = 2 / len(near)
    # A binomial share has deviation sqrt(p (1 - p) / draws): five of them.
    assert (counts[near] / draws - share).abs().max() < 5 * (share * (1 - share) / draws) ** 0.5
    assert counts.sum() == 2 * draws


def test_isolated_nodes_have_an_empty_row() -> None:
    lonely = Graph.from_edges([0], [1], x=torch.eye(3)).symmetrized()
    rows, edges = block(lonely.csr, torch.tensor([2, 0]), 1, torch.Generator())
    assert (rows.tolist(), edges.degree.tolist()) == ([2, 0, 1], [0, 1])


@pytest.mark.parametrize("sampled", [0, 2])
def test_weights_follow_their_neighbours(sampled: int) -> None:
    graph = weighted_graph(40, 300)
    nodes = torch.tensor([7, 3, 30, 39])
    rows, edges = block(graph.csr, nodes, sampled, torch.Generator().manual_seed(0))
    assert edges.weights is not None
    whole = torch.from_numpy(graph.to_scipy().toarray())
    assert graph.weights is not None
    stored = set(zip(graph.rows.tolist(), graph.indices.tolist(), graph.weights.tolist(), strict=True))
    found = zip(nodes[edges.rows].tolist(), rows[edges.indices].tolist(), edges.weights.tolist(), strict=True)
    assert set(found) <= stored
    if not sampled:  # parallel edges summed
        part = torch.from_numpy(edges.to_scipy().toarray())
        torch.testing.assert_close(part, whole[nodes][:, rows])


def test_a_share_of_the_neighbours_is_left_out() -> None:
    graph = sbm(300, mean_degree=10, seed=0).symmetrized()
    csr = graph.csr
    some = without_some(csr, 0.4, torch.Generator().manual_seed(0))
    edges = set(zip(csr.rows.tolist(), csr.indices.tolist(), strict=True))
    left = list(zip(some.rows.tolist(), some.indices.tolist(), strict=True))
    assert set(left) < edges
    assert left == sorted(left)
    assert torch.equal(some.indptr.diff(), torch.bincount(some.rows, minlength=300))
    # A share of 3,000 draws has deviation .009: five of them.
    assert len(left) / len(edges) == pytest.approx(0.6, abs=0.045)
    assert torch.equal(without_some(csr, 0.0, torch.Generator()).indices, csr.indices)


@pytest.mark.parametrize("permuted", [2**20, 0], ids=["permutation", "draws"])
def test_nodes_are_drawn_once_each_and_evenly(permuted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_PERMUTED", permuted)
    generator = torch.Generator().manual_seed(0)
    draws = torch.stack([draw_nodes(10, 4, generator) for _ in range(3000)])
    assert (draws.diff(dim=1) > 0).all()
    counts = torch.bincount(draws.flatten(), minlength=10) / 3000
    # Each node is in a draw with probability 0.4: a deviation of 0.009 over 3,000 draws, of which five are allowed.
    torch.testing.assert_close(counts, torch.full((10,), 0.4), rtol=0, atol=0.045)
    assert draw_nodes(10, 10, generator).tolist() == list(range(10))


@pytest.mark.parametrize("sampled", [0, 3])
@pytest.mark.parametrize("cuts", [(0, 4), (0, 1, 4), (0, 0, 2, 3, 4)], ids=str)
def test_parts_of_a_block_have_the_neighbours_of_the_whole(sampled: int, cuts: tuple[int, ...]) -> None:
    def lists(part: range | None) -> list[list[int]]:
        rows, edges = block(GRAPH.csr, NODES, sampled, torch.Generator().manual_seed(1), part)
        return [sorted(rows[row].tolist()) for row in edges.indices.split(edges.degree.tolist())]

    parts = [range(start, stop) for start, stop in itertools.pairwise(cuts) if start < stop]
    assert [row for part in parts for row in lists(part)] == lists(None)
