"""tune: searches settings for a graph and writes the best as a recipe."""

import dataclasses
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from localgcl.config import read_options
from localgcl.datasets.source import Source
from localgcl.evaluation.presets import validating_probe
from localgcl.experiments.search import log
from localgcl.experiments.search.space import OWN, Settings, Space, key, read_space
from localgcl.experiments.search.trials import Plan, Problem, SearchOptions, TrialResult, named, run, search, trial_seeds
from localgcl.graph import Graph
from localgcl.methods.settings import choose_settings
from localgcl.system.devices import choose_device
from localgcl.system.files import check_writable
from localgcl.system.provenance import provenance
from localgcl.system.text import folder_name


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
    asked = read_options(SearchOptions, tune, options)
    validating_probe(asked.protocol, {})
    source = Source(graph) if isinstance(graph, str) else graph
    folder = Path(asked.out or f"tuning/{method}-{folder_name(source.name)}")
    trials_file, recipe_file = folder / "trials.csv", folder / "recipe.toml"
    check_writable(trials_file)
    log.check_ours(recipe_file)
    graph = source.read() if isinstance(source, Source) else source
    problem = _problem(graph, method, asked, asked.seeds)
    # A user's file that is called cora.csv is not the data set of that name.
    known = source.dataset if isinstance(source, Source) else source.name
    base = _start(asked.start, method, problem.graph, known, dict(fixed or {}))
    if wrong := [option for option in OWN if option in base]:
        raise ValueError(f"{wrong[0]} cannot be fixed here: use seeds= and device= (--seeds and --device)")
    allowed = _space(space, method)
    if "encoder" in allowed.values and "batch" not in (fixed or {}):
        for name in ("batch", "sampled", "fourier", "projected"):  # chosen for hops; a GCN reads X as it is
            base.pop(name, None)
    plan = Plan.make(allowed, base, method, fixed or {})

    folder.mkdir(parents=True, exist_ok=True)
    made = provenance(choose_device(asked.device), asked.commit)  # read once: the tree may be edited while trials run
    hardware = made.processor if made.device == "cpu" else made.device
    shared = {"method": method, "dataset": source.name, "protocol": asked.protocol, "seeds": named(problem.seeds)}
    shared |= {"splits": str(len(problem.splits[0])), "commit": made.commit, "hardware": hardware}
    trials = log.Log(trials_file, shared)
    if stored := len(plan.trials(trials.rows)):
        say(f"{stored} trials are in {trials_file} already")

    def record(settings: Settings, result: TrialResult) -> None:
        trials.add(key(settings), result.columns())
        if log.best(trials.rows):
            log.write_recipe(recipe_file, trials.rows, list(allowed.values))
        say(_line(trials.rows, plan, asked.trials))

    try:
        search(problem, plan, trials.rows, record, asked)
    except KeyboardInterrupt as interrupt:
        done = f"{len(plan.trials(trials.rows))} of {asked.trials}"
        raise KeyboardInterrupt(f"stopped after {done} trials; repeat the command to go on") from interrupt
    rows = trials.rows
    if not log.best(rows):
        raise ValueError(f"no trial could be scored; {trials_file} says why: {rows[-1]['note'] if rows else 'there is none'}")
    if asked.finalists:
        rows = finals(graph, trials, asked, say)
        if not log.best(rows):
            raise ValueError(f"no finalist could be scored; {trials_file} says why: {rows[-1]['note']}")
    settings = log.write_recipe(recipe_file, rows, list(allowed.values))
    return Found(settings, log.score(log.best(rows)[0]), rows, folder)


def _problem(graph: Graph, method: str, options: SearchOptions, seeds: int) -> Problem:
    sizes = {"seeds": seeds, "splits": options.splits, "redraws": options.redraws}
    return Problem.of(graph, method, protocol=options.protocol, device=options.device, **sizes)


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


def _line(rows: list[log.LogRow], plan: Plan, trials: int) -> str:
    """One line about the last row, for the user."""
    row = rows[-1]
    point = {option: value for option, value in json.loads(row["settings"]).items() if option in plan.space.values}
    result = f"{log.score(row):.2f} ± {float(row['deviation']):.2f}" if row["validation"] else row["note"]
    leader = log.best(rows, 1)
    standing = f" (best {log.score(leader[0]):.2f})" if leader else ""
    return f"{len(plan.trials(rows))}/{trials}  {result}{standing}  {json.dumps(point)}"


def finals(graph: Graph, trials: log.Log, options: SearchOptions, say: Callable[[str], None]) -> list[log.LogRow]:
    """Validates the best trials on more seeds and returns their new rows. Logged finals are not run again.

    The best of many noisy scores is partly the luckiest: further seeds tell.

    Args:
        graph: As loaded; the labels of test nodes are hidden here.
        trials: At least one has a score. The new rows join its file.
        options: Those of the search: how many finalists, on how many seeds.
        say: Takes a line for each finalist.
    """
    finals = log.Log(trials.path, {**trials.shared, "seeds": named(trial_seeds(options.final_seeds))})
    problem = _problem(graph, trials.shared["method"], options, options.final_seeds)
    known, found = {row["settings"]: row for row in finals.rows}, []
    for row in log.best(trials.rows, options.finalists):
        settings = row["settings"]
        final = known[settings] if settings in known else finals.add(settings, run(problem, json.loads(settings)).columns())
        found.append(final)
        now_scored = final["validation"] or final["note"]
        say(f"finalist: {row['validation']} on seeds {row['seeds']}, {now_scored} on {final['seeds']}  {settings}")
    return found
