"""Looks up the results of an experiment: what there is, what is missing, who is best, who differs from whom."""

import dataclasses
import json
import statistics
from collections.abc import Mapping, Sequence

from localgcl.datasets import CATALOGUE
from localgcl.experiments.statistics import Difference, paired, welch
from paper.lines import Experiment, Line
from paper.store import ResultRow, Results

NOT_RUN = "not run"
NO_SETTINGS = "no recipe"


def found(line: Line, graph: str, experiment: Experiment, results: Results) -> list[ResultRow]:
    """The results of a line on a graph, by seed."""
    cell = line.cell(graph, 0, timed=experiment.timed)
    keys = [] if cell is None else [(cell.recipe, seed) for seed in range(line.seeds)]
    return [results[key] for key in keys if key in results]


def with_results(experiment: Experiment, results: Results) -> Experiment:
    """The rows and graphs that have a result; the experiment as it is where all of them have."""
    there = [(line, graph) for line, graph in experiment.places() if found(line, graph, experiment, results)]
    lines, graphs = [line for line, _ in there], {graph for _, graph in there}
    return dataclasses.replace(
        experiment,
        lines=tuple(line for line in experiment.lines if line in lines),
        graphs=tuple(graph for graph in experiment.columns() if graph in graphs),
    )


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


def best(graph: str, experiment: Experiment, results: Results) -> set[str]:
    """The label of the highest mean, and those of means that are within noise of it; none where nothing was run.

    Within noise: the 95% interval of the difference (`difference`) holds zero. A mean of one seed has no interval, so it
    stands here only as the highest.
    """
    known = means(graph, experiment, results)
    if not known:
        return set()
    top = max(known, key=lambda label: known[label])
    rows = {line.label: found(line, graph, experiment, results) for line in experiment.lines if line.label in known}
    return {label for label in known if label == top or _level(rows[top], rows[label])}


def _level(first: Sequence[ResultRow], second: Sequence[ResultRow]) -> bool:
    """Whether the second is within noise of the first. Rows of one recipe are, whatever seeds they happen to have."""
    if first[0]["recipe"] == second[0]["recipe"]:
        return True
    gap = difference(first, second)
    return gap is not None and gap.low <= 0


def difference(ours: Sequence[ResultRow], theirs: Sequence[ResultRow]) -> Difference | None:
    """The difference of mean test accuracies with its 95% confidence interval; None where there are too few scores for one.

    Where seeds draw the splits, pairs share a split. On public splits all seeds of both are compared, by Welch's t.
    """
    first, second = ({int(row["seed"]): float(row["test"]) for row in scored(rows)} for rows in (ours, theirs))
    if any(_draws_its_split(row) for row in ours):
        return paired(first, second) if len(first.keys() & second.keys()) > 1 else None
    return welch(list(first.values()), list(second.values())) if min(len(first), len(second)) > 1 else None


def _draws_its_split(row: ResultRow) -> bool:
    """Whether the split was drawn with the seed; else it came with the graph."""
    return CATALOGUE[row["graph"]].splits == "random" or " splits=" in row["protocol"]


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
    """The text of a cell without a number."""
    if rows:
        return rows[0]["outcome"]
    return NO_SETTINGS if line.settings(graph) is None else NOT_RUN


def missing(experiment: Experiment, results: Results) -> list[str]:
    """What has not been run yet, one line for each row."""
    gaps: dict[str, dict[str, dict[str, list[str]]]] = {}  # by row, what is missing, and graph: the points of a curve
    for line, graph in experiment.places():
        rows = found(line, graph, experiment, results)
        if len(rows) < line.seeds:
            what = f"{len(rows)} of {line.seeds} seeds" if rows else why_empty(line, graph)
            at = gaps.setdefault(line.label, {}).setdefault(what, {}).setdefault(graph, [])
            at += [] if line.value is None else [str(line.value)]

    def places(where: Mapping[str, Sequence[str]]) -> str:
        return ", ".join(f"{graph} ({experiment.axis} = {', '.join(at)})" if at else graph for graph, at in where.items())

    return [f"{label}: " + "; ".join(f"{what} on {places(where)}" for what, where in by.items()) for label, by in gaps.items()]
