"""From results to tables: what was measured beside what the paper prints. A cell that was not run says so."""

from collections.abc import Callable

from localgcl.datasets import CATALOGUE
from localgcl.experiments.tables import Table, source
from paper import result_cells as cells
from paper.experiments import OURS
from paper.lines import Experiment
from paper.lookup import best, found, scored, why_empty
from paper.store import Results

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
            accuracies.append(cells.beside(cells.accuracy(line, graph, experiment, mine, bold=bold), line, graph, experiment))
            peaks.append(cells.gibibytes(mine) if scored(mine) else why_empty(line, graph, mine))
            gaps.append(cells.difference_from_ours(line, graph, measured.get(OURS.label, {}).get(graph, []), mine))
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
                cells.beside(cells.accuracy(line, graph, experiment, mine), line, graph, experiment),
                cells.beside(cells.seconds(mine), line, graph, experiment, "minutes", " min"),
                cells.beside(cells.gibibytes(mine), line, graph, experiment, "gigabytes"),
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
                cells.accuracy(line, graph, experiment, mine, quantity),
                cells.in_paper(line, "arxiv", experiment, quantity),
            ]
        rows.append([*row, cells.seconds(mine), cells.gibibytes(mine)])
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
                time = f"; {cells.seconds(mine)}" if experiment.timed and scored(mine) else ""
                row.append(cells.accuracy(line, graph, experiment, mine) + time)
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
        rows.append(cells.beside_publication(line, graph, evaluator, tests, otherwise=why_empty(line, graph, mine)))
    reading = "Test accuracy in %, mean ± standard deviation over seeds; more than a point below the published one is a miss."
    return [_table(name, experiment, results, reading, list(cells.PUBLISHED_COLUMNS), rows)]


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
    notes += [note for mark, note in cells.NOTES.items() if mark in marked]
    return Table(name, title or experiment.title, " ".join(caption), columns, rows, notes, source(shown))
