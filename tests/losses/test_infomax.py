"""DGI's, MVGRL's and GMI's losses against their plain formulas, in value and gradient, and what must not change them."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from localgcl.graph import Graph
from localgcl.graph.csr import CSR
from localgcl.losses import dgi_loss, edge_reconstruction, jensen_shannon, mvgrl_loss, random_others
from localgcl.methods.parts import Bilinear
from tests.losses.problems import CLOSE, linked, number, ring, seeded, with_gradient
from tests.references import infomax as reference
from tests.references.graphs import messy_graph, random_rows

N, D = 12, 5


def discriminator() -> Bilinear:
    torch.manual_seed(3)
    score = Bilinear(D).double()
    torch.nn.init.normal_(score.weight)
    torch.nn.init.constant_(score.bias, 0.3)
    return score


def views(count: int) -> list[Tensor]:
    return [random_rows(N, D, seed) for seed in range(count)]


def scored(function: Callable[..., Tensor], h: list[Tensor], score: Bilinear | None = None) -> Tensor:
    return function(*h, score or discriminator())


def plain_score(function: Callable[..., Tensor], *h: Tensor) -> Tensor:
    score = discriminator()
    return function(*h, score.weight, score.bias)


def same(ours: Callable[[Tensor], Tensor], theirs: Callable[[Tensor], Tensor], at: Tensor) -> None:
    for mine, expected in zip(with_gradient(ours, at), with_gradient(theirs, at), strict=True):
        torch.testing.assert_close(mine, expected, **CLOSE)


def nearly(ours: Callable[[Tensor], Tensor], theirs: Callable[[Tensor], Tensor], at: Tensor) -> None:
    """The project's promise for single precision: 1e-5 relative, in value and gradient."""
    (narrow, narrow_grad), (wide, wide_grad) = with_gradient(ours, at.float()), with_gradient(theirs, at)
    assert narrow.dtype == torch.float32
    assert abs(number(narrow) - number(wide)) < 1e-5 * abs(number(wide))
    assert float((narrow_grad - wide_grad).norm() / wide_grad.norm()) < 1e-5


def replaced(items: list[Tensor], place: int, item: Tensor) -> list[Tensor]:
    return [item if i == place else other for i, other in enumerate(items)]


# DGI and MVGRL


@pytest.mark.parametrize("place", range(2))
def test_dgi_equals_reference(place: int) -> None:
    h, score = views(2), discriminator()
    same(
        lambda z: scored(dgi_loss, replaced(h, place, z), score),
        lambda z: plain_score(reference.dgi, *replaced(h, place, z)),
        h[place],
    )


@pytest.mark.parametrize("place", range(4))
def test_mvgrl_equals_reference(place: int) -> None:
    h, score = views(4), discriminator()
    same(
        lambda z: scored(mvgrl_loss, replaced(h, place, z), score),
        lambda z: plain_score(reference.mvgrl, *replaced(h, place, z)),
        h[place],
    )


def test_discriminators_get_the_reference_gradient() -> None:
    ours, theirs = discriminator(), discriminator()
    h = views(4)
    dgi_loss(h[0], h[1], ours).backward()
    reference.dgi(h[0], h[1], theirs.weight, theirs.bias).backward()
    mvgrl_loss(h[0], h[1], h[2], h[3], ours).backward()
    reference.mvgrl(h[0], h[1], h[2], h[3], theirs.weight, theirs.bias).backward()
    for mine, expected in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, expected.grad, **CLOSE)


def test_single_precision() -> None:
    h, narrow = views(4), discriminator().float()
    rest = [part.float() for part in h[1:]]
    nearly(lambda z: dgi_loss(z, rest[0], narrow), lambda z: plain_score(reference.dgi, z, h[1]), h[0])
    nearly(lambda z: mvgrl_loss(z, rest[0], rest[1], rest[2], narrow), lambda z: plain_score(reference.mvgrl, z, *h[1:]), h[0])


def test_the_order_of_nodes_does_not_matter() -> None:
    h = views(4)
    orders = [torch.randperm(N, generator=seeded(seed)) for seed in range(4)]
    moved = [part[order] for part, order in zip(h, orders, strict=True)]
    torch.testing.assert_close(scored(dgi_loss, moved[:2]), scored(dgi_loss, h[:2]), **CLOSE)
    torch.testing.assert_close(scored(mvgrl_loss, moved), scored(mvgrl_loss, h), **CLOSE)


def test_mvgrl_on_one_view_twice_is_dgi() -> None:
    (h, wrong), score = views(2), discriminator()
    torch.testing.assert_close(mvgrl_loss(h, h, wrong, wrong, score), dgi_loss(h, wrong, score), **CLOSE)


def test_a_blind_discriminator_costs_log_two() -> None:
    h = views(4)
    blind = Bilinear(D).double()
    torch.nn.init.zeros_(blind.weight)
    assert number(dgi_loss(h[0], h[1], blind)) == pytest.approx(math.log(2))
    assert number(scored(mvgrl_loss, h, blind)) == pytest.approx(math.log(2))


def test_large_scores_stay_finite() -> None:
    h, score = [1e4 * part for part in views(2)], discriminator()
    value, grad = with_gradient(lambda z: dgi_loss(z, h[1], score), h[0])
    assert value.isfinite()
    assert grad.isfinite().all()


# GMI: features


@pytest.mark.parametrize("squash", [True, False])
@pytest.mark.parametrize("place", range(3))
def test_jensen_shannon_equals_reference(squash: bool, place: int) -> None:
    arguments, others = [*views(2), torch.tensor(0.2, dtype=torch.float64)], random_others(N, 4, seeded(1))

    def at(function: Callable[..., Tensor]) -> Callable[[Tensor], Tensor]:
        return lambda z: function(*replaced(arguments, place, z), others, squash=squash)

    same(at(jensen_shannon), at(reference.jensen_shannon), arguments[place])


def test_jensen_shannon_in_single_precision() -> None:
    h, bias, others = views(2), torch.tensor(0.2), random_others(N, 4, seeded(1))
    nearly(
        lambda z: jensen_shannon(z, h[1].float(), bias, others),
        lambda z: reference.jensen_shannon(z, h[1], bias.double(), others, squash=True),
        h[0],
    )


def test_the_squash_bounds_the_term() -> None:
    """Each score is in (0, 1) after the sigmoid, so the cheapest is sp(-1) + sp(0); the plain estimate goes down to 0."""
    partners = torch.eye(4, dtype=torch.float64)
    anchors, bias = 1000 * (partners - 0.5), torch.zeros((), dtype=torch.float64)
    others = random_others(4, 3, seeded(0))
    least = math.log(1 + math.exp(-1)) + math.log(2)
    assert number(jensen_shannon(anchors, partners, bias, others)) == pytest.approx(least)
    assert number(jensen_shannon(anchors, partners, bias, others, squash=False)) == pytest.approx(0)


def test_others_are_uniform_and_never_the_node_itself() -> None:
    others = random_others(5, 4000, seeded(0))
    counts = torch.stack([row.bincount(minlength=5) for row in others])
    assert (counts.diagonal() == 0).all()
    # 1000 expected in each of the other four, deviation sqrt(4000 * 1/4 * 3/4) = 27; five of them.
    assert (counts[~torch.eye(5, dtype=torch.bool)] - 1000).abs().max() < 5 * 27.4
    with pytest.raises(ValueError, match="there are 1 nodes, so a node has no other"):
        random_others(1, 2)


# GMI: edges


def closed(graph: Graph) -> CSR:
    return graph.coalesced().closed_neighbourhoods


@pytest.mark.parametrize(
    "graph", [messy_graph(), messy_graph(seed=1), ring(N), linked(N)], ids=["directed", "other", "regular", "no edges"]
)
def test_edge_reconstruction_equals_reference(graph: Graph) -> None:
    h = random_rows(N, D)
    same(lambda z: edge_reconstruction(z, closed(graph)), lambda z: reference.edge_reconstruction(z, graph), h)


def test_edge_reconstruction_in_single_precision() -> None:
    graph, h = messy_graph(), random_rows(N, D)
    nearly(lambda z: edge_reconstruction(z, closed(graph)), lambda z: reference.edge_reconstruction(z, graph), h)


def test_edge_reconstruction_does_not_care_for_names() -> None:
    graph, h = messy_graph(), random_rows(N, D)
    order = torch.randperm(N, generator=seeded(5))
    place = order.argsort()
    moved = graph.with_edges(place[graph.rows], place[graph.indices])
    torch.testing.assert_close(edge_reconstruction(h[order], closed(moved)), edge_reconstruction(h, closed(graph)), **CLOSE)


def test_sampling_every_pair_once_is_the_sum_over_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sampled sum is linear in the draws, so a draw of each node once is n times the expectation of a single draw."""
    graph, h = closed(messy_graph()), random_rows(N, D)
    monkeypatch.setattr(torch, "randint", lambda *_, **__: torch.arange(N).expand(N, N))
    same(lambda z: edge_reconstruction(z, graph, sampled=N), lambda z: edge_reconstruction(z, graph), h)


@pytest.mark.parametrize("graph", [messy_graph(), ring(N)], ids=["messy", "regular"])
def test_sampled_pairs_have_the_same_expectation(graph: Graph) -> None:
    h, generator, pairs = random_rows(N, D), seeded(2), closed(graph)
    exact, exact_grad = with_gradient(lambda z: edge_reconstruction(z, pairs), h)
    draws = [with_gradient(lambda z: edge_reconstruction(z, pairs, sampled=3, generator=generator), h) for _ in range(300)]
    for part, expected in ((0, exact), (1, exact_grad)):
        stack = torch.stack([draw[part] for draw in draws])
        error = stack.std(0) / math.sqrt(len(draws))
        # Up to 61 numbers: beyond 5 standard errors one falls by chance once in 30,000 seeds.
        assert ((stack.mean(0) - expected).abs() <= 5 * error + 1e-12).all()
    assert float(torch.stack([value for value, _ in draws]).std()) > 1e-3


def test_draws_repeat_with_the_generator() -> None:
    graph, h = closed(messy_graph()), random_rows(N, D)
    options: list[dict[str, Any]] = [{"sampled": 4, "generator": seeded(seed)} for seed in (0, 0, 1)]
    first, second, third = (edge_reconstruction(h, graph, **values) for values in options)
    assert torch.equal(first, second)
    assert not torch.equal(first, third)
