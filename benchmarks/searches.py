"""The searches on graphs where Local-GCL is below the paper's accuracy: a table for the page of results."""

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from localgcl.experiments.search import log
from localgcl.experiments.tables import Table
from paper.experiments import EXPERIMENTS, OURS
from paper.lookup import found, scored
from paper.printed import printed
from paper.store import Results


def table(results: Results, tuning: Path) -> Table | None:
    """A row for each search on a graph where the mean is below the printed one; None where there is no such graph.

    Args:
        results: By recipe and seed.
        tuning: The folder with the logs of searches, those of a graph in local-gcl-GRAPH and local-gcl-GRAPH-WHAT.
    """
    rows = []
    for name in ("table-main", "table-heterophily"):
        experiment = EXPERIMENTS[name]
        for graph in experiment.columns():
            scores = [float(row["test"]) for row in scored(found(OURS, graph, experiment, results))]
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
        "table-searches",
        "Where Local-GCL is below the paper, and what was searched",
        "Test accuracy of local-gcl beside the printed one, and each search by validation accuracy, test labels hidden. Best "
        "validation accuracies compare only between searches with the same seeds and splits.",
        ["graph", "test", "printed", "log", "rows", "best validation", "varied"],
        rows,
        ["Logs are in results/tuning; recipes/local-gcl-single.toml says which recipe came of each search."],
    )


def _varied(trials: Sequence[Mapping[str, str]]) -> str:
    """Options that took more than one value, with their values."""
    values: dict[str, set[Any]] = {}
    for trial in trials:
        for name, value in json.loads(trial["settings"]).items():
            values.setdefault(name, set()).add(value)
    return "; ".join(
        f"{name} {', '.join(str(value) for value in sorted(several, key=lambda value: (str(type(value)), value)))}"
        for name, several in sorted(values.items())
        if len(several) > 1
    )
