"""Predictions of a target network against their plain formulas."""

from collections.abc import Callable
from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor

from localgcl.graph import Graph
from localgcl.losses import found_pairs, neighbour_prediction, pair_prediction, view_prediction
from tests.losses.problems import CLOSE, linked, ring, seeded, with_gradient
from tests.references import bootstrap as reference
from tests.references.graphs import messy_graph, random_rows

PAIRS = [(0, 0), (0, 3), (3, 0), (5, 1), (2, 2), (11, 4)]
FIRST, SECOND = (torch.tensor(ends) for ends in zip(*PAIRS, strict=True))
# float32 against float64: sums of a few dozen products of unit rows.
SINGLE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-6}

Loss = Callable[[Tensor, Tensor, Graph], Tensor]
LOSSES: dict[str, tuple[Loss, Loss]] = {
    "views": (lambda q, h, _: view_prediction(q, h), lambda q, h, _: reference.view_prediction(q, h)),
    "mean": (neighbour_prediction, reference.neighbour_prediction),
    "sum": (
        lambda q, h, graph: neighbour_prediction(q, h, graph, "sum"),
        lambda q, h, graph: reference.neighbour_prediction(q, h, graph, "sum"),
    ),
    "pairs": (
        lambda q, h, _: pair_prediction(q, h, FIRST, SECOND),
        lambda q, h, _: reference.pair_prediction(q, h, PAIRS),
    ),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_equals_reference(name: str, seed: int, dtype: torch.dtype) -> None:
    """On a directed multigraph with a loop and isolated nodes; one prediction and one target are zero."""
    graph, q, h = messy_graph(seed=seed), 3 * random_rows(12, 5, seed), random_rows(12, 5, seed + 10)
    q[3], h[4] = 0, 0
    ours, plain = LOSSES[name]
    value, grad = with_gradient(lambda q: ours(q, h.to(dtype), graph), q.to(dtype))
    expected, expected_grad = with_gradient(lambda q: plain(q, h, graph), q)
    assert value.dtype == grad.dtype == dtype
    closeness = CLOSE if dtype == torch.float64 else SINGLE
    torch.testing.assert_close(value.double(), expected, **closeness)
    torch.testing.assert_close(grad.double(), expected_grad, **closeness)
    assert not grad[3].any()


@pytest.mark.parametrize("name", LOSSES)
def test_nothing_flows_into_the_target(name: str) -> None:
    q, h = random_rows(12, 5).requires_grad_(), random_rows(12, 5, 1).requires_grad_()
    LOSSES[name][0](q, h, messy_graph()).backward()
    assert h.grad is None
    assert q.grad is not None


@pytest.mark.parametrize("aggregate", ["mean", "sum"])
def test_order_of_nodes_does_not_matter(aggregate: Any) -> None:
    graph, q, h = messy_graph(), random_rows(12, 5), random_rows(12, 5, 1)
    place = torch.randperm(12, generator=seeded(0))  # node i moves to place[i]
    moved = graph.with_edges(place[graph.rows], place[graph.indices])
    back = place.argsort()
    torch.testing.assert_close(
        neighbour_prediction(q[back], h[back], moved, aggregate), neighbour_prediction(q, h, graph, aggregate), **CLOSE
    )


def test_on_a_regular_graph_the_sum_is_the_mean_times_the_degree() -> None:
    q, h = random_rows(8, 4), random_rows(8, 4, 1)
    torch.testing.assert_close(neighbour_prediction(q, h, ring(8), "sum"), 2 * neighbour_prediction(q, h, ring(8)), **CLOSE)


def test_neighbours_that_agree_reach_the_bound() -> None:
    same = torch.ones(6, 3, dtype=torch.float64)
    torch.testing.assert_close(neighbour_prediction(same, 5 * same, ring(6)), torch.tensor(-2.0, dtype=torch.float64), **CLOSE)
    torch.testing.assert_close(view_prediction(same, -same), torch.tensor(2.0, dtype=torch.float64), **CLOSE)


def test_the_direction_of_an_edge_counts() -> None:
    """N(0) = {1}: the prediction of 1 is compared with the target of 0, and no other."""
    q, h = random_rows(3, 4), random_rows(3, 4, 1)
    expected = -2 / 3 * torch.cosine_similarity(q[1], h[0], dim=0)
    torch.testing.assert_close(neighbour_prediction(q, h, linked(3, (0, 1))), expected, **CLOSE)


def test_an_unknown_aggregate_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as for a user, whose types nobody checks
    with pytest.raises(ValueError, match="aggregate is 'max'; choose 'mean' or 'sum'"):
        neighbour_prediction(random_rows(3, 4), random_rows(3, 4), ring(3), "max")  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_near_and_adjacent_or_in_one_cluster(seed: int) -> None:
    graph, generator = messy_graph(seed=seed), seeded(seed)
    nearest = torch.stack([torch.randperm(12, generator=generator)[:4] for _ in range(12)])
    nearest[0] = torch.tensor([0, 1, 2, 3])
    clusters = torch.randint(5, (2, 12), generator=generator)
    first, second = found_pairs(nearest, clusters, graph)
    expected = reference.found_pairs(nearest, clusters, graph)
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == expected
    assert len(expected) < nearest.numel()


def test_a_graph_without_edges_still_pairs_each_node_with_itself() -> None:
    bare = Graph.from_edges([], [], x=torch.zeros(3, 1))
    first, second = found_pairs(torch.tensor([[0, 1], [1, 2], [2, 0]]), torch.arange(3)[None], bare)
    assert first.tolist() == second.tolist() == [0, 1, 2]
