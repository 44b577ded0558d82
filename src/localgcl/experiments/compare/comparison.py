"""Comparison: the results of methods on one graph, and the table that is made of them."""

import csv
import dataclasses
import io
import os
from collections.abc import Sequence
from pathlib import Path

from localgcl.evaluation import PRESETS
from localgcl.experiments.compare.cells import RAW, Row
from localgcl.experiments.compare.summary import Line, lines
from localgcl.experiments.tables import Table, html, latex, markdown, source, text
from localgcl.system.files import replacing
from localgcl.system.text import shown

_COSTS = (
    "seconds: median wall time of a training, preparation of the graph included. memory: median peak of a training above what "
    "the process held before."
)
_BOLD = "Bold: within noise of the highest mean."


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
        file = io.StringIO(newline="")
        writer = csv.DictWriter(file, Line.FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(line.numbers() for line in self.lines)
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
        if all(row["method"] != RAW for row in self.rows):
            return []
        return [
            f"random-init: the encoder of {self.reference}, untrained. {RAW}: the features, scaled as for {self.reference}."
        ]

    def _jobs(self) -> list[str]:
        most = max((int(row["jobs"]) for row in self.rows), default=1)
        return [f"Up to {most} trainings ran at a time, which slows each of them."] if most > 1 else []
