"""The finals: validates the best trials again on more seeds, because the best of many noisy scores is partly the luckiest."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

from localgcl.experiments.search import log
from localgcl.experiments.search.trial import Problem, named, run, trial_seeds
from localgcl.graph import Graph
from localgcl.system.provenance import now


def finals(
    graph: Graph,
    rows: list[log.LogRow],
    path: Path,
    shared: log.LogRow,
    *,
    finalists: int,
    seeds: int,
    splits: int,
    redraws: int,
    device: str,
    say: Callable[[str], None],
) -> list[log.LogRow]:
    """Validates the best `finalists` of `rows` on `seeds` seeds and returns their new rows. Logged finals are not run again.

    Args:
        graph: As loaded; the labels of test nodes are hidden here.
        rows: Trials; at least one has a score.
        path: The log, to which the new rows are added.
        shared: The columns that all rows of this search share.
        finalists: Number of finalists.
        seeds: Number of seeds of each.
        splits: As for `tune`.
        redraws: As for `tune`.
        device: Where to train and validate.
        say: Takes a line for each finalist.
    """
    entered, shared = log.best(rows, finalists), {**shared, "seeds": named(trial_seeds(seeds))}
    sizes = {"seeds": seeds, "splits": splits, "redraws": redraws}
    problem = Problem.of(graph, shared["method"], protocol=shared["protocol"], device=device, **sizes)
    known = {row["settings"]: row for row in log.read(path) if all(row[column] == shared[column] for column in log.SAME)}
    found = []
    for row in entered:
        settings = row["settings"]
        if settings not in known:
            outcome = dataclasses.asdict(run(problem, json.loads(settings)))
            told = {name: "" if value is None else str(value) for name, value in outcome.items()}
            known[settings] = {**shared, **told, "settings": settings, "date": now()}
            log.append(path, known[settings])
        found.append(known[settings])
        result = found[-1]["validation"] or found[-1]["note"]
        say(f"finalist: {row['validation']} on seeds {row['seeds']}, {result} on {shared['seeds']}  {settings}")
    return found
