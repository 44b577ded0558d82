"""A line of the table for each method: mean, deviation, difference to the reference, costs, and what went wrong."""

import dataclasses
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from localgcl.experiments.compare.cells import Row
from localgcl.experiments.statistics import Difference, mean_and_deviation, paired
from localgcl.methods import METHODS

Scores = Mapping[int, float]
"""Scores to compare, by seed; of one seed, by split. A seed's score is the mean over its splits: scores of one embedding
are not independent."""


@dataclasses.dataclass(frozen=True)
class Line:
    """A method in the table.

    Args:
        method: Its name.
        scores: See `Scores`; empty if it failed.
        gap: The method minus the reference (see `difference`); None for the reference, and where no seed has both.
        level: Whether it is within noise of the highest mean.
        rows: Its rows, one for each seed.
    """

    FIELDS: ClassVar[tuple[str, ...]] = (
        *("method", "seeds", "mean", "deviation", "difference", "low", "high"),
        *("dim", "steps", "seconds", "memory_mib", "note"),
    )

    method: str
    scores: Scores
    gap: Difference | None
    level: bool
    rows: Sequence[Row]

    @property
    def scored(self) -> list[Row]:
        return _scored(self.rows)

    @property
    def notes(self) -> list[str]:
        """Why it failed, and the first warning; with the number of seeds where it is not all of them."""
        told = {
            "failed: ": [row["outcome"] for row in self.rows if row["outcome"] != "ok"],
            "": [row["note"] for row in self.rows if row["note"]],
        }
        total = len(self.rows)
        return [
            f"{self.method}{f' ({len(texts)} of {total} seeds)' if len(texts) < total else ''}: {kind}{texts[0]}"
            for kind, texts in told.items()
            if texts
        ]

    def cells(self, seeds: int) -> list[str]:
        """The text of each column; the number of seeds stands beside a mean over fewer than `seeds`."""
        if not self.scores:
            return [self.method, "failed", *[""] * 5]
        score = mean_and_deviation(list(self.scores.values()))
        score += f" ({len(self.scored)})" if len(self.scored) < seeds else ""
        gap = self.gap
        difference = "" if gap is None else f"{gap.difference:+.2f}"
        difference += "" if gap is None or gap.n < 2 else f" [{gap.low:+.2f}, {gap.high:+.2f}]"
        costs = ("dim", "{:.0f}"), ("steps", "{:.0f}"), ("seconds", "{:.1f}"), ("peak_mib", "{:.0f}")
        return [self.method, f"**{score}**" if self.level else score, difference, *(self._median(*cost) for cost in costs)]

    def numbers(self) -> dict[str, Any]:
        """The same, by `FIELDS`; empty where there is no number."""
        values, gap = list(self.scores.values()), self.gap
        return {
            "method": self.method,
            "seeds": len(self.scored),
            "mean": round(statistics.fmean(values), 4) if values else "",
            "deviation": round(statistics.stdev(values), 4) if len(values) > 1 else "",
            "difference": "" if gap is None else round(gap.difference, 4),
            "low": "" if gap is None or gap.n < 2 else round(gap.low, 4),
            "high": "" if gap is None or gap.n < 2 else round(gap.high, 4),
            "dim": self._median("dim"),
            "steps": self._median("steps"),
            "seconds": self._median("seconds", "{:.3f}"),
            "memory_mib": self._median("peak_mib", "{:.1f}"),
            "note": "; ".join(self.notes),
        }

    def _median(self, name: str, form: str = "{:.0f}") -> str:
        values = [float(row[name]) for row in self.scored if row[name]]
        return form.format(statistics.median(values)) if values else ""


def lines(rows: Sequence[Row], reference: str) -> list[Line]:
    """A line for each method: trained ones first, the highest mean first; those that failed last among them."""
    by_method: dict[str, list[Row]] = {}
    for row in rows:
        by_method.setdefault(row["method"], []).append(row)
    seeds = len({row["seed"] for row in rows})
    scores = {method: _scores(_scored(found), seeds) for method, found in by_method.items()}
    means = {method: statistics.fmean(found.values()) for method, found in scores.items() if found}
    top = max(means, key=lambda method: means[method], default="")

    def rank(method: str) -> tuple[bool, float]:
        return not METHODS[method].trained, -means.get(method, 0.0)

    made = []
    for method in sorted(by_method, key=rank):
        gap = difference(scores[method], scores.get(reference, {})) if method != reference else None
        behind = None if method == top else difference(scores.get(top, {}), scores[method])
        level = method == top or (behind is not None and behind.n > 1 and behind.low <= 0)
        made.append(Line(method, scores[method], gap, level, by_method[method]))
    return made


def difference(ours: Scores, theirs: Scores) -> Difference | None:
    """Ours minus theirs, paired, with a 95% t interval. One pair has no interval, only a difference; no pair is None."""
    shared = ours.keys() & theirs.keys()
    if len(shared) > 1:
        return paired(ours, theirs)
    return next((Difference(1, ours[key] - theirs[key], math.nan, math.nan) for key in shared), None)


def _scored(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["outcome"] == "ok"]


def _scores(rows: Sequence[Row], seeds: int) -> Scores:
    if seeds > 1:
        return {int(row["seed"]): float(row["score"]) for row in rows}
    return dict(enumerate(json.loads(rows[0]["scores"]))) if rows else {}
