"""CCA-SSG's terms against their plain formulas."""

from typing import Any

import pytest
import torch
from torch import Tensor

from localgcl.graph import Graph
from localgcl.losses import neighbour_correlation, view_correlation
from localgcl.losses.decorrelation import CorrelationTerms, standardised
from tests.losses.problems import CLOSE, ring, seeded, with_gradient
from tests.references import decorrelation as reference
from tests.references.graphs import messy_graph, random_rows

WEIGHT = 0.3
# float32 against float64; squared correlations of twelve rows.
SINGLE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5}


def total(terms: CorrelationTerms) -> Tensor:
    return terms.invariance + WEIGHT * terms.decorrelation


def closeness(dtype: torch.dtype) -> dict[str, Any]:
    return CLOSE if dtype == torch.float64 else SINGLE


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("seed", range(3))
def test_views_equal_reference(seed: int, dtype: torch.dtype) -> None:
    z, other = 3 * random_rows(12, 5, seed) + 1, random_rows(12, 5, seed + 10)
    for first, second in ((z, other), (other, z)):  # the gradient of either side
        value, grad = with_gradient(lambda z, second=second: total(view_correlation(z, second.to(dtype))), first.to(dtype))  # type: ignore[misc]
        expected, expected_grad = with_gradient(lambda z, second=second: reference.view_loss(z, second, WEIGHT), first)  # type: ignore[misc]
        torch.testing.assert_close(value.double(), expected, **closeness(dtype))
        torch.testing.assert_close(grad.double(), expected_grad, **closeness(dtype))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("seed", range(3))
def test_neighbours_equal_reference(seed: int, dtype: torch.dtype) -> None:
    """On a directed multigraph with a loop and isolated nodes."""
    graph, h = messy_graph(seed=seed), 3 * random_rows(12, 5, seed) + 1
    value, grad = with_gradient(lambda h: total(neighbour_correlation(h, graph)), h.to(dtype))
    expected, expected_grad = with_gradient(lambda h: reference.neighbour_loss(h, graph, WEIGHT), h)
    torch.testing.assert_close(value.double(), expected, **closeness(dtype))
    torch.testing.assert_close(grad.double(), expected_grad, **closeness(dtype))


def test_the_frobenius_form_is_twice_the_trace_and_a_constant() -> None:
    graph, h = messy_graph(), random_rows(12, 5)
    local = neighbour_correlation(h, graph)
    views = view_correlation(h, reference.neighbour_mean(h, graph))
    torch.testing.assert_close(local.invariance, 2 * 5 * 11 / 12 + 2 * views.invariance, **CLOSE)
    torch.testing.assert_close(local.decorrelation, views.decorrelation, **CLOSE)


def test_order_of_nodes_scale_and_shift_of_columns_do_not_matter() -> None:
    graph, h = messy_graph(), random_rows(12, 5)
    place = torch.randperm(12, generator=seeded(0))
    moved, back = graph.with_edges(place[graph.rows], place[graph.indices]), place.argsort()
    expected = neighbour_correlation(h, graph)
    torch.testing.assert_close(neighbour_correlation(h[back], moved), expected, **CLOSE)
    changed = h * torch.tensor([1.0, 2.0, 30.0, 0.5, 4.0]) + torch.arange(5.0)
    torch.testing.assert_close(neighbour_correlation(changed, graph), expected, **CLOSE)


@pytest.mark.parametrize("constant", [0.0, 0.1, -1e4])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_column_without_spread_is_zero_with_zero_gradient_and_costs_one(constant: float, dtype: torch.dtype) -> None:
    z, other = random_rows(301, 5, 0, dtype), random_rows(301, 5, 1, dtype)
    z[:, 2] = constant
    value, grad = with_gradient(lambda z: total(view_correlation(z, other)), z)
    assert torch.isfinite(grad).all()
    assert not grad[:, 2].any()
    assert not standardised(z)[:, 2].any()
    expected, expected_grad = with_gradient(lambda z: reference.view_loss(z, other, WEIGHT), z)
    torch.testing.assert_close(value.double(), expected.double(), **closeness(dtype))
    torch.testing.assert_close(grad, expected_grad, **closeness(dtype))


def test_a_number_that_is_none_is_seen() -> None:
    z = random_rows(12, 5)
    z[0, 0] = torch.nan
    assert total(view_correlation(z, random_rows(12, 5, 1))).isnan()


def test_one_node_has_no_spread() -> None:
    terms = view_correlation(random_rows(1, 5), random_rows(1, 5, 1))
    assert (float(terms.invariance), float(terms.decorrelation)) == (0.0, 10.0)


def test_a_node_without_neighbours_agrees_with_itself() -> None:
    bare = Graph.from_edges([], [], x=torch.zeros(12, 1))
    assert float(neighbour_correlation(random_rows(12, 5), bare).invariance) == 0
    assert float(neighbour_correlation(random_rows(12, 5), ring(12)).invariance) > 0.1
