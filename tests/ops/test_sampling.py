from pathlib import Path

import pytest
import torch

from localgcl.config import Preparation
from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.graph.mapped import mapped
from localgcl.graph.prepare import column_statistics, prepare
from localgcl.ops import sample_neighbours, sample_trees
from localgcl.ops.sampling import reached, sample_subgraph, step_generator
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
