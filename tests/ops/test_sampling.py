import itertools
from pathlib import Path

import pytest
import torch

from localgcl.config import Preparation
from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.graph.mapped import mapped
from localgcl.graph.prepare import column_statistics, prepare
from localgcl.ops import sample_neighbours, sample_trees, sampling
from localgcl.ops.sampling import block, draw_nodes, reached, sample_subgraph, step_generator, without_some
from tests.losses.problems import linked, seeded
from tests.references.folders import stored
from tests.references.graphs import messy_graph, weighted_graph

GRAPH = messy_graph()
NODES = torch.arange(GRAPH.num_nodes)


def adjacency(graph: Graph) -> torch.Tensor:
    return torch.from_numpy(graph.to_scipy().toarray())


def test_only_neighbours_are_drawn_and_isolated_nodes_stand_for_themselves() -> None:
    drawn = sample_neighbours(GRAPH.csr, NODES, 50, seeded(0))
    a = adjacency(GRAPH)
    empty = GRAPH.degree == 0
    assert int(empty.sum()) >= 2
    assert bool((a.gather(1, drawn)[~empty] > 0).all())
    assert torch.equal(drawn[empty], NODES[empty, None].expand(-1, 50))


def test_every_edge_is_as_likely_as_another() -> None:
    draws = 20_000
    drawn = sample_neighbours(GRAPH.csr, NODES, draws, seeded(1))
    share = torch.nn.functional.one_hot(drawn, GRAPH.num_nodes).float().mean(1)
    some = GRAPH.degree > 0
    expected = (adjacency(GRAPH) / GRAPH.degree[:, None])[some]  # a parallel edge counts twice
    # Five standard deviations of a share.
    assert float((share[some] - expected).abs().max()) < 5 * 0.5 / draws**0.5


def test_the_generator_decides() -> None:
    first, again, other = (sample_neighbours(GRAPH.csr, NODES, 8, seeded(s)) for s in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_graph_without_edges() -> None:
    assert sample_neighbours(linked(3).csr, torch.tensor([2, 0]), 2, seeded(0)).tolist() == [[2, 2], [0, 0]]


def test_trees_follow_edges_level_by_level() -> None:
    roots = torch.tensor([3, 0, 11])
    trees = sample_trees(GRAPH.csr, roots, 2, 3, seeded(0))
    assert trees.shape == (3, 1 + 3 + 9)
    assert torch.equal(trees[:, 0], roots)
    a = adjacency(GRAPH) + torch.diag((GRAPH.degree == 0).float())
    children, grandchildren = trees[:, 1:4], trees[:, 4:].reshape(3, 3, 3)
    assert bool((a[roots].gather(1, children) > 0).all())
    assert bool((a[children.flatten()].gather(1, grandchildren.reshape(9, 3)) > 0).all())
    assert torch.equal(sample_trees(GRAPH.csr, roots, 0, 3, seeded(0)), roots[:, None])


def test_a_subgraph_has_the_seeds_first_and_all_edges_between_its_nodes() -> None:
    graph = weighted_graph(60, 200).symmetrized()
    seeds = torch.tensor([9, 2, 55])
    part = sample_subgraph(graph, seeds, 2, 2, seeded(0))
    nodes = torch.from_numpy(part.node_ids)
    assert nodes[:3].tolist() == seeds.tolist()
    assert len(nodes.unique()) == len(nodes) <= 3 * (1 + 2) ** 2
    torch.testing.assert_close(adjacency(part), adjacency(graph)[nodes][:, nodes])
    assert torch.equal(part.x, graph.x[nodes])
    assert part.is_symmetric


def test_a_subgraph_of_all_neighbours_is_their_neighbourhood() -> None:
    part = sample_subgraph(GRAPH, torch.tensor([4]), 1, 0, seeded(0))
    assert set(part.node_ids.tolist()) == {4, *GRAPH.indices[GRAPH.indptr[4] : GRAPH.indptr[5]].tolist()}
    whole = sample_subgraph(GRAPH, NODES, 1, 0, seeded(0))
    assert torch.equal(adjacency(whole), adjacency(GRAPH))
    assert torch.equal(whole.indptr, GRAPH.indptr)


def test_draws_of_a_step_depend_on_seed_and_step_alone() -> None:
    drawn = {(seed, step): torch.rand(3, generator=step_generator(seed, step)).tolist() for seed in (0, 1) for step in (0, 1)}
    assert len({tuple(values) for values in drawn.values()}) == 4
    assert torch.rand(3, generator=step_generator(1, 0)).tolist() == drawn[1, 0]


def test_rows_of_a_mapped_graph_are_scaled_as_they_are_read(tmp_path: Path) -> None:
    graph = sbm(50, mean_degree=4, features=6, seed=0)
    statistics = column_statistics(graph, "standard")
    there = mapped(stored(graph, tmp_path), Preparation(scaling="standard"), statistics, tmp_path)
    here = prepare(graph, Preparation(scaling="standard"), statistics)
    part, other = (sample_subgraph(one, torch.tensor([3, 1]), 2, 3, seeded(0)) for one in (there, here))
    assert torch.equal(part.x, other.x)
    assert torch.equal(part.indices, other.indices)


@pytest.mark.parametrize("k", [0, 3])
def test_the_size_of_a_subgraph_is_bounded(k: int) -> None:
    graph = sbm(2000, mean_degree=8, seed=0)
    size = reached(graph.num_nodes, graph.num_edges, 20, 2, k)
    part = sample_subgraph(graph, torch.arange(20), 2, k, seeded(0))
    # Degrees of a block model are Poisson: 20 nodes may have a third more neighbours than the mean.
    assert part.num_nodes <= 1.33 * size.nodes
    assert part.num_edges <= 1.33 * size.edges
    assert reached(100, 1000, 50, 3, 0).nodes == 100


MODEL = sbm(100, mean_degree=8, seed=0)
FEW = torch.tensor([5, 2, 99, 40])


def neighbours(graph: Graph, node: int) -> set[int]:
    return set(graph.indices[graph.indptr[node] : graph.indptr[node + 1]].tolist())


def test_a_block_has_all_neighbours() -> None:
    rows, edges = block(MODEL.csr, FEW, 0, torch.Generator())
    assert rows[:4].tolist() == FEW.tolist()
    assert len(set(rows.tolist())) == len(rows) == edges.num_columns
    for place, node in enumerate(FEW.tolist()):
        columns = edges.indices[edges.indptr[place] : edges.indptr[place + 1]]
        assert bool((columns.diff() > 0).all())
        assert set(rows[columns].tolist()) == neighbours(MODEL, node)


@pytest.mark.parametrize("sampled", [1, 3, 100])
def test_a_sample_has_distinct_neighbours_and_all_of_them_where_there_are_few(sampled: int) -> None:
    rows, edges = block(MODEL.csr, FEW, sampled, torch.Generator().manual_seed(0))
    assert edges.degree.tolist() == [min(sampled, len(neighbours(MODEL, node))) for node in FEW.tolist()]
    for place, node in enumerate(FEW.tolist()):
        columns = edges.indices[edges.indptr[place] : edges.indptr[place + 1]]
        assert len(set(columns.tolist())) == len(columns)
        assert set(rows[columns].tolist()) <= neighbours(MODEL, node)


def test_every_neighbour_is_drawn_equally_often() -> None:
    node, draws = torch.tensor([7]), 2000
    generator = torch.Generator().manual_seed(0)
    counts = torch.zeros(100)
    for _ in range(draws):
        rows, edges = block(MODEL.csr, node, 2, generator)
        counts[rows[edges.indices]] += 1
    near = sorted(neighbours(MODEL, 7))
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
    monkeypatch.setattr(sampling, "_PERMUTED", permuted)
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
        rows, edges = block(MODEL.csr, FEW, sampled, torch.Generator().manual_seed(1), part)
        return [sorted(rows[row].tolist()) for row in edges.indices.split(edges.degree.tolist())]

    parts = [range(start, stop) for start, stop in itertools.pairwise(cuts) if start < stop]
    assert [row for part in parts for row in lists(part)] == lists(None)
