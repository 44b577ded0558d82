"""The kernelised loss against the exact one: convergence, bias, and estimates below the true lower bound (M1 to M9)."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import gamma, jv

from localgcl.config import LocalGCLWarning
from localgcl.losses.local import local_contrastive, local_terms
from localgcl.nn.features import MAPS, PositiveRandom, RandomFourier
from tests.losses.problems import CLOSE, directions, kernel_reference, number, ring, seeded, with_gradient
from tests.references import local as reference
from tests.references.graphs import random_rows

# Random features against the exact sum


@pytest.mark.parametrize(("name", "tau"), [("rff", 0.5), ("orf", 0.5), ("positive", 2.0)])
def test_error_falls_as_one_over_root_of_features(name: Any, tau: float) -> None:
    # Positive features have relative variance e^(4/tau)/D, out of the regime of small errors below tau = 1 or so.
    graph, z = ring(150), directions(150, 32)
    exact = number(local_contrastive(z, graph, temperature=tau, negatives="exact"))
    counts = [64, 256, 1024, 4096]
    rms = []
    for count in counts:
        options: dict[str, Any] = {"temperature": tau, "negatives": name, "num_features": count}
        errors = [number(local_contrastive(z, graph, generator=seeded(s), **options)) - exact for s in range(20)]
        rms.append(math.sqrt(np.mean(np.square(errors))))
    slope = np.polyfit(np.log(counts), np.log(rms), 1)[0]
    # A root mean square of 20 errors has relative deviation 16%, the slope over these counts .05: three of them.
    assert -0.65 < slope < -0.35
    assert rms[-1] < 0.02


def test_sorf_is_near_exact_in_high_dimension() -> None:
    graph, z = ring(1000), directions(1000, 256).float()
    exact = number(local_contrastive(z, graph, temperature=0.5, negatives="exact"))
    sorf = number(local_contrastive(z, graph, temperature=0.5, negatives="sorf", num_features=4096, generator=seeded(0)))
    # M9: -.015 of bias at d = 256, and .001 of noise at this D.
    assert abs(sorf - exact) < 0.02


def test_sorf_converges_to_its_own_limit_in_low_dimension() -> None:
    n, dim, tau = 500, 16, 0.5
    padded = 64  # vectors of 16 entries are padded to 64, and so is the sphere that frequencies lie on
    graph, z = ring(n), directions(n, dim)
    exact = number(local_contrastive(z, graph, temperature=tau, negatives="exact"))
    sorf = number(local_contrastive(z, graph, temperature=tau, negatives="sorf", num_features=8192, generator=seeded(0)))
    assert -0.08 < sorf - exact < -0.03  # M9: about -.06 at d' = 64
    r, order = math.sqrt(padded / tau) * torch.cdist(z, z).numpy(), padded / 2 - 1
    np.fill_diagonal(r, 1.0)
    kernel = gamma(padded / 2) * (2 / r) ** order * jv(order, r)
    np.fill_diagonal(kernel, 1.0)
    limit = np.log(kernel.sum(1)).mean() + 1 / tau
    positive = number(local_terms(z, graph, temperature=tau, negatives="exact").positive)
    # Three draws at this D scatter by .001 around the limit.
    assert abs(sorf - positive - limit) < 0.005


def test_constant_is_kept() -> None:
    """M2: e^(1/tau), so that values compare. Equal embeddings leave no noise in Fourier features: log(N e^(1/tau))."""
    z = torch.ones(4, 3, dtype=torch.float64)
    for negatives in ("exact", "rff", "orf", "sorf"):
        terms = local_terms(z, ring(4), temperature=0.25, negatives=negatives, num_features=8)
        assert number(terms.negative) == pytest.approx(math.log(4) + 4)
        assert number(terms.positive) == pytest.approx(-4)


def test_log_of_an_estimate_lies_below() -> None:
    """M5: by Jensen's inequality the kernelised value is too small on average, by Var/(2 mean^2)."""
    n, dim, tau, count, draws = 80, 32, 0.5, 128, 400
    graph, z = ring(n), directions(n, dim)
    exact = number(local_contrastive(z, graph, temperature=tau, negatives="exact"))
    errors, sums = [], []
    for seed in range(draws):
        psi = RandomFourier(count).draw(dim, tau, generator=seeded(seed), dtype=torch.float64).psi(z)
        sums.append(psi @ psi.sum(0))
        loss = local_contrastive(z, graph, temperature=tau, negatives="rff", num_features=count, generator=seeded(seed))
        errors.append(number(loss) - exact)
    q = torch.stack(sums)
    predicted = -float((q.var(0) / (2 * q.mean(0) ** 2)).mean())
    error = float(np.std(errors)) / math.sqrt(draws)
    assert np.mean(errors) < -4 * error
    # Four standard errors, and the next order of the expansion, which is about a tenth of the first here.
    assert abs(np.mean(errors) - predicted) < 4 * error + 0.2 * abs(predicted)


def test_frequencies_are_fresh_at_each_call() -> None:
    """M6: one draw a call, shared by psi_i and S; the same seed gives the same loss to the bit."""
    graph, z = ring(30), random_rows(30, 8, dtype=torch.float32)
    for name in MAPS:
        generator = seeded(0)
        options: dict[str, Any] = {"temperature": 1.0, "negatives": name, "num_features": 256}
        first, second = (local_contrastive(z, graph, generator=generator, **options) for _ in range(2))
        assert torch.equal(first, local_contrastive(z, graph, generator=seeded(0), **options))
        assert not torch.equal(first, second)


# M4: estimates below the true lower bound


@pytest.mark.parametrize(("name", "tau"), [("rff", 0.1), ("positive", 0.2)])
def test_low_estimates_are_clamped_counted_and_announced(name: Any, tau: float) -> None:
    n, count = 60, 16
    graph, z = ring(n), directions(n, 24)
    draw = MAPS[name](count).draw(24, tau, generator=seeded(0), dtype=torch.float64)
    psi = draw.psi(z)
    floor = reference.kernel_floor(n, tau)
    share = float((psi @ psi.sum(0) < floor).double().mean())
    assert 0.1 < share < 1
    options: dict[str, Any] = {"temperature": tau, "negatives": name, "num_features": count}
    terms = local_terms(z, graph, generator=seeded(0), **options)
    assert float(terms.clamped) == pytest.approx(share)
    with pytest.warns(LocalGCLWarning, match=rf"{share:.1%} of the nodes .* clamped .* temperature {tau}"):
        value, grad = with_gradient(lambda z: local_contrastive(z, graph, generator=seeded(0), **options), z)
    expected, expected_grad = with_gradient(
        lambda z: reference.local_loss(z, graph, tau, negative=kernel_reference(draw, tau)), z
    )
    assert grad.isfinite().all()
    torch.testing.assert_close(value, expected, **CLOSE)
    torch.testing.assert_close(grad, expected_grad, **CLOSE)
    # No row can fall below the bound, which for both kinds is log(e^(1/tau) + (N - 1) e^(-1/tau)).
    assert number(terms.negative) >= math.log(reference.exponential_floor(n, tau)) - 1e-12


@pytest.mark.parametrize("tau", [0.1, 0.5, 2.0])
def test_the_bound_is_the_largest_true_one(tau: float) -> None:
    """A node with all others opposite attains it: its sum is e^(1/tau) + (N - 1) e^(-1/tau)."""
    n = 7
    z = -torch.ones(n, 1, dtype=torch.float64)
    z[0] = 1
    exact = number(local_terms(z, ring(n), temperature=tau, negatives="exact").negative) * n
    others = (n - 1) * math.log((n - 1) * math.exp(1 / tau) + math.exp(-1 / tau))
    assert exact - others == pytest.approx(math.log(reference.exponential_floor(n, tau)))
    for kind in (RandomFourier, PositiveRandom):
        floor = kind(8).draw(1, tau).floor(torch.tensor(n, dtype=torch.float64))
        assert float(floor) * math.exp(1 / tau) == pytest.approx(reference.exponential_floor(n, tau))


def test_enough_features_clamp_nothing() -> None:
    terms = local_terms(
        directions(300, 64),
        ring(300),
        temperature=0.5,
        negatives="rff",
        num_features=1024,
        generator=seeded(0),
    )
    assert float(terms.clamped) == 0
