"""Feature maps: what is exact about them exactly, what is random within bounds that statistics give.

Seeds are fixed, so no test is flaky. Where a bound is in standard errors, four of them are exceeded by chance once in
16,000 seeds: a failure means that the law of the draws changed.
"""

import math
from collections.abc import Iterator

import jaxtyping
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.special import gamma, jv
from torch import Tensor

from localgcl.nn.features import (
    MAPS,
    FeatureMap,
    OrthogonalFourier,
    PositiveRandom,
    RandomFourier,
    StructuredOrthogonal,
)
from localgcl.ops.frequencies import padded_size
from tests.references import local as reference
from tests.references.graphs import random_rows

FOURIER = [RandomFourier, OrthogonalFourier, StructuredOrthogonal]
ALL = [*FOURIER, PositiveRandom]


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Wrong types reach the library's own checks, as they do for a user, instead of the tests' shape checker."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def _seed(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _fan(dim: int, *cosines: float) -> Tensor:
    """A unit vector x in general position, then for each cosine a unit vector y with x.y = cosine."""
    basis, _ = torch.linalg.qr(random_rows(dim, 2))
    x, y = basis.T
    return torch.stack([x, *(c * x + math.sqrt(1 - c**2) * y for c in cosines)])


def _estimates(maker: FeatureMap, fan: Tensor, temperature: float, draws: int) -> NDArray[np.float64]:
    """psi(x).psi(y) for many independent draws (rows) and each y of the fan (columns)."""
    generator = _seed(1)
    out = torch.empty(draws, len(fan) - 1, dtype=torch.float64)
    for row in out:
        psi = maker.draw(fan.shape[1], temperature, generator=generator, dtype=torch.float64).psi(fan)
        row[:] = psi[1:] @ psi[0]
    return out.numpy()


def _mean(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean over draws and its standard error."""
    return values.mean(axis=0), values.std(axis=0, ddof=1) / math.sqrt(len(values))


# What is drawn


@pytest.mark.parametrize("kind", ALL)
def test_same_seed_same_features_and_an_advancing_generator_new_ones(kind: type[FeatureMap]) -> None:
    z, generator = random_rows(3, 10), _seed(0)
    maker = kind(16)
    first = maker.draw(10, 0.5, generator=generator, dtype=torch.float64).psi(z)
    second = maker.draw(10, 0.5, generator=generator, dtype=torch.float64).psi(z)
    again = maker.draw(10, 0.5, generator=_seed(0), dtype=torch.float64).psi(z)
    assert torch.equal(first, again)
    assert not torch.allclose(first, second)


@pytest.mark.parametrize("kind", ALL)
def test_fixed_seed_gives_the_same_features_each_time(kind: type[FeatureMap]) -> None:
    z, generator = random_rows(3, 10), _seed(0)
    before = generator.get_state()
    first = kind(16, fixed_seed=7).draw(10, 0.5, generator=generator, dtype=torch.float64).psi(z)
    assert torch.equal(generator.get_state(), before)  # the caller's generator is left alone
    assert torch.equal(first, kind(16, fixed_seed=7).draw(10, 0.5, dtype=torch.float64).psi(z))
    assert not torch.allclose(first, kind(16, fixed_seed=8).draw(10, 0.5, dtype=torch.float64).psi(z))


@pytest.mark.parametrize("kind", ALL)
def test_without_generator_the_global_one_is_used(kind: type[FeatureMap]) -> None:
    z = random_rows(3, 10, dtype=torch.float32)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        first, second = kind(16).draw(10, 0.5).psi(z), kind(16).draw(10, 0.5).psi(z)
        torch.manual_seed(3)
        assert torch.equal(first, kind(16).draw(10, 0.5).psi(z))
    assert not torch.allclose(first, second)


@pytest.mark.parametrize("kind", ALL)
def test_single_and_double_precision_see_the_same_frequencies(kind: type[FeatureMap]) -> None:
    z = torch.nn.functional.normalize(random_rows(3, 20), dim=1)
    wide = kind(64).draw(20, 0.5, generator=_seed(0), dtype=torch.float64).psi(z)
    narrow = kind(64).draw(20, 0.5, generator=_seed(0), dtype=torch.float32).psi(z.float())
    assert narrow.dtype == torch.float32
    # Angles of up to about 10 keep six digits in float32.
    torch.testing.assert_close(narrow.double(), wide, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("num_features", [1, 50, 3000])
@pytest.mark.parametrize("dim", [1, 3, 100, 640])
@pytest.mark.parametrize("kind", ALL)
def test_any_dimension_and_any_number_of_features(kind: type[FeatureMap], dim: int, num_features: int) -> None:
    z = torch.nn.functional.normalize(random_rows(4, dim), dim=1)
    draw = kind(num_features).draw(dim, 0.5, generator=_seed(0), dtype=torch.float64)
    psi = draw.psi(z)
    assert draw.width == psi.shape[1] == (num_features if kind is PositiveRandom else 2 * num_features)
    assert psi.isfinite().all()
    if kind is not PositiveRandom:
        # cos^2 + sin^2 = 1 for every frequency: no randomness is left, only rounding in float64.
        torch.testing.assert_close((psi * psi).sum(1), torch.ones(4, dtype=torch.float64), rtol=0, atol=1e-12)
    else:
        assert (psi > 0).all()


def test_rff_is_the_printed_formula() -> None:
    draw = RandomFourier(30).draw(5, 0.5, generator=_seed(0), dtype=torch.float64)
    frequencies = torch.randn(5, 30, generator=_seed(0), dtype=torch.float64) / math.sqrt(0.5)
    z = random_rows(4, 5)
    torch.testing.assert_close(draw.psi(z), reference.rff(z, frequencies), rtol=1e-12, atol=1e-12)


def test_orthogonal_frequencies_are_orthogonal_in_blocks_with_chi_lengths() -> None:
    dim, tau = 16, 0.5
    draw = OrthogonalFourier(200 * dim + 5).draw(dim, tau, generator=_seed(0), dtype=torch.float64)
    frequencies = draw.frequencies.angles(torch.eye(dim, dtype=torch.float64))  # type: ignore[union-attr]  # Fourier draws have them
    for start in (0, dim, 200 * dim):  # the last block is cut to five columns
        block = frequencies[:, start : start + dim]
        gram = block.T @ block
        torch.testing.assert_close(gram, torch.diag(gram.diagonal()), rtol=0, atol=1e-10)
    squares = (frequencies**2).sum(0).numpy() * tau
    # Squared lengths are chi-square with d degrees: mean d, variance 2d (whose estimate has relative deviation
    # sqrt(2 + 12/d)/sqrt(n), here 3%; 12% is four of them).
    assert abs(squares.mean() - dim) < 4 * math.sqrt(2 * dim / len(squares))
    assert abs(squares.var() / (2 * dim) - 1) < 0.12


def test_orthogonal_directions_favour_no_side() -> None:
    """QR routines fix the sign of each direction's own coordinate; undone, it is positive half of the time."""
    generator = _seed(0)
    draws = [OrthogonalFourier(4).draw(4, 1.0, generator=generator, dtype=torch.float64) for _ in range(200)]
    frequencies = [draw.frequencies.angles(torch.eye(4, dtype=torch.float64)) for draw in draws]  # type: ignore[union-attr]  # as above
    own = torch.stack([each.diagonal() for each in frequencies])
    # The share of 200 coin throws has deviation .035: four of them.
    assert ((own > 0).double().mean(0) - 0.5).abs().max() < 0.14


@pytest.mark.parametrize("dim", [4, 100, 128])
def test_structured_rows_are_orthogonal_with_one_length(dim: int) -> None:
    tau, size = 0.5, padded_size(dim)
    draw = StructuredOrthogonal(2 * size + size // 2).draw(size, tau, generator=_seed(0), dtype=torch.float64)
    frequencies = draw.frequencies.angles(torch.eye(size, dtype=torch.float64))  # type: ignore[union-attr]  # Fourier draws have them
    for start in (0, size, 2 * size):
        block = frequencies[:, start : start + size]
        expected = size / tau * torch.eye(block.shape[1], dtype=torch.float64)
        torch.testing.assert_close(block.T @ block, expected, rtol=0, atol=1e-9)
    assert not torch.allclose(frequencies[:, :size], frequencies[:, size : 2 * size])  # each block has its own signs


def test_padding_leaves_the_kernel_unchanged() -> None:
    z = torch.nn.functional.normalize(random_rows(5, 100), dim=1)
    padded = torch.nn.functional.pad(z, (0, 28))
    short = StructuredOrthogonal(300).draw(100, 0.5, generator=_seed(0), dtype=torch.float64)
    long = StructuredOrthogonal(300).draw(128, 0.5, generator=_seed(0), dtype=torch.float64)
    assert torch.equal(short.psi(z), long.psi(padded))
    # And it is the kernel at tau: 20,000 frequencies have deviation 1/sqrt(2 D) = .005; SORF's bias at d' = 128 is -.004.
    psi = StructuredOrthogonal(20_000).draw(100, 0.5, generator=_seed(0), dtype=torch.float64).psi(z)
    kernel = (-(torch.cdist(z, z) ** 2)).exp()
    torch.testing.assert_close(psi @ psi.T, kernel, rtol=0, atol=0.025)


# The law of the estimates


@pytest.mark.parametrize("kind", FOURIER)
def test_frequency_law(kind: type[FeatureMap]) -> None:
    """N(0, I/tau), not the paper's N(0, tau I): at tau = .5 and a right angle e^-2 = .135, not e^-.5 = .61."""
    fan = _fan(256, 0.0)
    correct, error = _mean(_estimates(kind(256), fan, 0.5, draws=40))
    # SORF's own limit at d = 256 lies .002 below (M9); .004 leaves as much again.
    assert abs(correct[0] - math.exp(-2)) < 4 * error[0] + 0.004
    assert error[0] < 0.01
    printed, error = _mean(_estimates(kind(256, law="printed"), fan, 0.5, draws=40))
    assert abs(printed[0] - math.exp(-0.5)) < 4 * error[0] + 0.004
    assert error[0] < 0.01


@pytest.mark.parametrize("kind", [RandomFourier, OrthogonalFourier])
def test_fourier_estimates_are_unbiased(kind: type[FeatureMap]) -> None:
    cosines, tau = [-1.0, -0.3, 0.5, 0.9], 0.7
    mean, error = _mean(_estimates(kind(12), _fan(8, *cosines), tau, draws=1500))  # D = 12: one block and a half
    assert (np.abs(mean - np.exp((np.array(cosines) - 1) / tau)) < 4 * error).all()
    assert error.max() < 0.01


def test_positive_estimates_are_unbiased() -> None:
    # tau = 2: at small temperatures a few huge draws carry the mean and its standard error says nothing.
    cosines, tau = [-0.9, -0.3, 0.5, 1.0], 2.0
    mean, error = _mean(_estimates(PositiveRandom(32), _fan(8, *cosines), tau, draws=1500))
    assert (np.abs(mean - np.exp((np.array(cosines) - 1) / tau)) < 4 * error).all()
    assert error.max() < 0.05


def test_rff_variance_is_the_lemma() -> None:
    """Var = (1 - exp(-z^2))^2 / (2D) with z^2 = |x - y|^2 / tau."""
    cosines, tau, num_features = np.array([-1.0, 0.0, 0.6]), 0.8, 32
    values = _estimates(RandomFourier(num_features), _fan(6, *cosines), tau, draws=2500)
    expected = (1 - np.exp(-2 * (1 - cosines) / tau)) ** 2 / (2 * num_features)
    # The estimate of a variance from 2500 nearly Gaussian values has relative deviation sqrt(2/2500) = 3%.
    assert (np.abs(values.var(axis=0, ddof=1) / expected - 1) < 0.15).all()


def test_orthogonal_features_vary_less() -> None:
    tau, dim, cosine = 1.0, 16, 0.3
    variance = _estimates(OrthogonalFourier(dim), _fan(dim, cosine), tau, draws=1500).var(ddof=1)
    rff = (1 - math.exp(-2 * (1 - cosine) / tau)) ** 2 / (2 * dim)
    # Yu et al.: less by a share of about z^4 e^(-z^2) (D - 1) / (d (1 - e^(-z^2))^2), here z^2 = 1.4: 80%. The estimate's
    # relative deviation is 4%.
    assert variance < 0.5 * rff


def test_structured_features_converge_to_their_own_kernel() -> None:
    r"""All rows have length r/|x-y| with r = sqrt(d)|x-y|/sigma: the mean of cos over a sphere, a Bessel function.

    $\Gamma(d/2) (2/r)^{d/2-1} J_{d/2-1}(r)$: .1267 at d = 64, tau = .5 and a right angle, where the Gaussian kernel is .1353.
    """
    dim, tau = 64, 0.5
    (mean,), (error,) = _mean(_estimates(StructuredOrthogonal(256), _fan(dim, 0.0), tau, draws=4000))
    r, order = math.sqrt(dim * 2 / tau), dim / 2 - 1
    limit = float(gamma(dim / 2) * (2 / r) ** order * jv(order, r))
    # Three sign flips are not quite a uniform rotation: .002 is allowed for that.
    assert abs(mean - limit) < 4 * error + 0.002
    assert math.exp(-1 / tau) - mean > 10 * error
    assert limit == pytest.approx(0.1267, abs=1e-4)


def test_short_vectors_are_padded_so_that_the_bias_is_no_larger_than_at_64() -> None:
    """At d = 16 without padding the mean would be .0986, where the Gaussian kernel is .1353."""
    (mean,), (error,) = _mean(_estimates(StructuredOrthogonal(256), _fan(16, 0.0), 0.5, draws=1000))
    assert error < 0.002
    assert abs(math.exp(-2) - mean) < 0.0085 + 4 * error


@pytest.mark.parametrize("tau", [0.5, 1.0])
@pytest.mark.parametrize("num_features", [64, 256])
def test_theorem_two(num_features: int, tau: float) -> None:
    """P(|error| >= (1 - e^(-4/tau)) / sqrt(2 D eps)) <= eps for one pair: the paper's Theorem 2 with the correct law."""
    cosines = np.array([-1.0, 0.0, 0.8])
    errors = np.abs(_estimates(RandomFourier(num_features), _fan(4, *cosines), tau, draws=2000) - np.exp((cosines - 1) / tau))
    for eps in (0.5, 0.1, 0.05):
        bound = (1 - math.exp(-4 / tau)) / math.sqrt(2 * num_features * eps)
        # Chebyshev is far from tight for nearly Gaussian errors (true shares .16, .002, 1e-5), so no slack is needed.
        assert ((errors >= bound).mean(axis=0) <= eps).all()
    # At eps = 1 the bound is the deviation of the antipodal pair, which 32% of Gaussian errors exceed (1% off: a deviation).
    share = (errors[:, 0] >= (1 - math.exp(-4 / tau)) / math.sqrt(2 * num_features)).mean()
    assert 0.28 < share < 0.36


# Bounds and constants


def test_floor_and_offset() -> None:
    n = torch.tensor(10.0, dtype=torch.float64)
    draw = RandomFourier(8).draw(4, 0.5)
    assert float(draw.floor(n)) == pytest.approx(1 + 9 * math.exp(-4))
    assert draw.offset == 2.0
    printed = RandomFourier(8, law="printed").draw(4, 0.5)
    assert float(printed.floor(n)) == pytest.approx(1 + 9 * math.exp(-1))  # the bound of the kernel it estimates
    positive = PositiveRandom(8).draw(4, 0.5)
    assert float(positive.floor(n)) == float(draw.floor(n))
    assert positive.offset == draw.offset


@pytest.mark.parametrize("tau", [0.01, 0.001])
def test_positive_features_do_not_overflow_at_tiny_temperatures(tau: float) -> None:
    z = torch.nn.functional.normalize(torch.randn(5, 8, generator=torch.Generator().manual_seed(0)))
    assert PositiveRandom(64).draw(8, tau, generator=torch.Generator().manual_seed(1)).psi(z).isfinite().all()


# Wrong input


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("num_features", [0, -1, 2.5, True])
def test_number_of_features_must_be_a_positive_whole_number(kind: type[FeatureMap], num_features: int) -> None:
    with pytest.raises(ValueError, match=rf"num_features is {num_features}; it must be a whole number of at least 1"):
        kind(num_features)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf])
def test_temperature_must_be_positive(kind: type[FeatureMap], temperature: float) -> None:
    with pytest.raises(ValueError, match=rf"temperature is {temperature}; it must be above 0"):
        kind(8).draw(4, temperature)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("kind", ALL)
def test_unknown_law(kind: type[FeatureMap]) -> None:
    with pytest.raises(ValueError, match=r"law is 'inverted'; choose 'correct' or 'printed'"):
        kind(8, law="inverted")  # type: ignore[arg-type]  # that is the test


def test_positive_features_have_no_printed_law() -> None:
    with pytest.raises(ValueError, match="law='printed' concerns Fourier features"):
        PositiveRandom(8, law="printed").draw(4, 0.5)


def test_every_map_has_a_name() -> None:
    assert set(MAPS.values()) == set(ALL)
