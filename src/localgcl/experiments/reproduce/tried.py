"""Graphs on which Local-GCL stays below the paper, and what was searched there."""

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from localgcl.experiments.reproduce import layouts
from localgcl.experiments.reproduce.experiments import EXPERIMENTS, OURS
from localgcl.experiments.reproduce.paper import printed
from localgcl.experiments.reproduce.store import Row
from localgcl.experiments.reproduce.table import Table
from localgcl.experiments.search import log


def table(results: Mapping[tuple[str, int], Row], tuning: Path) -> Table | None:
    """A row for each search on a graph where the mean is below the printed one; None where there is no such graph.

    Args:
        results: By recipe and seed.
        tuning: The folder with the logs of searches, those of a graph in local-gcl-GRAPH and local-gcl-GRAPH-WHAT.
    """
    rows = []
    for name in ("table-main", "table-heterophily"):
        experiment = EXPERIMENTS[name]
        for graph in experiment.columns():
            scores = [float(row["test"]) for row in layouts.found(OURS, graph, experiment, results) if row["outcome"] == "ok"]
            said = printed(experiment.table, "local-gcl", graph)
            if not scores or said is None or said.mean is None or statistics.fmean(scores) >= said.mean:
                continue
            for path in sorted(
                [*tuning.glob(f"local-gcl-{graph}/trials.csv"), *tuning.glob(f"local-gcl-{graph}-*/trials.csv")]
            ):
                trials = log.read(path)
                best = f"{log.score(log.best(trials, 1)[0]):.2f}"
                test = f"{statistics.fmean(scores):.2f}"
                rows.append([graph, test, said.text, path.parent.name, str(len(trials)), best, _varied(trials)])
    if not rows:
        return None
    return Table(
        "table-tried",
        "Where Local-GCL stays below the paper, and what was tried",
        "Searches by accuracy on validation nodes, test labels hidden; logs are in results/tuning. Validation accuracies of "
        "two searches compare only where they have the same seeds and divisions. Which recipe came of them, and what to know "
        "of each search, is said beside the recipe, in recipes/local-gcl.toml.",
        ["graph", "test", "printed", "log", "rows", "best validation", "varied"],
        rows,
    )


def _varied(trials: Sequence[log.Row]) -> str:
    """Options with more than one value, and their values."""
    values: dict[str, set[Any]] = {}
    for trial in trials:
        for name, value in json.loads(trial["settings"]).items():
            values.setdefault(name, set()).add(value)
    return "; ".join(
        f"{name} {', '.join(str(value) for value in sorted(found, key=lambda value: (str(type(value)), value)))}"
        for name, found in sorted(values.items())
        if len(found) > 1
    )
