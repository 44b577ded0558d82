"""tune: searches settings for a graph and writes the best as a recipe."""

import dataclasses
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from localgcl.config import MOST_JOBS, MOST_SEEDS, Checked, option, read_options
from localgcl.datasets.source import Source
from localgcl.evaluation.presets import validating_probe
from localgcl.experiments.search import log
from localgcl.experiments.search.space import OWN, SAMPLERS, Settings, Space, key, read_space
from localgcl.experiments.search.trials import Plan, Problem, TrialResult, named, run, search, trial_seeds
from localgcl.graph import Graph
from localgcl.methods.settings import choose_settings
from localgcl.system.devices import choose_device
from localgcl.system.files import check_writable
from localgcl.system.provenance import now, provenance
from localgcl.system.text import folder_name

MOST_TRIALS = 10**6


@dataclasses.dataclass(frozen=True)
class SearchOptions(Checked):
    """Options of a search. What varies and what stays fixed are arguments of `tune`."""

    sampler: str = option("random", "how the next trial is chosen", choices=lambda: SAMPLERS)
    trials: int = option(50, "number of trials, those in the log included", low=1, high=MOST_TRIALS, metavar="N")
    seeds: int = option(
        3, "number of seeds of each trial, 1000 and on: report results on others", low=1, high=MOST_SEEDS, metavar="K"
    )
    splits: int = option(
        3, "validate on the first S of the graph's own splits; 0: on --redraws alone", low=0, high=MOST_SEEDS, metavar="S"
    )
    redraws: int = option(
        0,
        "for a graph with one given split: extra random train/validation splits of its labelled nodes",
        low=0,
        high=MOST_SEEDS,
        metavar="R",
    )
    finalists: int = option(
        0, "validate the best F trials again on more seeds; the best of them wins", low=0, high=MOST_TRIALS, metavar="F"
    )
    final_seeds: int = option(10, "number of seeds of the finalists", low=1, high=MOST_SEEDS, metavar="K")
    start: str = option("recipe", "settings of the first trial, whose values join the space", metavar="recipe|defaults|FILE")
    protocol: str = option("linear", "how embeddings are validated: linear, sklearn, knn...", metavar="P")
    device: str = option("auto", "cpu, cuda, auto")
    jobs: int = option(1, "trials at a time, a process each", low=1, high=MOST_JOBS, metavar="J")
    seed: int = option(0, "seed of the sampler", low=0, high=2**32 - 1, metavar="S")
    out: str = option("", "folder of trials.csv and recipe.toml; by default tuning/METHOD-DATASET", metavar="DIR")
    commit: str = option("", "commit to record, where the tree was copied without its history", metavar="HASH")


@dataclasses.dataclass(frozen=True)
class Found:
    """The result of a search.

    Args:
        settings: Those of the best trial, as in the recipe.
        validation: Its mean validation accuracy in percent.
        rows: The logged rows of all trials that compare with it.
        folder: Where trials.csv and recipe.toml are.
    """

    settings: Settings
    validation: float
    rows: list[log.LogRow]
    folder: Path


def tune(
    graph: Graph | Source | str,
    method: str = "local-gcl",
    *,
    space: Space | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    fixed: Mapping[str, Any] | None = None,
    say: Callable[[str], None] = lambda _: None,
    **options: Any,
) -> Found:
    """Searches settings by accuracy on validation nodes. The labels of test nodes are hidden before anything is trained.

    A trial trains once per seed and validates on the graph's first splits, or, if it has none, on one random split of that
    seed; its score is the mean over seeds. Seeds begin at `trial.FIRST_SEED`: report results on others. Each finished trial
    is added to trials.csv, and the best so far is written to recipe.toml. Called again, the search continues: trials in the
    log are not run again.

    Args:
        graph: A graph with labels, the name of a data set, or a `Source`: the user's own files.
        method: One of `METHODS`.
        space: What may vary: a name ("wide", "paper" or "small" for Local-GCL, "small" for the others; by default the
            first), a TOML file, or lists of values by option.
        fixed: Options that do not vary, and their values.
        say: Takes each line of progress.
        **options: Fields of `SearchOptions`: sampler, trials, seeds, splits, redraws, finalists, final_seeds, start,
            protocol, device, jobs, seed, out, commit. With more than one job, the sampler "tpe" depends on which trial
            finishes first.

    Example:
        >>> import tempfile
        >>> from localgcl.datasets import sbm
        >>> graph, space, fixed = sbm(100, features=8), {"layers": (1, 2)}, {"dim": 4, "steps": 2}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found = tune(graph, space=space, fixed=fixed, seeds=1, protocol="knn", device="cpu", out=folder)
        >>> len(found.rows), found.settings["dim"], found.settings["layers"] in (1, 2)
        (2, 4, True)
    """
    for name in options.keys() & {"start", "out"}:
        options[name] = os.fspath(options[name])
    search_options = read_options(SearchOptions, tune, options)
    protocol, device, seeds = search_options.protocol, search_options.device, search_options.seeds
    validating_probe(protocol, {})
    source = Source(graph) if isinstance(graph, str) else graph
    folder = Path(search_options.out or f"tuning/{method}-{folder_name(source.name)}")
    trials_file, recipe_file = folder / "trials.csv", folder / "recipe.toml"
    check_writable(trials_file)
    log.check_ours(recipe_file)
    graph = source.read() if isinstance(source, Source) else source
    sizes = {"splits": search_options.splits, "redraws": search_options.redraws}
    problem = Problem.of(graph, method, seeds=seeds, protocol=protocol, device=device, **sizes)
    # A user's file that is called cora.csv is not the data set of that name.
    known = source.dataset if isinstance(source, Source) else source.name
    base = _start(search_options.start, method, problem.graph, known, dict(fixed or {}))
    if wrong := [option for option in OWN if option in base]:
        raise ValueError(f"{wrong[0]} cannot be fixed here: use seeds= and device= (--seeds and --device)")
    allowed = _space(space, method)
    if "encoder" in allowed.values and "batch" not in (fixed or {}):
        for name in ("batch", "sampled", "fourier", "projected"):  # chosen for hops; a GCN reads X as it is
            base.pop(name, None)
    plan = Plan.make(allowed, base, method, fixed or {})

    folder.mkdir(parents=True, exist_ok=True)
    shared = {"method": method, "dataset": source.name, "protocol": protocol, "seeds": named(problem.seeds)}
    shared |= {"splits": str(len(problem.splits[0])), **_made_with(search_options)}
    rows = [row for row in log.read(trials_file) if all(row[column] == shared[column] for column in log.SAME)]
    if plan.trials(rows):
        say(f"{len(plan.trials(rows))} trials are in {trials_file} already")

    def record(settings: Settings, result: TrialResult) -> None:
        row = {**shared, **result.columns(), "settings": key(settings), "date": now()}
        log.append(trials_file, row)
        rows.append(row)  # after it is stored: Ctrl-C may come while it is
        if log.best(rows):
            log.write_recipe(recipe_file, rows, list(allowed.values))
        say(_line(rows, plan, search_options.trials))

    how = {name: getattr(search_options, name) for name in ("sampler", "seed", "trials", "jobs")}
    try:
        search(problem, plan, rows, record, **how)
    except KeyboardInterrupt as interrupt:
        done = f"{len(plan.trials(rows))} of {search_options.trials}"
        raise KeyboardInterrupt(f"stopped after {done} trials; repeat the command to go on") from interrupt
    if not log.best(rows):
        raise ValueError(f"no trial could be scored; {trials_file} says why: {rows[-1]['note'] if rows else 'there is none'}")
    if search_options.finalists:
        more = {"finalists": search_options.finalists, "seeds": search_options.final_seeds, **sizes}
        rows = finals(graph, rows, trials_file, shared, device=device, say=say, **more)
        if not log.best(rows):
            raise ValueError(f"no finalist could be scored; {trials_file} says why: {rows[-1]['note']}")
    settings = log.write_recipe(recipe_file, rows, list(allowed.values))
    return Found(settings, log.score(log.best(rows)[0]), rows, folder)


def _space(given: Space | Mapping[str, Any] | str | os.PathLike[str] | None, method: str) -> Space:
    if isinstance(given, Space | Mapping):
        return Space.checked(given.values if isinstance(given, Space) else given, method)
    return read_space(given, method)


def _start(start: str, method: str, graph: Graph, dataset: str | None, fixed: Settings) -> Settings:
    """The settings of the first trial: those of `localgcl train`, the method's defaults, or a recipe file's; then `fixed`."""
    if start == "defaults":
        return fixed
    recipe_file = None if start == "recipe" else start
    chosen = choose_settings(method, graph, dataset=dataset, recipe_file=recipe_file, given=fixed).values
    return {**chosen, **fixed}


def _made_with(options: SearchOptions) -> log.LogRow:
    """Commit and hardware, read once before the first trial: the tree may be edited while trials run."""
    made = provenance(choose_device(options.device), options.commit)
    return {"commit": made.commit, "hardware": made.processor if made.device == "cpu" else made.device}


def _line(rows: list[log.LogRow], plan: Plan, trials: int) -> str:
    """One line about the last row, for the user."""
    row = rows[-1]
    point = {option: value for option, value in json.loads(row["settings"]).items() if option in plan.space.values}
    result = f"{log.score(row):.2f} ± {float(row['deviation']):.2f}" if row["validation"] else row["note"]
    leader = log.best(rows, 1)
    standing = f" (best {log.score(leader[0]):.2f})" if leader else ""
    return f"{len(plan.trials(rows))}/{trials}  {result}{standing}  {json.dumps(point)}"


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

    The best of many noisy scores is partly the luckiest: further seeds tell.

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
            result = run(problem, json.loads(settings))
            known[settings] = {**shared, **result.columns(), "settings": settings, "date": now()}
            log.append(path, known[settings])
        found.append(known[settings])
        now_scored = found[-1]["validation"] or found[-1]["note"]
        say(f"finalist: {row['validation']} on seeds {row['seeds']}, {now_scored} on {shared['seeds']}  {settings}")
    return found
