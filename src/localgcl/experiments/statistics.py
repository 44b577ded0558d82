"""How sure a mean is, and a difference of means: Student's t for pairs of scores, Welch's t for independent ones."""

import dataclasses
import math
import statistics
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from scipy.stats import t as student

Key = TypeVar("Key", bound=Hashable)


@dataclasses.dataclass(frozen=True)
class Interval:
    """The mean of `n` scores, and the ends of its confidence interval."""

    n: int
    mean: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Difference:
    """A difference of means, ours minus theirs, and the ends of its confidence interval.

    Args:
        n: Number of pairs; of independent scores, how many the smaller sample has.
        difference: Ours minus theirs.
        low: Lower end of the interval.
        high: Upper end.
    """

    n: int
    difference: float
    low: float
    high: float


def mean_and_interval(
    values: Iterable[float],
    confidence: float = 0.95,
    *,
    train_fraction: float | None = None,
    test_fraction: float | None = None,
) -> Interval:
    r"""The mean of scores with Student's t interval, $\bar x \pm t_{n-1}\, s \sqrt{1/n}$.

    It is about the mean over further initialisations, and over further splits where each seed draws its own, on this very
    graph. Splits that are redrawn at random (10/10/80) share most of their nodes, so scores on them are not independent
    samples of what the method does on other nodes of the kind: for that statement the plain interval is too narrow. Give
    both fractions, and the corrected resampled t interval of Nadeau and Bengio (2003) is computed,
    $\bar x \pm t_{n-1}\, s \sqrt{1/n + n_{test}/n_{train}}$. It was made for test sets smaller than training sets; at
    10/10/80 the second summand is 8, so that it is wide whatever the number of seeds, and errs on the side of caution.

    Args:
        values: At least two scores.
        confidence: Of the two-sided interval, between 0 and 1.
        train_fraction: Share of nodes on which a classifier is fitted, for random splits; none for fixed ones.
        test_fraction: Share of nodes on which it is scored.

    Example:
        >>> mean_and_interval([1.0, 2.0, 3.0]).mean
        2.0
    """
    scores = np.asarray(list(values), dtype=np.float64)
    if scores.size < 2:
        raise ValueError(f"there are {scores.size} scores; an interval needs at least 2, so run more seeds")
    if not np.isfinite(scores).all():
        raise ValueError(f"scores must be finite; they are {scores.tolist()}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; it must lie between 0 and 1, for example 0.95")
    overlap = _overlap(train_fraction, test_fraction)
    error = float(scores.std(ddof=1)) * math.sqrt(1 / scores.size + overlap)
    half = float(student.ppf((1 + confidence) / 2, scores.size - 1)) * error
    mean = float(scores.mean())
    return Interval(scores.size, mean, mean - half, mean + half)


def paired(
    ours: Mapping[Key, float],
    theirs: Mapping[Key, float],
    confidence: float = 0.95,
    *,
    train_fraction: float | None = None,
    test_fraction: float | None = None,
) -> Difference:
    """The mean difference, ours minus theirs, over the keys that both have, with `mean_and_interval`'s interval.

    For splits that are drawn at random: seed s draws split s for every method, so pairing by seed is pairing by split, and
    what a lucky split does to both methods cancels. On public splits two methods share no randomness; there `welch` uses
    all scores of both.

    Example:
        >>> paired({0: 80.0, 1: 82.0, 2: 84.0}, {0: 79.0, 1: 81.0, 2: 83.0, 3: 99.0})
        Difference(n=3, difference=1.0, low=1.0, high=1.0)
    """
    shared = [key for key in ours if key in theirs]
    if len(shared) < 2:
        raise ValueError(
            f"{len(shared)} keys are shared ({len(ours)} ours, {len(theirs)} theirs); "
            "a paired interval needs at least 2, so run both on the same seeds and splits"
        )
    differences = [ours[key] - theirs[key] for key in shared]
    found = mean_and_interval(differences, confidence, train_fraction=train_fraction, test_fraction=test_fraction)
    return Difference(found.n, found.mean, found.low, found.high)


def welch(ours: Sequence[float], theirs: Sequence[float], confidence: float = 0.95) -> Difference:
    r"""The difference of two means of independent scores with Welch's t interval; the counts may differ.

    $\bar x - \bar y \pm t_\nu \sqrt{s_x^2/n_x + s_y^2/n_y}$ with Welch and Satterthwaite's degrees of freedom $\nu$.

    For public splits, with one score for each seed. Where a graph brings several splits, one embedding is scored on all of
    them: the seed's score is the mean, because scores of one embedding are not independent. The interval is then about
    further initialisations on these splits.

    Example:
        >>> welch([80.0, 82.0, 84.0], [79.0, 81.0]).difference
        2.0
    """
    first, second = mean_and_interval(ours, confidence), mean_and_interval(theirs, confidence)
    gap = first.mean - second.mean
    parts = [float(np.var(list(scores), ddof=1)) / len(scores) for scores in (ours, theirs)]
    error = math.sqrt(sum(parts))
    smaller = min(first.n, second.n)
    if error == 0:  # all scores of each sample are equal: Student's interval has no width either
        return Difference(smaller, gap, gap, gap)
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (first.n - 1) + parts[1] ** 2 / (second.n - 1))
    half = float(student.ppf((1 + confidence) / 2, freedom)) * error
    return Difference(smaller, gap, gap - half, gap + half)


def mean_and_deviation(values: Sequence[float]) -> str:
    """For example "83.57 ± 0.58"; the mean alone of a single value."""
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.2f}{deviation}"


def _overlap(train_fraction: float | None, test_fraction: float | None) -> float:
    """Nadeau and Bengio's second summand; 0 where no fractions are given."""
    if train_fraction is None and test_fraction is None:
        return 0.0
    if train_fraction is None or test_fraction is None:
        raise ValueError(f"train_fraction is {train_fraction}, test_fraction {test_fraction}; give both or neither")
    if not (train_fraction > 0 and test_fraction > 0 and train_fraction + test_fraction <= 1):
        raise ValueError(
            f"train_fraction is {train_fraction}, test_fraction {test_fraction}; "
            "both must be above 0 and their sum at most 1, for example 0.1 and 0.8"
        )
    return test_fraction / train_fraction
