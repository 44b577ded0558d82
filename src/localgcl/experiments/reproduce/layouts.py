"""From results to tables: what was measured beside what the paper prints. A cell that was not run says so."""

import json
import statistics
from collections.abc import Callable, Mapping, Sequence

from localgcl.experiments.reproduce.experiments import OURS, Experiment, Line
from localgcl.experiments.reproduce.paper import printed
from localgcl.experiments.reproduce.statistics import paired
from localgcl.experiments.reproduce.store import Row, short
from localgcl.experiments.reproduce.table import Table

Results = Mapping[tuple[str, int], Row]
NOT_RUN = "not run"
NO_SETTINGS = "no recipe"
LIMIT_MIB = 16 * 1024  # the paper's GPU


def tables(name: str, experiment: Experiment, results: Results) -> list[Table]:
    """The experiment's table and, where it compares methods, their memory and their paired differences."""
    build: dict[str, Callable[[str, Experiment, Results], list[Table]]] = {
        "accuracy": _accuracies,
        "costs": _costs,
        "validation": _validated,
        "curve": _curves,
    }
    return build[experiment.layout](name, experiment, results)


def found(line: Line, graph: str, experiment: Experiment, results: Results) -> list[Row]:
    """The results of a line on a graph, by seed."""
    cell = line.cell(graph, 0, timed=experiment.timed)
    keys = [] if cell is None else [(cell.recipe, seed) for seed in range(line.seeds)]
    return [results[key] for key in keys if key in results]


def points(experiment: Experiment, results: Results) -> list[dict[str, str]]:
    """The rows of a curve for `plots`: each result with its line's label and value."""
    return [
        {**row, "row": line.label, "value": str(line.value)}
        for line in experiment.lines
        for graph in experiment.columns()
        for row in _scored(found(line, graph, experiment, results))
    ]


def missing(experiment: Experiment, results: Results) -> list[str]:
    """What has not been run yet, one line for each row."""
    told: dict[str, dict[str, dict[str, list[str]]]] = {}  # by row, what is missing, and graph: the points of a curve
    for line in experiment.lines:
        for graph in experiment.columns():
            rows = found(line, graph, experiment, results)
            if len(rows) < line.seeds:
                what = f"{len(rows)} of {line.seeds} seeds" if rows else _why(line, graph)
                at = told.setdefault(line.label, {}).setdefault(what, {}).setdefault(graph, [])
                at += [] if line.value is None else [str(line.value)]

    def places(where: Mapping[str, Sequence[str]]) -> str:
        return ", ".join(f"{graph} ({experiment.axis} = {', '.join(at)})" if at else graph for graph, at in where.items())

    return [f"{label}: " + "; ".join(f"{what} on {places(where)}" for what, where in by.items()) for label, by in told.items()]


def _accuracies(name: str, experiment: Experiment, results: Results) -> list[Table]:
    graphs = experiment.columns()
    best = {graph: _best(experiment, graph, results) for graph in graphs}
    ours = {
        graph: found(line, graph, experiment, results)
        for line in experiment.lines
        if line.label == OURS.label
        for graph in graphs
    }
    rows, memory, differences = [], [], []
    for line in experiment.lines:
        measured = {graph: found(line, graph, experiment, results) for graph in graphs}
        cells = [_accuracy(line, graph, experiment, measured[graph], line.label == best[graph]) for graph in graphs]
        rows.append([line.label, *cells])
        memory.append([line.label, *(_memory(line, graph, measured[graph]) for graph in graphs)])
        if ours and line.label != OURS.label:
            differences.append([line.label, *(_difference(line, graph, ours[graph], measured[graph]) for graph in graphs)])
    columns = ["method", *graphs]
    reading = (
        "Test accuracy in %, mean ± standard deviation over seeds (how many, where not 20); bold is the highest mean, in "
        "brackets is what the paper prints."
    )
    shown = [
        Table(name, experiment.title, f"{experiment.text} {reading} {_origin(experiment, results)}", columns, rows),
        Table(
            f"{name}-differences",
            f"{experiment.title}: local-gcl minus the others",
            "Paired differences of test accuracy in points with 95% confidence intervals (Student's t). Pairs share a split: "
            "one of the graph's ten, or the one a seed draws; on public splits they share the seed alone. Intervals speak of "
            "further seeds and splits of the same graph, not of other graphs.",
            columns,
            differences,
        ),
        Table(
            f"{name}-memory",
            f"{experiment.title}: peak memory",
            "Largest memory given out by PyTorch while training on the GPU, in GiB; in bold what exceeds 16, the paper's GPU. "
            "Empty where it was not measured; `localgcl reproduce table-memory` tries every method on every graph.",
            columns,
            memory,
        ),
    ]
    return [table for table in shown if table.rows]


def _costs(name: str, experiment: Experiment, results: Results) -> list[Table]:
    graphs = experiment.columns()
    rows = []
    for line in experiment.lines:
        cells = [line.label]
        for graph in graphs:
            mine = found(line, graph, experiment, results)
            accuracy = _accuracy(line, graph, experiment, mine, False)
            time = _beside(_seconds(mine), _printed(line, graph, experiment, "minutes"), " min")
            memory = _beside(_peak(mine), _printed(line, graph, experiment, "gigabytes"))
            cells += [accuracy, time, memory]
        rows.append(cells)
    columns = ["method", *(f"{graph}: {what}" for graph in graphs for what in ("accuracy", "time", "GiB"))]
    reading = (
        "Test accuracy in %, mean ± standard deviation over seeds (how many). Time: median of the training loop. GiB: largest "
        "memory given out while training."
    )
    theirs = " In brackets is what the paper prints, measured on its GPU of 16 GB." if experiment.table else ""
    caption = f"{experiment.text} {reading}{theirs} {_origin(experiment, results)}"
    return [Table(name, experiment.title, caption, columns, rows)]


def _validated(name: str, experiment: Experiment, results: Results) -> list[Table]:
    (graph,) = experiment.columns()
    rows = []
    for line in experiment.lines:
        mine = found(line, graph, experiment, results)
        ok = _scored(mine)
        cells = [line.label]
        for quantity in ("validation", "test"):
            value = _spread([float(row[quantity]) for row in ok], len(ok)) + _mark(ok) if ok else _why(line, graph, mine)
            cells += [value, _printed(line, "arxiv", experiment, quantity)]
        rows.append([*cells, _seconds(mine), _peak(mine)])
    columns = ["method", "validation", "printed", "test", "printed", "training", "GiB"]
    reading = (
        "Accuracy in %, mean ± standard deviation over seeds (how many), beside what the paper prints. Training: median time "
        "of the loop. GiB: largest memory given out while training."
    )
    caption = f"{_warning(experiment)}{experiment.text} {reading} {_origin(experiment, results)}"
    return [Table(name, f"{experiment.title} ({graph})", caption, columns, rows)]


def _curves(name: str, experiment: Experiment, results: Results) -> list[Table]:
    values = sorted({line.value for line in experiment.lines if line.value is not None})
    rows = []
    for graph in experiment.columns():
        for label in dict.fromkeys(line.label for line in experiment.lines):
            cells = []
            for value in values:
                line = next((one for one in experiment.lines if (one.label, one.value) == (label, value)), None)
                mine = found(line, graph, experiment, results) if line else []
                ok = [float(row["test"]) for row in _scored(mine)]
                text = _spread(ok, len(ok)) + _mark(mine) if ok else ""
                if ok and experiment.timed:
                    text += f"; {_seconds(mine)}"
                cells.append(text or (_why(line, graph, mine) if line else ""))
            rows.append([label, graph, *cells])
    time = "; median time of the training loop" if experiment.timed else ""
    reading = f"Test accuracy in %, mean ± standard deviation over seeds (how many){time}, for values of {experiment.axis}."
    caption = f"{_warning(experiment)}{experiment.text} {reading} {_origin(experiment, results)}"
    columns = ["method", "graph", *(f"{experiment.axis} = {value}" for value in values)]
    return [Table(name, experiment.title, caption, columns, rows)]


def _scored(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["outcome"] == "ok"]


def _accuracy(line: Line, graph: str, experiment: Experiment, rows: Sequence[Row], bold: bool) -> str:
    ok = [float(row["test"]) for row in _scored(rows)]
    text = _spread(ok, 0 if len(ok) == 20 else len(ok)) + _mark(rows) if ok else _why(line, graph, rows)
    return _beside(f"**{text}**" if bold and ok else text, _printed(line, graph, experiment))


def _mark(rows: Sequence[Row]) -> str:
    """How many of the runs kept their initial weights."""
    count = sum(_untrained(row) for row in rows)
    return f" †{count}" if count else ""


def _untrained(row: Row) -> bool:
    """Whether patience ended before the loss came below its first value: the best weights, which are kept, are the initial."""
    settings = json.loads(row["settings"])
    patience = settings.get("patience", 0)
    stopped: bool = 0 < patience == int(row["steps"]) - 1 < settings["steps"] - 1
    return stopped and settings.get("keep") == "best"


def _printed(line: Line, graph: str, experiment: Experiment, quantity: str = "test") -> str:
    """What the paper prints there; empty where it prints nothing."""
    said = printed(experiment.table, line.printed or line.label, graph, quantity) if experiment.table else None
    return said.text if said else ""


def _beside(ours: str, theirs: str, unit: str = "") -> str:
    return f"{ours} [{theirs}{unit}]".lstrip() if theirs else ours


def _spread(values: Sequence[float], count: int) -> str:
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.2f}{deviation}" + (f" ({count})" if count else "")


def _why(line: Line, graph: str, rows: Sequence[Row] = ()) -> str:
    """What stands where there is no number."""
    if rows:
        return rows[0]["outcome"]
    return NO_SETTINGS if line.settings(graph) is None else NOT_RUN


def _seconds(rows: Sequence[Row]) -> str:
    ok = [float(row["seconds"]) for row in _scored(rows)]
    return f"{statistics.median(ok):.2f} s" if ok else ""


def _memory(line: Line, graph: str, rows: Sequence[Row]) -> str:
    """The peak, or why there is none; empty for what ran, but not on a GPU."""
    return _peak(rows) if _scored(rows) else _why(line, graph, rows)


def _peak(rows: Sequence[Row]) -> str:
    peak = max((float(row["peak_mib"]) for row in rows if row["peak_mib"]), default=None)
    if peak is None:
        return ""
    return f"**{peak / 1024:.2f}**" if peak > LIMIT_MIB else f"{peak / 1024:.2f}"


def _best(experiment: Experiment, graph: str, results: Results) -> str:
    """The label of the highest mean."""
    means = {}
    for line in experiment.lines:
        ok = [float(row["test"]) for row in _scored(found(line, graph, experiment, results))]
        if ok:
            means[line.label] = statistics.fmean(ok)
    return max(means, key=lambda label: means[label], default="")


def _difference(line: Line, graph: str, ours: Sequence[Row], theirs: Sequence[Row]) -> str:
    if not _scored(theirs):
        return _why(line, graph, theirs)
    if not _scored(ours):
        return ours[0]["outcome"] if ours else NOT_RUN
    if ours[0]["recipe"] == theirs[0]["recipe"]:
        return "same settings"
    first, second = _by_key(ours), _by_key(theirs)
    if len(first.keys() & second.keys()) < 2:
        return "one pair"
    result = paired(first, second)
    return f"{result.difference:+.2f} [{result.low:+.2f}, {result.high:+.2f}]"


def _by_key(rows: Sequence[Row]) -> dict[int, float]:
    """Accuracy by split where the graph brings several, averaged over seeds; else by seed: a split of its own, or a start."""
    scores = {int(row["seed"]): json.loads(row["test_by_split"]) for row in _scored(rows)}
    if any(len(values) > 1 for values in scores.values()):
        return {split: statistics.fmean(values) for split, values in enumerate(zip(*scores.values(), strict=True))}
    return {seed: values[0] for seed, values in scores.items()}


def _warning(experiment: Experiment) -> str:
    if "arxiv-structure" not in experiment.columns():
        return ""
    return (
        "Features were made from the edges alone (arxiv-structure), because the published ones were not at hand: this is NOT "
        "the published task, and its numbers do not compare with printed ones. "
    )


def _origin(experiment: Experiment, results: Results) -> str:
    """Evaluator, hardware, commits and dates of what the table shows."""
    rows = [
        row for line in experiment.lines for graph in experiment.columns() for row in found(line, graph, experiment, results)
    ]
    if not rows:
        return "Nothing has been run yet."
    protocols, machines = (", ".join(sorted({row[name] for row in rows})) for name in ("protocol", "hardware"))
    commits = ", ".join(sorted({short(row["commit"]) for row in rows} - {""})) or "unknown"
    days = sorted({row["date"][:10] for row in rows})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    count = len({(row["recipe"], row["seed"]) for row in rows})
    shared = max(int(row["jobs"]) for row in rows)
    stuck = sum(map(_untrained, _scored(rows)))
    marked = " †n: in n runs patience ended before the loss fell below its first value, so they are untrained." if stuck else ""
    times = f" Up to {shared} cells ran at once, so times do not compare." if shared > 1 and _shows_times(experiment) else ""
    return (
        f"Evaluator: protocol {protocols}. {count} results; every look at test labels is in the ledger. {machines}; {when}; "
        f"commit {commits}.{times}{marked}"
    )


def _shows_times(experiment: Experiment) -> bool:
    return experiment.timed or experiment.layout in ("costs", "validation")
