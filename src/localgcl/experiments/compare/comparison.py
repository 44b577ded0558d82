"""Comparison: the results of methods on one graph, a line for each method, and the table that is made of them."""

import csv
import dataclasses
import functools
import io
import json
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from localgcl.evaluation import PRESETS
from localgcl.experiments.statistics import Difference, mean_and_deviation, paired
from localgcl.experiments.tables import Table, html, latex, markdown, source, text
from localgcl.methods import METHODS
from localgcl.system.files import replacing
from localgcl.system.text import shown

Row = dict[str, str]
FIELDS = (
    *("key", "method", "seed", "outcome", "score", "scores", "validation", "dim", "steps", "seconds", "peak_mib", "note"),
    *("graph", "fingerprint", "settings", "evaluator", "jobs", "date", "version", "commit", "hardware"),
)
"""outcome: "ok", or why it failed. scores: by split. key: `Contender.recipe`."""
INIT, RAW = "random-init", "raw-features"
_COSTS = (
    "seconds: median wall time of a training, preparation of the graph included. memory: median peak of a training above what "
    "the process held before."
)
_BOLD = "Bold: within noise of the highest mean."

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

    method: str
    scores: Scores
    gap: Difference | None
    level: bool
    rows: Sequence[Row]

    @functools.cached_property
    def scored(self) -> list[Row]:
        """The rows that did not fail."""
        return _scored(self.rows)

    @property
    def notes(self) -> list[str]:
        """Why it failed, and the first warning; with the number of seeds where it is not all of them."""
        found = {
            "failed: ": [row["outcome"] for row in self.rows if row["outcome"] != "ok"],
            "": [row["note"] for row in self.rows if row["note"]],
        }
        total = len(self.rows)
        return [
            f"{self.method}{f' ({len(texts)} of {total} seeds)' if len(texts) < total else ''}: {kind}{texts[0]}"
            for kind, texts in found.items()
            if texts
        ]

    def cells(self, seeds: int) -> list[str]:
        """The cells of its row. A mean over fewer than `seeds` seeds says over how many."""
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
        """Its row as numbers, by column; empty where there is none."""
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
        return not METHODS[method].learns, -means.get(method, 0.0)

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


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The results of methods on one graph. `print` shows the table.

    Args:
        rows: One for each method and seed, as in compare.csv.
        graph: The graph's name.
        reference: The method that the others are compared with.
        protocol: The evaluator's name.
        evaluator: The evaluator in words.
        seeds: Number of seeds.
    """

    rows: Sequence[Row]
    graph: str
    reference: str
    protocol: str
    evaluator: str
    seeds: int

    @property
    def lines(self) -> list[Line]:
        """One for each method, the best first, then the baselines."""
        return lines(self.rows, self.reference)

    def table(self) -> Table:
        """The table, ready to show."""
        made, metric = self.lines, PRESETS[self.protocol].metric
        columns = ["method", metric, f"minus {self.reference}", "dim", "steps", "seconds", "memory (MiB)"]
        spread = "over seeds" if self.seeds > 1 else "over splits"
        caption = (
            f"{metric} in %: mean and standard deviation {spread} ({self.evaluator}). Differences are paired by seed and "
            f"split, with a 95% t interval {spread}."
        )
        return Table(
            "compare-table",
            f"Methods on {shown(self.graph)}, {self.seeds} seed{'s' * (self.seeds > 1)}",
            caption,
            columns,
            [line.cells(self.seeds) for line in made],
            [_BOLD, *self._baselines(), _COSTS, *self._jobs(), *(note for line in made for note in line.notes)],
            source([{**row, "recipe": row["key"], "protocol": self.protocol} for row in self.rows]),
        )

    def to_markdown(self) -> str:
        return markdown(self.table())

    def to_latex(self) -> str:
        return latex(self.table())

    def to_csv(self) -> str:
        """The table as numbers: a row for each method."""
        file, rows = io.StringIO(newline=""), [line.numbers() for line in self.lines]
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return file.getvalue()

    def __str__(self) -> str:
        return text(self._without_bold())

    def _repr_html_(self) -> str:
        return html(self._without_bold())

    def _without_bold(self) -> Table:
        table = self.table()
        return dataclasses.replace(table, notes=[note for note in table.notes if note != _BOLD])

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes the table to compare-table.md, .tex and .csv in `folder`; returns their paths."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        content = {".md": self.to_markdown(), ".tex": self.to_latex(), ".csv": self.to_csv()}
        paths = [folder / f"compare-table{suffix}" for suffix in content]
        for path, made in zip(paths, content.values(), strict=True):
            with replacing(path) as temporary:
                temporary.write_text(made, encoding="utf-8", newline="\n")
        return paths

    def _baselines(self) -> list[str]:
        shown, ours = {row["method"] for row in self.rows}, self.reference
        told = {INIT: f"the encoder of {ours}, untrained", RAW: f"the features, scaled as for {ours}"}
        parts = [f"{name}: {text}." for name, text in told.items() if name in shown]
        return [" ".join(parts)] if parts else []

    def _jobs(self) -> list[str]:
        most = max((int(row["jobs"]) for row in self.rows), default=1)
        return [f"Up to {most} trainings ran at a time, which slows each of them."] if most > 1 else []
