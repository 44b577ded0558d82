"""Scores: what every protocol returns, together with a description of the protocol."""

import dataclasses
import statistics
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Scores:
    """The result of one evaluation. All scores are in percent.

    Args:
        protocol: What was done, in words: the classifier, its grid and what its settings were picked on.
        metric: Name of the main metric, such as "accuracy".
        values: The main metric, one value per split (and repeat).
        validation: The same metric on the validation nodes, with the picked settings; None if nothing was validated.
        picks: The settings picked on validation, one mapping per value.
        names: What each value belongs to, such as "split 3".
        over: What mean and deviation are taken over, such as "20 splits".
        seed: The seed every random choice was derived from.
        extra: Further metrics by name, as many values each.

    Example:
        >>> print(Scores("linear probe", "accuracy", (80.0, 82.0), over="2 splits"))
        81.00 ± 1.41 (accuracy in %, 2 splits, linear probe)
    """

    protocol: str
    metric: str
    values: tuple[float, ...]
    validation: tuple[float | None, ...] = ()
    picks: tuple[Mapping[str, Any], ...] = ()
    names: tuple[str, ...] = ()
    over: str = "1 split"
    seed: int = 0
    extra: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=dict)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    @property
    def std(self) -> float:
        """Sample standard deviation (n - 1 below the line); 0 for a single value."""
        return _deviation(self.values)

    def __str__(self) -> str:
        text = f"{self.mean:.2f} ± {self.std:.2f} ({self.metric} in %, {self.over}, {self.protocol})"
        others = [f"{name} {statistics.fmean(values):.2f} ± {_deviation(values):.2f}" for name, values in self.extra.items()]
        return "; ".join([text, *others])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: every field, and `mean` and `std`."""
        return {
            "protocol": self.protocol,
            "metric": self.metric,
            "unit": "percent",
            "mean": self.mean,
            "std": self.std,
            "over": self.over,
            "values": list(self.values),
            "validation": list(self.validation),
            "picks": [dict(pick) for pick in self.picks],
            "names": list(self.names),
            "seed": self.seed,
            "extra": {name: list(values) for name, values in self.extra.items()},
        }


def _deviation(values: tuple[float, ...]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0
