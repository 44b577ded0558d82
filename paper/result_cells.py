"""The text of one cell of a table: accuracy, time or memory, with its marks and with what the paper prints."""

import statistics
from collections.abc import Sequence

from localgcl.experiments.statistics import mean_and_deviation
from paper.lines import Experiment, Line
from paper.lookup import NOT_RUN, difference, scored, untrained, why_empty
from paper.printed import printed
from paper.store import ResultRow

LIMIT_MIB = 16 * 1024  # the paper's GPU
NOTES = {
    "†": "†n: in n runs early stopping kept the initial weights.",
    "‡": "‡n: n recipes were evaluated on test nodes; this is the last one, so the number is slightly optimistic.",
}
"""What the marks mean."""


def accuracy(
    line: Line, graph: str, experiment: Experiment, rows: Sequence[ResultRow], quantity: str = "test", *, bold: bool = False
) -> str:
    """Mean and standard deviation over seeds, with marks; the number of seeds where it is not the line's."""
    values = [float(row[quantity]) for row in scored(rows)]
    if not values:
        return why_empty(line, graph, rows)
    count = "" if len(values) == line.seeds else f" ({len(values)})"
    text = f"{mean_and_deviation(values)}{count}{_marks(line, graph, experiment, rows)}"
    return f"**{text}**" if bold else text


def _marks(line: Line, graph: str, experiment: Experiment, rows: Sequence[ResultRow]) -> str:
    counts = {"†": sum(map(untrained, scored(rows))), "‡": experiment.recipes_tried.get((line.label, graph), 0)}
    return "".join(f" {mark}{count}" for mark, count in counts.items() if count)


def beside(ours: str, line: Line, graph: str, experiment: Experiment, quantity: str = "test", unit: str = "") -> str:
    """Our value with the paper's in brackets, where it prints one."""
    theirs = in_paper(line, graph, experiment, quantity)
    return f"{ours} [{theirs}{unit}]".lstrip() if theirs else ours


def in_paper(line: Line, graph: str, experiment: Experiment, quantity: str = "test") -> str:
    """What the paper prints there; empty where it prints nothing."""
    said = printed(experiment.table, line.printed or line.label, graph, quantity) if experiment.table else None
    return said.text if said else ""


def seconds(rows: Sequence[ResultRow]) -> str:
    """Median time of the training loop."""
    times = [float(row["seconds"]) for row in scored(rows)]
    return f"{statistics.median(times):.2f} s" if times else ""


def gibibytes(rows: Sequence[ResultRow]) -> str:
    """Peak GPU memory of all seeds, bold above the paper's GPU; empty where it was not measured."""
    peak = max((float(row["peak_mib"]) for row in rows if row["peak_mib"]), default=None)
    if peak is None:
        return ""
    return f"**{peak / 1024:.2f}**" if peak > LIMIT_MIB else f"{peak / 1024:.2f}"


def difference_from_ours(line: Line, graph: str, ours: Sequence[ResultRow], theirs: Sequence[ResultRow]) -> str:
    """Ours minus theirs with its confidence interval, or why there is none."""
    if not scored(theirs):
        return why_empty(line, graph, theirs)
    if not scored(ours):
        return ours[0]["outcome"] if ours else NOT_RUN
    if ours[0]["recipe"] == theirs[0]["recipe"]:
        return "same settings"
    result = difference(ours, theirs)
    return "one seed" if result is None else f"{result.difference:+.2f} [{result.low:+.2f}, {result.high:+.2f}]"


PUBLISHED_COLUMNS = ("method", "graph", "evaluator", "test accuracy", "seeds", "published", "difference", "note")


def beside_publication(line: Line, graph: str, evaluator: str, tests: Sequence[float], otherwise: str) -> list[str]:
    """A row of `PUBLISHED_COLUMNS`; `otherwise` is shown where there are no scores."""
    published = "" if line.published is None else str(line.published)
    gap = ""
    if tests and line.published is not None:
        below = statistics.fmean(tests) - line.published
        gap = f"{below:+.2f}" + " (miss)" * (below < -1)
    shown = mean_and_deviation(tests) if tests else otherwise
    return [line.label, graph, evaluator, shown, str(len(tests)), published, gap, line.note]
