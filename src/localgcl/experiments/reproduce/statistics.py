"""How sure a mean is, and a difference of means: Student's t, for scores paired by split or by seed."""

import dataclasses
import math
from collections.abc import Hashable, Iterable, Mapping
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
class Paired:
    """The mean of `n` paired differences, ours minus theirs, and the ends of its confidence interval."""

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
) -> Paired:
    """The mean difference, ours minus theirs, over the keys that both have, with `mean_and_interval`'s interval.

    What the key is decides what the pairs share:

    - Random splits: seed s draws split s for every method, so pairing by seed is pairing by split. What a lucky split does
      to both methods cancels. Give the fractions.
    - One public split: the key is the seed. Two methods share no randomness then; pairing costs nothing and gains nothing.
    - Several public splits (Geom-GCN's ten): one embedding a seed is scored on all of them, so keys are (seed, split), and
      the scores of one seed are not independent. Average them first, by `by_seed`; the interval is then about further
      initialisations on these splits.

    Example:
        >>> paired({0: 80.0, 1: 82.0, 2: 84.0}, {0: 79.0, 1: 81.0, 2: 83.0, 3: 99.0})
        Paired(n=3, difference=1.0, low=1.0, high=1.0)
    """
    shared = [key for key in ours if key in theirs]
    if len(shared) < 2:
        raise ValueError(
            f"{len(shared)} keys are shared ({len(ours)} ours, {len(theirs)} theirs); "
            "a paired interval needs at least 2, so run both on the same seeds and splits"
        )
    differences = [ours[key] - theirs[key] for key in shared]
    found = mean_and_interval(differences, confidence, train_fraction=train_fraction, test_fraction=test_fraction)
    return Paired(found.n, found.mean, found.low, found.high)


def by_seed(scores: Mapping[tuple[int, str], float]) -> dict[int, float]:
    """Scores by (seed, split) as means over splits; every seed must have been scored on the same splits.

    Example:
        >>> by_seed({(0, "a"): 1.0, (0, "b"): 3.0, (1, "a"): 5.0, (1, "b"): 5.0})
        {0: 2.0, 1: 5.0}
    """
    seeds = dict.fromkeys(seed for seed, _ in scores)
    splits = dict.fromkeys(split for _, split in scores)
    missing = [(seed, split) for seed in seeds for split in splits if (seed, split) not in scores]
    if missing:
        raise ValueError(f"seed {missing[0][0]} has no score on split {missing[0][1]!r}; score every seed on the same splits")
    return {seed: float(np.mean([scores[seed, split] for split in splits])) for seed in seeds}


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
