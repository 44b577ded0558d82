import torch

from localgcl.graph import Graph
from localgcl.ops import sample_neighbours, sample_trees
from tests.losses.problems import linked, seeded
from tests.references.graphs import messy_graph

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
