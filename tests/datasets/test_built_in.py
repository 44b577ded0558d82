import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from localgcl.datasets import built_in, digits, sbm
from localgcl.graph import Graph

# Digits


def test_features_are_pixels_from_zero_to_one() -> None:
    graph, published = digits(), load_digits()
    np.testing.assert_allclose(graph.x.numpy(), published.data / 16)
    assert graph.x.layout == torch.strided
    assert graph.y is not None
    assert graph.y.tolist() == published.target.tolist()


def test_edges_link_each_image_with_its_nearest() -> None:
    graph, k = digits(), built_in.NEIGHBOURS
    assert graph.is_symmetric
    assert not graph.loops.any()
    assert int(graph.degree.min()) >= k
    distances = torch.cdist(graph.x[:50], graph.x)
    for node in range(50):
        linked = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
        others = torch.ones(graph.num_nodes, dtype=torch.bool)
        others[linked] = others[node] = False
        kth = distances[node].sort().values[k]  # position 0 is the image itself
        assert bool((distances[node, others] >= kth - 1e-5).all())


def test_the_number_of_neighbours_is_the_smallest_that_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    assert digits().summary()["components"] == 1
    monkeypatch.setattr(built_in, "NEIGHBOURS", built_in.NEIGHBOURS - 1)
    assert digits().summary()["components"] > 1


# The stochastic block model


def test_sizes_are_as_asked() -> None:
    graph = sbm(1000, classes=4, mean_degree=12.0, features=16, splits=2)
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == (1000, 12_000, 16, 4)
    assert graph.y is not None
    assert graph.y.bincount().tolist() == [250] * 4
    assert [split.name for split in graph.splits] == ["random-0", "random-1"]
    assert sbm(100, splits=0).splits == ()


@pytest.mark.parametrize("n", [103, 1000])
def test_edges_are_symmetric_and_simple(n: int) -> None:
    graph = sbm(n, mean_degree=6.0, seed=1)
    assert graph.is_symmetric
    assert not graph.loops.any()
    assert graph.coalesced().num_edges == graph.num_edges


@pytest.mark.parametrize("homophily", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_homophily_is_as_asked(homophily: float) -> None:
    """50,000 edges: the deviation of the share is at most 0.0023, of which four are allowed."""
    assert sbm(10_000, homophily=homophily).homophily() == pytest.approx(homophily, abs=0.009)


def test_edges_are_uniform_within_and_between_classes() -> None:
    """Every class, and every pair of classes, gets its share: expected counts of 2000 and 250, five deviations allowed."""
    graph = sbm(2500, classes=5, mean_degree=10.0)
    assert graph.y is not None
    blocks = torch.bincount(graph.y[graph.rows] * 5 + graph.y[graph.indices], minlength=25).view(5, 5)
    assert ((blocks.diag() - 4000).abs() < 5 * 2**0.5 * 4000**0.5).all()
    off = blocks[~torch.eye(5, dtype=torch.bool)]
    assert ((off - 250).abs() < 5 * 250**0.5).all()
    # Degrees are Poisson with mean 10, so the variance is 10 too; that of the estimate is 10 * sqrt(2 / 2500) = 0.3.
    assert graph.degree.double().var() == pytest.approx(10, abs=1.5)


def test_a_linear_probe_on_the_features_alone_gets_about_six_in_ten() -> None:
    scores = []
    for seed in range(4):
        graph = sbm(1000, seed=seed, splits=1)
        assert graph.y is not None
        (split,), x, y = graph.splits, graph.x.numpy(), graph.y.numpy()
        probe = LogisticRegression(max_iter=1000).fit(x[split.train], y[split.train])
        scores.append(probe.score(x[split.test], y[split.test]))
    assert 0.5 < sum(scores) / len(scores) < 0.7


def test_the_seed_decides() -> None:
    def same(one: Graph, two: Graph) -> bool:
        return torch.equal(one.x, two.x) and torch.equal(one.indices, two.indices)

    torch.manual_seed(0)
    first = sbm(200, seed=7)
    torch.manual_seed(1)
    assert same(first, sbm(200, seed=7))
    assert not same(first, sbm(200, seed=8))


def test_a_dense_graph_is_built_too() -> None:
    graph = sbm(40, classes=2, mean_degree=9.0, homophily=0.9)
    assert graph.num_edges == 360


def test_a_single_class() -> None:
    graph = sbm(50, classes=1, homophily=1.0)
    assert graph.homophily() == 1


def test_what_cannot_be_built_is_refused() -> None:
    with pytest.raises(ValueError, match="60 classes for 100 nodes; choose from 1 to 50"):
        sbm(100, classes=60)
    with pytest.raises(ValueError, match="0 classes"):
        sbm(100, classes=0)
    with pytest.raises(ValueError, match=r"homophily is 1.5"):
        sbm(100, homophily=1.5)
    with pytest.raises(ValueError, match="1 where there is one class"):
        sbm(100, classes=1, homophily=0.5)
    with pytest.raises(ValueError, match="mean_degree is negative"):
        sbm(100, mean_degree=-1.0)
    with pytest.raises(ValueError, match="400 edges within classes are more than half of the 225 pairs; lower mean_degree"):
        sbm(50, mean_degree=20.0, homophily=0.8)
