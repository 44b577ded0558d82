"""Looks up the results of an experiment: what there is, what is missing, who is best, who differs from whom."""

import json
import statistics
from collections.abc import Mapping, Sequence

from localgcl.experiments.reproduce.lines import Experiment, Line
from localgcl.experiments.reproduce.statistics import Paired, paired
from localgcl.experiments.reproduce.store import ResultRow, Results, short

NOT_RUN = "not run"
NO_SETTINGS = "no recipe"


def found(line: Line, graph: str, experiment: Experiment, results: Results) -> list[ResultRow]:
    """The results of a line on a graph, by seed."""
    cell = line.cell(graph, 0, timed=experiment.timed)
    keys = [] if cell is None else [(cell.recipe, seed) for seed in range(line.seeds)]
    return [results[key] for key in keys if key in results]


def scored(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Those that did not run out of memory."""
    return [row for row in rows if row["outcome"] == "ok"]


def means(graph: str, experiment: Experiment, results: Results) -> dict[str, float]:
    """Mean test accuracy of each ranked line, by label; those without a result are left out."""
    tests = {
        line.label: [float(row["test"]) for row in scored(found(line, graph, experiment, results))]
        for line in experiment.lines
        if line.ranked
    }
    return {label: statistics.fmean(values) for label, values in tests.items() if values}


def best(graph: str, experiment: Experiment, results: Results) -> str:
    """The label of the highest mean; empty where nothing was run."""
    known = means(graph, experiment, results)
    return max(known, key=lambda label: known[label], default="")


def difference(ours: Sequence[ResultRow], theirs: Sequence[ResultRow]) -> Paired | None:
    """The mean of paired differences of test accuracy with its confidence interval; None for fewer than two pairs.

    Pairs share a split: one of the graph's own, or the one that a seed draws. On a single public split they share the seed.
    """
    first, second = _by_split(ours), _by_split(theirs)
    return paired(first, second) if len(first.keys() & second.keys()) > 1 else None


def _by_split(rows: Sequence[ResultRow]) -> dict[int, float]:
    """Accuracy by split, as a mean over seeds, where the graph brings several splits; else by seed."""
    scores = {int(row["seed"]): json.loads(row["test_by_split"]) for row in scored(rows)}
    if any(len(values) > 1 for values in scores.values()):
        return {split: statistics.fmean(values) for split, values in enumerate(zip(*scores.values(), strict=True))}
    return {seed: values[0] for seed, values in scores.items()}


def untrained(row: ResultRow) -> bool:
    """True if early stopping kept the initial weights: the loss never fell below its first value."""
    settings = json.loads(row["settings"])
    patience = settings.get("patience", 0)
    stopped: bool = 0 < patience == int(row["steps"]) - 1 < settings["steps"] - 1
    return stopped and settings.get("keep") == "best"


def points(experiment: Experiment, results: Results) -> list[dict[str, str]]:
    """The rows of a curve for `plots`: each result with its line's label and value."""
    return [
        {**row, "row": line.label, "value": str(line.value)}
        for line, graph in experiment.places()
        for row in scored(found(line, graph, experiment, results))
    ]


def why_empty(line: Line, graph: str, rows: Sequence[ResultRow] = ()) -> str:
    """What a cell says that has no number."""
    if rows:
        return rows[0]["outcome"]
    return NO_SETTINGS if line.settings(graph) is None else NOT_RUN


def missing(experiment: Experiment, results: Results) -> list[str]:
    """What has not been run yet, one line for each row."""
    told: dict[str, dict[str, dict[str, list[str]]]] = {}  # by row, what is missing, and graph: the points of a curve
    for line, graph in experiment.places():
        rows = found(line, graph, experiment, results)
        if len(rows) < line.seeds:
            what = f"{len(rows)} of {line.seeds} seeds" if rows else why_empty(line, graph)
            at = told.setdefault(line.label, {}).setdefault(what, {}).setdefault(graph, [])
            at += [] if line.value is None else [str(line.value)]

    def places(where: Mapping[str, Sequence[str]]) -> str:
        return ", ".join(f"{graph} ({experiment.axis} = {', '.join(at)})" if at else graph for graph, at in where.items())

    return [f"{label}: " + "; ".join(f"{what} on {places(where)}" for what, where in by.items()) for label, by in told.items()]


def source(rows: Sequence[ResultRow]) -> str:
    """How many results these are, by which evaluator, on what hardware, when and from which commits."""
    if not rows:
        return "nothing has been run yet."
    protocols = ", ".join(sorted({row["protocol"] for row in rows}))
    machines = " and ".join(sorted({row["hardware"].replace(", 1 threads", ", 1 thread") for row in rows}))
    commits = ", ".join(sorted({short(row["commit"]) for row in rows} - {""})) or "unknown"
    days = sorted({row["date"][:10] for row in rows})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    count = len({(row["recipe"], row["seed"]) for row in rows})
    return f"{count} result{'s' * (count != 1)}; evaluator {protocols}; {machines}; {when}; commit {commits}."
