"""The finals: the best trials once more, on more seeds, because the best of many noisy scores is partly the luckiest."""

import dataclasses
import datetime
import json
from collections.abc import Callable
from pathlib import Path

from localgcl.graph import Graph
from localgcl.search import log
from localgcl.search.samplers import key
from localgcl.search.trial import Problem, run


def finals(
    graph: Graph,
    rows: list[log.Row],
    folder: Path,
    varied: list[str],
    *,
    finalists: int,
    seeds: int,
    splits: int,
    redraws: int,
    device: str,
    say: Callable[[str], None],
) -> list[log.Row]:
    """Validates the best `finalists` of `rows` on `seeds` seeds; the best becomes the recipe. Known ones are not run again."""
    entered, path = log.best(rows, finalists), folder / "trials.csv"
    first = entered[0]
    sizes = {"seeds": seeds, "splits": splits, "redraws": redraws}
    problem = Problem.of(graph, first["method"], protocol=first["protocol"], device=device, **sizes)
    shared = {**first, "seeds": str(seeds)}
    known = {row["settings"]: row for row in log.read(path) if all(row[column] == shared[column] for column in log.SAME)}
    found = []
    for row in entered:
        settings = json.loads(row["settings"])
        if key(settings) not in known:
            told = {
                name: "" if value is None else str(value) for name, value in dataclasses.asdict(run(problem, settings)).items()
            }
            date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            known[key(settings)] = {**shared, **told, "settings": key(settings), "date": date}
            log.append(path, known[key(settings)])
        found.append(known[key(settings)])
        say(f"finalist: {row['validation']} on {row['seeds']} seeds, {found[-1]['validation']} on {seeds}  {row['settings']}")
    log.write_recipe(folder / "recipe.toml", found, varied)
    return found
