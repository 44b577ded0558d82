import math

import numpy as np
import pytest
from scipy import stats

from localgcl.experiments.statistics import mean_and_interval, paired, welch

SCORES = [84.1, 83.2, 84.9, 84.4, 83.7]


def test_interval_is_scipys() -> None:
    found = mean_and_interval(SCORES, 0.9)
    low, high = stats.ttest_1samp(SCORES, 0).confidence_interval(0.9)
    assert found.n == 5
    # Two float64 computations of one formula.
    assert (found.mean, found.low, found.high) == pytest.approx((np.mean(SCORES), low, high), rel=1e-12)


def test_corrected_interval_by_the_formula() -> None:
    plain = mean_and_interval(SCORES)
    wide = mean_and_interval(SCORES, train_fraction=0.1, test_fraction=0.8)
    assert wide.mean == plain.mean
    # The formulas differ in one factor alone, sqrt((1/n + 8) / (1/n)); float64 rounding.
    assert wide.high - wide.mean == pytest.approx((plain.high - plain.mean) * math.sqrt(1 + 5 * 8), rel=1e-9)
    assert wide.mean - wide.low == pytest.approx(wide.high - wide.mean, rel=1e-9)


def test_coverage() -> None:
    # Of 2000 intervals at 80%, the number that hold the truth is binomial: deviation 18, so 90 is five of them.
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(2000):
        found = mean_and_interval(rng.normal(3.0, 2.0, 4), 0.8)
        hits += found.low <= 3.0 <= found.high
    assert abs(hits - 1600) < 90


def test_paired_is_scipys_related_test_on_shared_keys() -> None:
    ours = dict(enumerate(SCORES))
    theirs = {4: 83.0, 2: 84.0, 0: 84.3, 7: 10.0}
    found = paired(ours, theirs)
    low, high = stats.ttest_rel([84.1, 84.9, 83.7], [84.3, 84.0, 83.0]).confidence_interval(0.95)
    assert found.n == 3
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)
    assert found.difference == pytest.approx((-0.2 + 0.9 + 0.7) / 3)


def test_pairing_cancels_what_a_split_does_to_both() -> None:
    luck = [0.0, 5.0, -5.0, 2.0]
    noise = [0.1, -0.1, 0.05, -0.05]
    ours = {(seed, f"random-{seed}"): 80 + value + noise[seed] for seed, value in enumerate(luck)}
    theirs = {(seed, f"random-{seed}"): 79 + value for seed, value in enumerate(luck)}
    found = paired(ours, theirs)
    assert found.low > 0.5
    alone = mean_and_interval(ours.values())
    assert alone.high - alone.low > 5


def test_welch_is_scipys_unequal_variance_test_on_all_scores() -> None:
    theirs = [80.0, 85.0, 78.0]
    found = welch(SCORES, theirs, 0.9)
    low, high = stats.ttest_ind(SCORES, theirs, equal_var=False).confidence_interval(0.9)
    assert found.n == 3
    # Two float64 computations of one formula.
    assert (found.difference, found.low, found.high) == pytest.approx((np.mean(SCORES) - 81.0, low, high), rel=1e-9)
    assert welch([80.0, 80.0], [79.0, 79.0, 79.0]).low == 1.0


def test_welch_uses_scores_that_have_no_partner() -> None:
    """Twenty scores beside five are surer than the five pairs."""
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(80, 1, 20), rng.normal(79, 0.1, 5)
    whole, pairs = welch(list(ours), list(theirs)), paired(dict(enumerate(ours)), dict(enumerate(theirs)))
    assert whole.high - whole.low < pairs.high - pairs.low


def test_too_little_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        mean_and_interval([1.0])
    with pytest.raises(ValueError, match="1 keys are shared"):
        paired({0: 1.0, 1: 2.0}, {1: 1.0, 2: 2.0})
    with pytest.raises(ValueError, match="there are 1 scores"):
        welch(SCORES, [80.0])
    with pytest.raises(ValueError, match="finite"):
        mean_and_interval([1.0, math.nan])
    with pytest.raises(ValueError, match="confidence is 95"):
        mean_and_interval(SCORES, 95)
    with pytest.raises(ValueError, match="both or neither"):
        mean_and_interval(SCORES, train_fraction=0.1)
    with pytest.raises(ValueError, match="at most 1"):
        mean_and_interval(SCORES, train_fraction=0.5, test_fraction=0.8)
