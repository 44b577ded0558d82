"""tune: a search for settings, from a graph to a recipe."""

import dataclasses
import datetime
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from localgcl.config import suggestion
from localgcl.datasets.source import Source
from localgcl.evaluation.evaluator import validating_probe
from localgcl.experiments.search import log
from localgcl.experiments.search.course import Course, search
from localgcl.experiments.search.finals import finals
from localgcl.experiments.search.samplers import SAMPLERS, key
from localgcl.experiments.search.space import OWN, Settings, Space, read_space
from localgcl.experiments.search.trial import Outcome, Problem
from localgcl.graph import Graph
from localgcl.methods import find_method
from localgcl.recipes import read_recipe, settings_for
from localgcl.system.devices import choose_device
from localgcl.system.provenance import describe


@dataclasses.dataclass(frozen=True)
class Found:
    """What a search ends with.

    Args:
        settings: Those of the best trial, as in the recipe.
        validation: Its mean validation accuracy in percent.
        rows: All trials that compare with it, as logged.
        folder: Where trials.csv and recipe.toml are.
    """

    settings: Settings
    validation: float
    rows: list[log.Row]
    folder: Path


def tune(
    graph: Graph | Source | str,
    method: str = "local-gcl",
    *,
    space: Space | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    sampler: str = "random",
    trials: int = 50,
    seeds: int = 3,
    splits: int = 3,
    redraws: int = 0,
    finalists: int = 0,
    final_seeds: int = 10,
    start: str | os.PathLike[str] = "recipe",
    fixed: Mapping[str, Any] | None = None,
    protocol: str = "linear",
    device: str = "auto",
    jobs: int = 1,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    commit: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Found:
    """Searches settings by accuracy on validation nodes. The labels of test nodes are hidden before anything is trained.

    A trial trains once a seed and validates each on the graph's first `splits`, or, where it has none, on one random split
    of that seed; its score is the mean over seeds. Rows go to `out`/trials.csv as trials finish, and the best so far to
    `out`/recipe.toml. Called again, it goes on where it was stopped: trials that are in the log are not run again.

    Args:
        graph: A graph with labels, the name of a data set, or a `Source`: the user's own files.
        method: One of `METHODS`.
        space: What may vary: a name ("wide", "paper" or "small" for Local-GCL, "small" for the others; by default the
            first), a TOML file, or lists of values by option.
        sampler: "random", "grid" (in order) or "tpe" (needs the extra hpo).
        trials: How many, those in the log included.
        seeds: Seeds 0, 1... of each trial.
        splits: How many of the graph's own splits each seed is validated on, at most.
        redraws: For a graph with a single given split, such as the public ones: also validate on so many further divisions of
            its labelled nodes (see `redrawn_splits`), because one validation set is soon overfitted by a search.
        finalists: So many of the best trials are validated once more on `final_seeds` seeds, and the best of them wins.
        final_seeds: Seeds of the finals.
        start: The first trial, and the settings of options that do not vary: "recipe" (what `localgcl train` would take),
            "defaults" (the method's), or a recipe file. Its values join the space.
        fixed: Options that keep the value given here.
        protocol: As for `evaluate`; one that picks on validation nodes.
        device: Where to train and validate.
        jobs: Trials at a time, each in a process of its own. With more than one, "tpe" depends on which finishes first.
        seed: Seed of the sampler.
        out: Folder of the log and the recipe; by default tuning/METHOD-NAME.
        commit: Recorded where git knows none.
        say: Takes each line of progress.

    Example:
        >>> import tempfile
        >>> from localgcl.datasets import sbm
        >>> graph, space, fixed = sbm(100, features=8), {"layers": (1, 2)}, {"dim": 4, "steps": 2}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found = tune(graph, space=space, fixed=fixed, seeds=1, protocol="knn", device="cpu", out=folder)
        >>> len(found.rows), sorted(found.settings)
        (2, ['batch_norm', 'dim', 'layers', 'scaling', 'steps'])
    """
    if sampler not in SAMPLERS:
        raise ValueError(f"there is no sampler {sampler!r}{suggestion(sampler, SAMPLERS)}")
    for option, value in {"trials": trials, "seeds": seeds, "splits": splits, "jobs": jobs, "final_seeds": final_seeds}.items():
        if value < 1:
            raise ValueError(f"{option} is {value}; it must be at least 1, for example 3")
    if finalists < 0 or redraws < 0:
        raise ValueError(f"finalists is {finalists} and redraws {redraws}; they must be at least 0")
    validating_probe(protocol, {})
    source = Source(graph) if isinstance(graph, str) else graph
    graph = source.read() if isinstance(source, Source) else source
    problem = Problem.of(graph, method, seeds=seeds, splits=splits, redraws=redraws, protocol=protocol, device=device)
    # A user's file that is called cora.csv is not the data set of that name.
    known = source.dataset if isinstance(source, Source) else source.name
    base = _start(start, method, problem.graph, known, source.name) | dict(fixed or {})
    if wrong := [option for option in OWN if option in base]:
        raise ValueError(f"{wrong[0]} cannot be fixed here: use seeds= and device= (--seeds and --device)")
    allowed = _space(space, method)
    course = Course.plan(allowed, base, method, fixed or {})

    folder = Path(out or f"tuning/{method}-{source.name}")
    folder.mkdir(parents=True, exist_ok=True)
    trials_file, recipe_file = folder / "trials.csv", folder / "recipe.toml"
    log.check_ours(recipe_file)
    shared = {"method": method, "dataset": source.name, "protocol": protocol, "seeds": str(seeds)}
    shared |= {"splits": str(len(problem.splits[0])), **_surroundings(device, commit)}
    rows = [row for row in log.read(trials_file) if all(row[column] == shared[column] for column in log.SAME)]
    if course.tried(rows):
        say(f"{len(course.tried(rows))} trials are in {trials_file} already")

    def record(settings: Settings, outcome: Outcome) -> None:
        told = {field: "" if value is None else str(value) for field, value in dataclasses.asdict(outcome).items()}
        date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        rows.append({**shared, **told, "settings": key(settings), "date": date})
        log.append(trials_file, rows[-1])
        if log.best(rows):
            log.write_recipe(recipe_file, rows, list(allowed.values))
        say(_line(rows, course, trials))

    try:
        search(problem, course, rows, record, sampler=sampler, seed=seed, trials=trials, jobs=jobs)
    except KeyboardInterrupt as interrupt:
        done = len(course.tried(rows))
        raise KeyboardInterrupt(f"stopped after {done} of {trials} trials; repeat the command to go on") from interrupt
    if not log.best(rows):
        raise ValueError(f"no trial could be scored; {trials_file} says why: {rows[-1]['note'] if rows else 'there is none'}")
    if finalists:
        sizes = {"finalists": finalists, "seeds": final_seeds, "splits": splits, "redraws": redraws}
        rows = finals(graph, rows, trials_file, shared, device=device, say=say, **sizes)
        if not log.best(rows):
            raise ValueError(f"no finalist could be scored; {trials_file} says why: {rows[-1]['note']}")
    settings = log.write_recipe(recipe_file, rows, list(allowed.values))
    return Found(settings, log.score(log.best(rows)[0]), rows, folder)


def _space(given: Space | Mapping[str, Any] | str | os.PathLike[str] | None, method: str) -> Space:
    if isinstance(given, Space | Mapping):
        return Space.checked(given.values if isinstance(given, Space) else given, method)
    return read_space(given, method)


def _start(start: str | os.PathLike[str], method: str, graph: Graph, dataset: str | None, name: str) -> Settings:
    if start == "recipe":
        return dict(settings_for(method, graph, dataset, find_method(method).defaults).values)
    return {} if start == "defaults" else dict(read_recipe(start, name))


def _surroundings(device: str, commit: str | None) -> log.Row:
    """Asked once, before the first trial: the tree may be edited while the others run."""
    made = describe()
    hardware = made["gpu"] if choose_device(device).type == "cuda" else made["processor"]
    return {"commit": commit or made["commit"] or "", "hardware": hardware}


def _line(rows: list[log.Row], course: Course, trials: int) -> str:
    """The last row, for people."""
    row = rows[-1]
    point = {option: value for option, value in json.loads(row["settings"]).items() if option in course.space.values}
    result = f"{log.score(row):.2f} ± {float(row['deviation']):.2f}" if row["validation"] else row["note"]
    leader = log.best(rows, 1)
    standing = f" (best {log.score(leader[0]):.2f})" if leader else ""
    return f"{len(course.tried(rows))}/{trials}  {result}{standing}  {json.dumps(point)}"
