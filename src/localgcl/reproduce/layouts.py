"""From results to tables: what was measured beside what the paper prints. A cell that was not run says so."""

import json
import statistics
from collections.abc import Callable, Mapping, Sequence

from localgcl.reproduce.experiments import OURS, Experiment, Line
from localgcl.reproduce.paper import printed
from localgcl.reproduce.statistics import paired
from localgcl.reproduce.store import Row
from localgcl.reproduce.table import Table

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
    rows = []
    for seed in range(line.seeds):
        cell = line.cell(graph, seed, timed=experiment.timed)
        if cell is not None and (row := results.get(cell.key)) is not None:
            rows.append(row)
    return rows


def _accuracies(name: str, experiment: Experiment, results: Results) -> list[Table]:
    graphs = experiment.columns()
    best = {graph: _best(experiment, graph, results) for graph in graphs}
    rows, memory, differences = [], [], []
    for line in experiment.lines:
        measured = {graph: found(line, graph, experiment, results) for graph in graphs}
        cells = [_accuracy(line, graph, experiment, measured[graph], line.label == best[graph]) for graph in graphs]
        rows.append([line.label, *cells])
        memory.append(
            [line.label, *(_memory(measured[graph]) or _why(line, graph, measured[graph], "not measured") for graph in graphs)]
        )
        if line.label != OURS.label:
            ours = {graph: found(OURS, graph, experiment, results) for graph in graphs}
            differences.append([line.label, *(_difference(ours[graph], measured[graph]) for graph in graphs)])
    columns = ["method", *graphs]
    reading = (
        "Test accuracy in %, mean ± standard deviation over seeds (how many, where not 20); in brackets what the paper prints."
    )
    return [
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
            "What ran on a CPU is not measured.",
            columns,
            memory,
        ),
    ]


def _costs(name: str, experiment: Experiment, results: Results) -> list[Table]:
    graphs = experiment.columns()
    rows = []
    for line in experiment.lines:
        cells = [line.label]
        for graph in graphs:
            mine = found(line, graph, experiment, results)
            ok = [row for row in mine if row["outcome"] == "ok"]
            seconds = f"{statistics.median(float(row['seconds']) for row in ok):.2f} s" if ok else ""
            cells += [_accuracy(line, graph, experiment, mine, False), seconds, _memory(mine)]
        rows.append(cells)
    columns = ["method", *(f"{graph}: {what}" for graph in graphs for what in ("accuracy", "time", "GiB"))]
    reading = (
        "Test accuracy in %, mean ± standard deviation over seeds (how many); in brackets what the paper prints. Time: median "
        "of the training loop. GiB: largest memory given out while training."
    )
    return [Table(name, experiment.title, f"{experiment.text} {reading} {_origin(experiment, results)}", columns, rows)]


def _validated(name: str, experiment: Experiment, results: Results) -> list[Table]:
    (graph,) = experiment.columns()
    rows = []
    for line in experiment.lines:
        mine = found(line, graph, experiment, results)
        ok = [row for row in mine if row["outcome"] == "ok"]
        cells = [line.label]
        for quantity in ("validation", "test"):
            said = printed(experiment.table, line.printed or line.label, "arxiv", quantity)
            value = _spread([float(row[quantity]) for row in ok], len(ok)) if ok else _why(line, graph, mine)
            cells += [value, said.text if said else ""]
        seconds = f"{statistics.median(float(row['seconds']) for row in ok):.1f} s" if ok else ""
        rows.append([*cells, seconds, _memory(mine)])
    warning = (
        "Features were made from the edges alone (arxiv-structure), because the published ones were not at hand: this is NOT "
        "the published task, and the printed numbers do not compare. "
        if graph == "arxiv-structure"
        else ""
    )
    columns = ["method", "validation", "printed", "test", "printed", "training", "GiB"]
    caption = f"{warning}{experiment.text} Mean ± standard deviation over seeds (how many). {_origin(experiment, results)}"
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
                ok = [row for row in mine if row["outcome"] == "ok"]
                text = _spread([float(row["test"]) for row in ok], len(ok)) if ok else ""
                if ok and experiment.timed:
                    text += f"; {statistics.median(float(row['seconds']) for row in ok):.2f} s"
                cells.append(text or (_why(line, graph, mine) if line else ""))
            rows.append([label, graph, *cells])
    warning = (
        "Features were made from the edges alone (arxiv-structure): this is not the published task. "
        if "arxiv-structure" in experiment.columns()
        else ""
    )
    reading = f"Test accuracy in %, mean ± standard deviation over seeds (how many), for each {experiment.axis}."
    caption = f"{warning}{experiment.text} {reading} {_origin(experiment, results)}"
    columns = ["method", "graph", *(f"{experiment.axis} = {value}" for value in values)]
    return [Table(name, experiment.title, caption, columns, rows)]


def points(experiment: Experiment, results: Results) -> list[dict[str, str]]:
    """The rows of a curve for `plots`: each result with its line's label and value."""
    return [
        {**row, "row": line.label, "value": str(line.value)}
        for line in experiment.lines
        for graph in experiment.columns()
        for row in found(line, graph, experiment, results)
        if row["outcome"] == "ok"
    ]


def missing(experiment: Experiment, results: Results) -> list[str]:
    """What has not been run yet, one line for each row and graph."""
    lines = []
    for line in experiment.lines:
        for graph in experiment.columns():
            here = len(found(line, graph, experiment, results))
            if line.settings(graph) is None:
                lines.append(f"{line.label} on {graph}: {NO_SETTINGS}")
            elif here < line.seeds:
                point = "" if line.value is None else f" at {experiment.axis} = {line.value}"
                lines.append(f"{line.label} on {graph}{point}: {here} of {line.seeds} seeds")
    return lines


def _accuracy(line: Line, graph: str, experiment: Experiment, rows: Sequence[Row], bold: bool) -> str:
    said = printed(experiment.table, line.printed or line.label, graph) if experiment.table else None
    ok = [float(row["test"]) for row in rows if row["outcome"] == "ok"]
    text = _spread(ok, 0 if len(ok) == 20 else len(ok)) if ok else _why(line, graph, rows)
    text = f"**{text}**" if bold and ok else text
    return f"{text} [{said.text}]" if said else text


def _spread(values: Sequence[float], count: int) -> str:
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.2f}{deviation}" + (f" ({count})" if count else "")


def _why(line: Line, graph: str, rows: Sequence[Row] = (), ran: str = "") -> str:
    """What stands where there is no number; `ran` where the cell was run."""
    if rows:
        return ran or rows[0]["outcome"]
    return NO_SETTINGS if line.settings(graph) is None else NOT_RUN


def _memory(rows: Sequence[Row]) -> str:
    peaks = [float(row["peak_mib"]) for row in rows if row["peak_mib"]]
    if not peaks:
        return ""
    return f"**{max(peaks) / 1024:.2f}**" if max(peaks) > LIMIT_MIB else f"{max(peaks) / 1024:.2f}"


def _best(experiment: Experiment, graph: str, results: Results) -> str:
    """The label of the highest mean."""
    means = {}
    for line in experiment.lines:
        ok = [float(row["test"]) for row in found(line, graph, experiment, results) if row["outcome"] == "ok"]
        if ok:
            means[line.label] = statistics.fmean(ok)
    return max(means, key=lambda label: means[label], default="")


def _difference(ours: Sequence[Row], theirs: Sequence[Row]) -> str:
    first, second = _by_key(ours), _by_key(theirs)
    if len(first.keys() & second.keys()) < 2:
        return NOT_RUN
    result = paired(first, second)
    return f"{result.difference:+.2f} [{result.low:+.2f}, {result.high:+.2f}]"


def _by_key(rows: Sequence[Row]) -> dict[int, float]:
    """Accuracy by split where the graph brings several, averaged over seeds; else by seed: a split of its own, or a start."""
    scores = {int(row["seed"]): json.loads(row["test_by_split"]) for row in rows if row["outcome"] == "ok"}
    if any(len(values) > 1 for values in scores.values()):
        return {split: statistics.fmean(values) for split, values in enumerate(zip(*scores.values(), strict=True))}
    return {seed: values[0] for seed, values in scores.items()}


def _origin(experiment: Experiment, results: Results) -> str:
    """Evaluator, hardware, commits and dates of what the table shows."""
    rows = [
        row for line in experiment.lines for graph in experiment.columns() for row in found(line, graph, experiment, results)
    ]
    if not rows:
        return "Nothing has been run yet."
    machines = ", ".join(sorted({row["hardware"] for row in rows}))
    commits = ", ".join(sorted({row["commit"][:7] for row in rows}))
    days = sorted({row["date"][:10] for row in rows})
    shared = max(int(row["jobs"]) for row in rows)
    together = f" Up to {shared} cells ran at once, so times are not compared." if shared > 1 and not experiment.timed else ""
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    looks = f"{len({(row['recipe'], row['seed']) for row in rows})} cells, each entered in the ledger"
    return f"Evaluator: protocol linear. {looks}. {machines}; {when}; commit {commits}.{together}"
