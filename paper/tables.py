"""From results to tables: what was measured beside what the paper prints. A cell that was not run says so."""

import statistics
from collections.abc import Callable, Sequence

from localgcl.datasets import CATALOGUE
from localgcl.experiments.statistics import mean_and_deviation
from localgcl.experiments.tables import Table, source
from paper.experiments import OURS
from paper.lines import Experiment, Line
from paper.lookup import NOT_RUN, best, difference, found, scored, untrained, why_empty
from paper.printed import printed
from paper.store import ResultRow, Results

_NOT_PUBLISHED = (
    "Features were made from the edges (arxiv-structure), so this is NOT the published task, and numbers do not compare with "
    "printed ones."
)


def tables(name: str, experiment: Experiment, results: Results) -> list[Table]:
    """The experiment's table and, where it compares methods, their paired differences and their memory."""
    build: dict[str, Callable[[str, Experiment, Results], list[Table]]] = {
        "accuracy": _accuracies,
        "costs": _costs,
        "validation": _validated,
        "curve": _curves,
        "published": _published,
    }
    return build[experiment.layout](name, experiment, results)


def _accuracies(name: str, experiment: Experiment, results: Results) -> list[Table]:
    graphs, lines = experiment.columns(), experiment.lines
    leaders = {graph: best(graph, experiment, results) for graph in graphs}
    measured = {line.label: {graph: found(line, graph, experiment, results) for graph in graphs} for line in lines}
    rows, memory, differences = [], [], []
    for line in lines:
        accuracies, peaks, gaps = [], [], []
        for graph in graphs:
            mine = measured[line.label][graph]
            bold = line.label in leaders[graph]
            accuracies.append(beside(accuracy(line, graph, experiment, mine, bold=bold), line, graph, experiment))
            peaks.append(gibibytes(mine) if scored(mine) else why_empty(line, graph, mine))
            gaps.append(difference_from_ours(line, graph, measured.get(OURS.label, {}).get(graph, []), mine))
        rows.append([line.label, str(line.seeds), *accuracies])
        memory.append([line.label, *peaks])
        if OURS.label in measured and line.label != OURS.label:
            differences.append([line.label, *gaps])
    brackets = ", in brackets what the paper prints" if experiment.table else ""
    which = "" if all(line.ranked for line in lines) else " of the ranked rows"
    reading = (
        f"Test accuracy in %: mean ± standard deviation over seeds{brackets}, in bold the highest mean{which} and those not "
        "different from it at the 95% level."
    )
    shown = [
        _table(name, experiment, results, reading, ["method", "seeds", *graphs], rows),
        Table(
            f"{name}-differences",
            f"{experiment.title}: local-gcl minus the others",
            "Differences of mean test accuracy in points, with 95% confidence intervals. They are about further seeds on the "
            "same graph, not about other graphs.",
            ["method", *graphs],
            differences,
            notes=_how_compared(experiment),
        ),
        Table(
            f"{name}-memory",
            f"{experiment.title}: peak memory",
            "Peak GPU memory while training in GiB, as PyTorch's allocator counts it; bold exceeds the 16 GiB of the paper's "
            "GPU. Empty cells were not measured on a GPU.",
            ["method", *graphs],
            memory,
        ),
    ]
    return [table for table in shown if table.rows]


def _how_compared(experiment: Experiment) -> list[str]:
    """Which test is behind the intervals on which graphs."""
    graphs, given = experiment.columns(), all(line.splits == "own" for line in experiment.lines)
    drawn = [graph for graph in graphs if not given or CATALOGUE[graph].splits == "random"]
    compared = {
        "Welch's t over all seeds of both rows, on the public splits.": [graph for graph in graphs if graph not in drawn],
        "Student's t over pairs of runs on one split, which their seed draws.": drawn,
    }
    return [f"{', '.join(those)}: {how}" for how, those in compared.items() if those]


def _costs(name: str, experiment: Experiment, results: Results) -> list[Table]:
    rows = []
    for line in experiment.lines:
        row = [line.label, str(line.seeds)]
        for graph in experiment.columns():
            mine = found(line, graph, experiment, results)
            row += [
                beside(accuracy(line, graph, experiment, mine), line, graph, experiment),
                beside(seconds(mine), line, graph, experiment, "minutes", " min"),
                beside(gibibytes(mine), line, graph, experiment, "gigabytes"),
            ]
        rows.append(row)
    headings = [f"{graph}: {what}" for graph in experiment.columns() for what in ("accuracy", "time", "GiB")]
    brackets = "; in brackets what the paper prints, measured on its GPU of 16 GB" if experiment.table else ""
    reading = f"Test accuracy in % over seeds, median time of the training loop, and peak GPU memory{brackets}."
    return [_table(name, experiment, results, reading, ["method", "seeds", *headings], rows)]


def _validated(name: str, experiment: Experiment, results: Results) -> list[Table]:
    (graph,) = experiment.columns()
    rows = []
    for line in experiment.lines:
        mine = found(line, graph, experiment, results)
        row = [line.label, str(line.seeds)]
        for quantity in ("validation", "test"):
            row += [
                accuracy(line, graph, experiment, mine, quantity),
                in_paper(line, "arxiv", experiment, quantity),
            ]
        rows.append([*row, seconds(mine), gibibytes(mine)])
    columns = ["method", "seeds", "validation", "printed", "test", "printed", "training", "GiB"]
    reading = (
        "Accuracy in % over seeds beside what the paper prints, median time of the training loop, and peak GPU memory while "
        "training."
    )
    return [_table(name, experiment, results, reading, columns, rows, title=f"{experiment.title} ({graph})")]


def _curves(name: str, experiment: Experiment, results: Results) -> list[Table]:
    values = sorted({line.value for line in experiment.lines if line.value is not None})
    rows = []
    for graph in experiment.columns():
        for label in dict.fromkeys(line.label for line in experiment.lines):
            row = [label, graph]
            for value in values:
                line = next((one for one in experiment.lines if (one.label, one.value) == (label, value)), None)
                if line is None:
                    row.append("")
                    continue
                mine = found(line, graph, experiment, results)
                time = f"; {seconds(mine)}" if experiment.timed and scored(mine) else ""
                row.append(accuracy(line, graph, experiment, mine) + time)
            rows.append(row)
    time = "; median time of the training loop" if experiment.timed else ""
    reading = f"Test accuracy in %, mean ± standard deviation over seeds{time}, for values of {experiment.axis}."
    columns = ["method", "graph", *(f"{experiment.axis} = {value}" for value in values)]
    return [_table(name, experiment, results, reading, columns, rows)]


def _published(name: str, experiment: Experiment, results: Results) -> list[Table]:
    rows = []
    for line, graph in experiment.places():
        mine = found(line, graph, experiment, results)
        cell = line.cell(graph, 0, timed=experiment.timed)
        evaluator = line.protocol if cell is None else cell.evaluator
        tests = [float(row["test"]) for row in scored(mine)]
        rows.append(beside_publication(line, graph, evaluator, tests, otherwise=why_empty(line, graph, mine)))
    reading = "Test accuracy in %, mean ± standard deviation over seeds; more than a point below the published one is a miss."
    return [_table(name, experiment, results, reading, list(PUBLISHED_COLUMNS), rows)]


def _table(
    name: str,
    experiment: Experiment,
    results: Results,
    reading: str,
    columns: list[str],
    rows: list[list[str]],
    title: str = "",
) -> Table:
    """Adds what all layouts share: caption, notes and source."""
    shown = [row for line, graph in experiment.places() for row in found(line, graph, experiment, results)]
    caption, notes = [reading, experiment.text], [*experiment.notes]
    if "arxiv-structure" in experiment.columns():
        caption, notes = [reading, _NOT_PUBLISHED], [experiment.text, *notes]
    together = max((int(row["jobs"]) for row in shown), default=1)
    if together > 1 and (experiment.timed or experiment.layout in ("costs", "validation")):
        notes.append(f"Up to {together} cells ran at a time, so times do not compare.")
    marked = "".join(cell for row in rows for cell in row)
    notes += [note for mark, note in NOTES.items() if mark in marked]
    return Table(name, title or experiment.title, " ".join(caption), columns, rows, notes, source(shown))


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
