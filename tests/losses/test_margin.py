from typing import Any

import pytest
import torch
from torch import Tensor

from localgcl.losses import margin_terms
from tests.losses.problems import CLOSE, number, seeded, with_gradient
from tests.references.graphs import random_rows
from tests.references.margin import margin_loss

N, K = 15, 3
WEIGHTS: dict[str, float] = {"m1": 0.8, "m2": 0.2, "w": 10.0, "w_bound": 1.5}


def permutations(n: int = N, k: int = K, seed: int = 0) -> Tensor:
    return torch.stack([torch.randperm(n, generator=seeded(seed + i)) for i in range(k)])


def loss(h: Tensor, p: Tensor, q: Tensor, negatives: Tensor) -> Tensor:
    terms = margin_terms(h, p, q, negatives, margin=WEIGHTS["m1"], slack=WEIGHTS["m2"])
    return WEIGHTS["w"] * (terms.structure + terms.neighbours) + WEIGHTS["w_bound"] * terms.bound


def rows(scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """At scale 1 each hinge is open for some nodes and shut for others."""
    return scale * random_rows(N, 4, 0), scale * random_rows(N, 4, 1), scale * random_rows(N, 4, 2)


@pytest.mark.parametrize("scale", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_equals_reference(scale: float, which: int) -> None:
    parts, negatives = rows(scale), permutations()

    def ours(x: Tensor) -> Tensor:
        h, p, q = (x if i == which else part for i, part in enumerate(parts))
        return loss(h, p, q, negatives)

    def reference(x: Tensor) -> Tensor:
        h, p, q = (x if i == which else part for i, part in enumerate(parts))
        return margin_loss(h, p, q, negatives.tolist(), **WEIGHTS)

    (value, grad), (expected, expected_grad) = with_gradient(ours, parts[which]), with_gradient(reference, parts[which])
    torch.testing.assert_close(value, expected, **CLOSE)
    torch.testing.assert_close(grad, expected_grad, **CLOSE)


def test_every_hinge_is_open_for_some_and_shut_for_others() -> None:
    # Or the comparison above would compare zeros.
    h, p, q = rows()
    apart = (h - h[permutations()[0]]).norm(dim=1)
    near, close = (h - p).norm(dim=1), (h - q).norm(dim=1)
    for hinge in (0.8 + near - apart, 0.8 + close - apart, apart - near - 1.0):
        assert 0 < int((hinge > 0).sum()) < N


def test_the_bound_does_not_move_its_positive() -> None:
    h, p, q = rows(2.0)
    _, grad = with_gradient(lambda p: margin_terms(h, p, q, permutations(), margin=0.8, slack=0.2).bound + 0 * p.sum(), p)
    assert torch.equal(grad, torch.zeros_like(p))


def test_the_bound_is_a_sum_over_nodes_and_the_others_are_means() -> None:
    h, p, q = rows()
    once = margin_terms(h, p, q, permutations(), margin=0.8, slack=0.2)
    # The same nodes twice, the second copy permuted among itself.
    doubled = torch.cat([permutations(), permutations() + N], dim=1)
    h, p, q = (torch.cat([x, x]) for x in (h, p, q))
    twice = margin_terms(h, p, q, doubled, margin=0.8, slack=0.2)
    torch.testing.assert_close(twice.structure, once.structure, **CLOSE)
    torch.testing.assert_close(twice.neighbours, once.neighbours, **CLOSE)
    torch.testing.assert_close(twice.bound, 2 * once.bound, **CLOSE)


def test_order_of_nodes_does_not_matter() -> None:
    h, p, q = rows()
    order = torch.randperm(N, generator=seeded(9))
    place = order.argsort()
    moved = torch.stack([place[negatives[order]] for negatives in permutations()])
    torch.testing.assert_close(loss(h[order], p[order], q[order], moved), loss(h, p, q, permutations()), **CLOSE)


def test_equal_rows_have_no_gradient_and_no_nan() -> None:
    # An isolated node is its own positive, and a permutation can leave a node in its place.
    h = random_rows(N, 4)
    value, grad = with_gradient(lambda h: loss(h, h, h, torch.arange(N)[None]), h)
    assert number(value) == pytest.approx(2 * 10 * 0.8)
    assert torch.equal(grad, torch.zeros_like(h))


def test_single_precision() -> None:
    parts, negatives = rows(), permutations()

    def at(dtype: torch.dtype) -> Any:
        h, p, q = (part.to(dtype) for part in parts)
        return with_gradient(lambda h: loss(h, p, q, negatives), h)

    (narrow, narrow_grad), (wide, wide_grad) = at(torch.float32), at(torch.float64)
    assert narrow.dtype == torch.float32
    # The project's promise: 1e-5 relative, in value and gradient.
    assert abs(number(narrow) - number(wide)) < 1e-5 * number(wide)
    assert float((narrow_grad - wide_grad).norm() / wide_grad.norm()) < 1e-5
