"""The loss of GRACE and GCA against its formula."""

from typing import Any

import pytest
import torch
from torch import Tensor

from localgcl.losses import two_view_infonce, two_view_terms
from localgcl.nn.features import MAPS
from tests.losses.problems import CLOSE, number, seeded
from tests.references import infonce as reference
from tests.references.graphs import random_rows

N, DIM, TAU = 17, 6, 0.4


def pair(n: int = N, dim: int = DIM, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Two views that resemble one another, of any length."""
    u = 3 * random_rows(n, dim, 0)
    v = 0.5 * u + random_rows(n, dim, 1)
    return u.to(dtype).requires_grad_(), v.to(dtype).requires_grad_()


def gradients(value: Tensor, *leaves: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(value, leaves))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_exact_equals_the_formula(dtype: torch.dtype) -> None:
    u, v = pair(dtype=dtype)
    a, b = (x.detach().double().requires_grad_() for x in (u, v))
    value, expected = two_view_infonce(u, v, temperature=TAU), reference.two_view_loss(a, b, TAU)
    # float64: the order of additions differs; float32: the project's promise.
    close: dict[str, Any] = CLOSE if dtype == torch.float64 else {"rtol": 1e-5, "atol": 1e-6}
    torch.testing.assert_close(value.double(), expected, **close)
    for found, wanted in zip(gradients(value, u, v), gradients(expected, a, b), strict=True):
        torch.testing.assert_close(found.double(), wanted, **close)


@pytest.mark.parametrize("name", MAPS)
def test_kernelised_equals_the_formula_on_the_same_features(name: str) -> None:
    tau = 1.0
    u, v = pair()
    draw = MAPS[name](256).draw(DIM, tau, generator=seeded(3), dtype=torch.float64)
    value = two_view_infonce(u, v, temperature=tau, negatives=name, num_features=256, generator=seeded(3))
    psi = draw.psi(torch.nn.functional.normalize(torch.cat([u, v])))
    expected = reference.kernelised_loss(u, v, psi, tau)
    if name == "positive":
        # Its own term is 1 on average only, and it is 1 that is taken out.
        own = psi.square().sum(1)
        others = (psi @ psi.sum(0)) - own
        expected = expected + ((others + own - 1).log() - others.log()).mean()
    torch.testing.assert_close(value, expected, **CLOSE)
    for found, wanted in zip(gradients(value, u, v), gradients(expected, u, v), strict=True):
        torch.testing.assert_close(found, wanted, **CLOSE)


@pytest.mark.parametrize("tau", [0.02, 0.1])
def test_the_bound_survives_single_precision(tau: float) -> None:
    """(2N - 1) e^(-2/tau) is lost when it is taken from 1 + itself; the logarithm must not see a zero."""
    u, v = pair(dtype=torch.float32)
    terms = two_view_terms(u, v, temperature=tau, negatives="rff", num_features=16, generator=seeded(0))
    assert number(terms.clamped) > 0
    assert bool(terms.negative.isfinite())
    assert all(bool(grad.isfinite().all()) for grad in gradients(terms.negative, u, v))


def test_kernelised_tends_to_exact() -> None:
    u, v = pair(100, 32)
    exact = number(two_view_infonce(u, v, temperature=0.5))
    for name in ("rff", "orf"):
        found = two_view_infonce(u, v, temperature=0.5, negatives=name, num_features=8192, generator=seeded(0))
        # A relative error of a sum is about 1.5% at this D (M4), and the loss averages 200 of them.
        assert abs(number(found) - exact) < 0.02


def test_estimates_below_the_bound_are_clamped_and_counted() -> None:
    u, v = pair()
    tau, count = 0.1, 4
    terms = two_view_terms(u, v, temperature=tau, negatives="rff", num_features=count, generator=seeded(5))
    w = torch.nn.functional.normalize(torch.cat([u, v]))
    psi = MAPS["rff"](count).draw(DIM, tau, generator=seeded(5), dtype=torch.float64).psi(w)
    low = psi @ psi.sum(0) - 1 < (2 * N - 1) * torch.tensor(-2 / tau).exp()
    assert 0 < int(low.sum()) < 2 * N
    assert number(terms.clamped) == pytest.approx(int(low.sum()) / (2 * N))
    torch.testing.assert_close(terms.positive + terms.negative, reference.kernelised_loss(u, v, psi, tau), **CLOSE)
    assert all(bool(grad.isfinite().all()) for grad in gradients(terms.negative, u, v))


def test_sampled_negatives_equal_the_formula() -> None:
    u, v = pair()
    nodes = torch.randperm(N, generator=seeded(2))[:5].tolist()
    value = two_view_infonce(u, v, temperature=TAU, negatives=5, generator=seeded(2))
    expected = reference.sampled_loss(u, v, TAU, nodes)
    torch.testing.assert_close(value, expected, **CLOSE)
    for found, wanted in zip(gradients(value, u, v), gradients(expected, u, v), strict=True):
        torch.testing.assert_close(found, wanted, **CLOSE)


@pytest.mark.parametrize("count", [N, 10 * N])
def test_all_nodes_sampled_is_exact(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    u, v = pair()
    expected = two_view_infonce(u, v, temperature=TAU)
    monkeypatch.setattr("localgcl.losses.infonce._CHUNK", {"cpu": 1})  # chunks of 16 rows, so more than one
    value = two_view_infonce(u, v, temperature=TAU, negatives=count, generator=seeded(2))
    torch.testing.assert_close(value, expected, **CLOSE)
    for found, wanted in zip(gradients(value, u, v), gradients(expected, u, v), strict=True):
        torch.testing.assert_close(found, wanted, **CLOSE)


def test_the_order_of_nodes_and_of_views_does_not_matter() -> None:
    u, v = pair()
    order = torch.randperm(N, generator=seeded(4))
    value = two_view_infonce(u, v, temperature=TAU)
    torch.testing.assert_close(two_view_infonce(u[order], v[order], temperature=TAU), value, **CLOSE)
    torch.testing.assert_close(two_view_infonce(v, u, temperature=TAU), value, **CLOSE)
    torch.testing.assert_close(two_view_infonce(2 * u, 0.1 * v, temperature=TAU), value, **CLOSE)


@pytest.mark.parametrize("negatives", ["exact", "rff", 3, N])
def test_rows_of_zeros_have_no_term_and_are_no_negatives(negatives: Any) -> None:
    u, v = (x.detach().clone() for x in pair())
    u[2], v[2], u[5] = 0, 0, 0  # both views of node 2, one of node 5
    u.requires_grad_(), v.requires_grad_()
    terms = two_view_terms(u, v, temperature=1.0, negatives=negatives, num_features=2048, generator=seeded(0))
    grads = gradients(terms.positive + terms.negative, u, v)
    assert all(bool(grad.isfinite().all()) for grad in grads)
    assert (grads[0][[2, 5]] == 0).all()
    assert (grads[1][2] == 0).all()
    assert number(terms.dead) == pytest.approx(3 / (2 * N))
    if negatives in ("exact", N):
        # v_5 stays a negative of the others: the loss without nodes 2 and 5, with v_5 in every denominator.
        keep = [i for i in range(N) if i not in (2, 5)]
        a, b = (torch.nn.functional.normalize(x.detach()[keep]) for x in (u, v))
        extra = torch.nn.functional.normalize(v.detach()[5:6])
        total = torch.zeros((), dtype=torch.float64)
        for first, second in ((a, b), (b, a)):
            others = (first @ torch.cat([first, second, extra]).T).exp().sum(1) - torch.e
            total += (others.log() - (first * second).sum(1)).sum()
        torch.testing.assert_close((terms.positive + terms.negative).detach(), total / (2 * N), **CLOSE)


def test_wrong_values() -> None:
    u, v = pair()
    with pytest.raises(ValueError, match=r"temperature is 0.0; it must be above 0"):
        two_view_infonce(u, v, temperature=0.0)
    with pytest.raises(ValueError, match=r"negatives is 0; it must be at least 1"):
        two_view_infonce(u, v, temperature=1.0, negatives=0)


@pytest.mark.parametrize("negatives", ["exact", 40])
def test_nothing_of_the_size_of_all_pairs_is_kept(negatives: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What autograd saves is linear in the nodes: the chunk of the sampled form is recomputed."""
    monkeypatch.setattr("localgcl.losses.infonce._CHUNK", {"cpu": 2**10})
    n = 600
    u, v = pair(n, 4)
    saved: list[int] = []

    def pack(tensor: Tensor) -> Tensor:
        saved.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = two_view_infonce(u, v, temperature=1.0, negatives=negatives, generator=seeded(0))
    loss.backward()
    assert saved
    assert max(saved) <= 2 * n * 8 < n * 40
