"""compare: trains methods on one graph with several seeds and scores all of them by one evaluator.

A contender is a method with its settings and a seed. Each is trained, embedded and scored into a row of compare.csv.
"""

import dataclasses
import functools
import json
import os
import statistics
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from localgcl.config import Config, LocalGCLWarning, read_options, suggestion
from localgcl.datasets.source import Source
from localgcl.evaluation.presets import find_probe, validating_probe
from localgcl.experiments.compare.comparison import FIELDS, INIT, RAW, Comparison, Row
from localgcl.experiments.compare.contest import CompareOptions, Contest
from localgcl.experiments.sweep import Sweep, decisive_settings, missing, recipe_hash
from localgcl.graph import Graph
from localgcl.graph.prepare import column_statistics, prepare
from localgcl.io.convert import as_graph
from localgcl.methods import DEFAULT, METHODS, configure, find_method
from localgcl.methods.settings import choose_settings, untrained
from localgcl.system.devices import choose_device
from localgcl.system.files import RowFile
from localgcl.system.memory import Cost, measured
from localgcl.system.provenance import now, provenance
from localgcl.system.text import shown
from localgcl.training import fit
from localgcl.training.preflight import check_files


def compare(
    graph: Any,
    methods: Sequence[str] = (),
    *,
    settings: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    say: Callable[[str], None] = lambda _: None,
    **options: Any,
) -> Comparison:
    """Trains methods on a graph with several seeds, without labels, and scores all of them by one evaluator.

    The untrained encoder (random-init) and the features themselves (raw-features) are scored beside them. A seed decides the
    initial weights, all that is drawn in training, and the splits where they are drawn: the same ones for all methods. A
    method that cannot be trained on the graph, for example for want of memory, gets a line that says why.

    With `out`, each result is added to compare.csv in that folder as it comes, and the table is written beside it. Called
    again, it computes what is missing; results of another graph or of other settings stay in the file and do not count.

    Args:
        graph: The name of a data set, a `Source` (your own files), a `Graph` with labels, or anything that `as_graph` takes.
        methods: Names of `localgcl methods`; by default all.
        settings: Options by name, for all methods, or for one as "METHOD.NAME". Others come from the recipe of a data set
            that is named, or are chosen from the graph's statistics.
        out: Folder of compare.csv and of the table; by default nothing is written.
        say: Takes each line of progress, for example `print`.
        **options: Fields of `CompareOptions`: seeds, dim, recipe, protocol, train_share, splits, on, baselines, device, jobs,
            retry, force_memory.

    Example:
        >>> import localgcl as lg
        >>> found = lg.compare(lg.sbm(100), ["local-gcl", "grace"], seeds=2, dim=8, settings={"steps": 2}, protocol="knn")
        >>> {line.method: len(line.scores) for line in sorted(found.lines, key=lambda line: line.method)}
        {'grace': 2, 'local-gcl': 2, 'random-init': 2, 'raw-features': 2}
    """
    asked = read_options(CompareOptions, compare, {"methods": tuple(methods), **options})
    names = chosen_methods(asked.methods, baselines=asked.baselines)
    given = given_settings({**({} if asked.dim is None else {"dim": asked.dim}), **(settings or {})}, names)
    (validating_probe if asked.on == "validation" else find_probe)(asked.protocol, {})
    file = None if out is None else RowFile(Path(out) / "compare.csv", FIELDS)
    known = {} if file is None else {(row["key"], int(row["seed"])): row for row in file.rows()}  # the newest of each
    loaded, dataset = _read(graph, asked.force_memory)
    made = provenance(choose_device(asked.device))
    made_with = {"version": made.packages["localgcl"], "commit": made.commit, "hardware": made.hardware}
    contest = Contest(loaded.to("cpu"), asked, made_with)
    contest.check()
    say(repr(loaded))
    everyone = contenders(contest, names, given, dataset=dataset if asked.recipe else None, say=say)
    found = {contender.key: known[contender.key] for contender in everyone if contender.key in known}
    if asked.retry:
        found = {key: row for key, row in found.items() if row["outcome"] == "ok"}
    todo = missing(everyone, found)
    say(f"results to make: {len(todo)}{_stored(file, list(found.values()))}")

    def record(contender: Contender, row: Row) -> str:
        found[contender.key] = row
        if file is not None:
            file.append(row)
        return f"{row['method']} seed {row['seed']}: {_outcome(row)}"

    Sweep(run, contest, asked.jobs).run_all(todo, record, say=say, unit="results", kept=file is not None)
    rows = [found[contender.key] for contender in everyone]
    comparison = Comparison(rows, loaded.name, reference(names), asked.protocol, contest.evaluator, asked.seeds)
    if out is not None:
        comparison.write(out)
    return comparison


def _stored(file: RowFile | None, rows: Sequence[Row]) -> str:
    """How many results are stored already, for the user; empty if none are."""
    if file is None or not rows:
        return ""
    failed = sum(row["outcome"] != "ok" for row in rows)
    again = f", of which {failed} failed (--retry runs them again)" if failed else ""
    return f"; in {shown(file.path)} already: {len(rows)}{again}"


def _read(graph: Any, force_memory: bool) -> tuple[Graph, str | None]:
    """The graph, and the data set whose recipes are used."""
    source = Source(graph) if isinstance(graph, str) else graph
    if not isinstance(source, Source):
        return as_graph(source), None
    if source.edges is not None:
        check_files(source.edges, source.features, force=force_memory)
    return source.read(), source.dataset


def _outcome(row: Row) -> str:
    if row["outcome"] != "ok":
        return f"failed: {row['outcome']}"
    return f"{float(row['score']):.2f} ({row['steps']} steps in {float(row['seconds']):.1f} s)"


_OWN = {"seed": "seeds", "device": "device"}
Settings = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Contender:
    """One method with its settings and a seed.

    Args:
        config: Method and settings, the seed among them.
        recipe: A hash of everything but the seed: graph, method, settings, evaluator, and whether it runs on a GPU.
    """

    config: Config
    recipe: str

    @classmethod
    def of(cls, contest: Contest, config: Config) -> "Contender":
        device = choose_device(contest.options.device).type
        settings = decisive_settings(config)
        return cls(config, recipe_hash(contest.fingerprint, config.method, settings, contest.evaluator, device))

    @property
    def seed(self) -> int:
        return self.config.training.seed

    @property
    def key(self) -> tuple[str, int]:
        """By which its result is found."""
        return self.recipe, self.seed


def run(contest: Contest, contender: Contender) -> Row:
    """Trains, embeds and scores. A method that cannot be trained on this graph gets a row that says why."""
    row: dict[str, Any] = dict.fromkeys(FIELDS, "") | _described(contest, contender)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LocalGCLWarning)
        try:
            row |= _result(contest, contender)
        except (ValueError, RuntimeError, MemoryError) as error:
            row["outcome"] = " ".join(str(error).split()) or type(error).__name__
    notes = [str(warning.message) for warning in caught if issubclass(warning.category, LocalGCLWarning)]
    row["note"] = notes[0] if notes else ""
    return {name: str(value) for name, value in row.items()}


def _result(contest: Contest, contender: Contender) -> dict[str, Any]:
    config, graph, cost, steps = contender.config, contest.unlabelled, Cost(0.0, None), 0
    if config.method == RAW:  # never made dense
        z = prepare(graph, config.preparation, column_statistics(graph, config.preparation.scaling)).x
    else:
        config = config.replace(log_every=max(1, config.training.steps // 20))  # reading the loss makes the host wait
        train = functools.partial(fit, graph, config, force_memory=contest.options.force_memory)
        model, cost = measured(train, choose_device(contest.options.device))
        z, steps = model.embed(graph), model.step
    scores = contest.score(z, contender.seed)
    validation = [value for value in scores.validation if value is not None]
    return {
        "outcome": "ok",
        "score": round(scores.mean, 4),
        "scores": json.dumps([round(value, 4) for value in scores.values]),
        "validation": round(statistics.fmean(validation), 4) if validation else "",
        "dim": z.shape[1],
        "steps": steps,
        "seconds": round(cost.seconds, 3),
        "peak_mib": "" if cost.peak is None else round(cost.peak / 2**20, 1),
    }


def _described(contest: Contest, contender: Contender) -> dict[str, Any]:
    """The columns that say what was run, where and when."""
    return {
        **contest.made,
        "key": contender.recipe,
        "method": contender.config.method,
        "seed": contender.seed,
        "graph": contest.graph.name,
        "fingerprint": contest.fingerprint,
        "settings": json.dumps(decisive_settings(contender.config), sort_keys=True),
        "evaluator": contest.evaluator,
        "jobs": contest.options.jobs,
        "date": now(),
    }


def chosen_methods(named: Sequence[str], *, baselines: bool) -> list[str]:
    """The methods to compare: those named, each once, or all that learn; then the baselines that are named, or all of them.

    Several may be named in one text, with commas between.
    """
    named = [name for text in named for name in text.split(",")]
    for name in named:
        find_method(name)
    learning = [name for name in dict.fromkeys(named or METHODS) if METHODS[name].learns]
    if not learning:
        raise ValueError(f"methods are {', '.join(named)}, which are not trained; name at least one that is, such as {DEFAULT}")
    return learning + [name for name, kind in METHODS.items() if not kind.learns and (baselines or name in named)]


def reference(methods: Sequence[str]) -> str:
    """The method that the others are compared with: local-gcl, or else the first."""
    return DEFAULT if DEFAULT in methods else methods[0]


def given_settings(settings: Settings, methods: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The given settings of each method: those of all methods, and over them those whose name begins with "METHOD.".

    Raises ValueError for a name or value that a method refuses, before anything is trained.
    """
    methods = [method for method in methods if method not in (INIT, RAW)]  # theirs are those of the reference
    shared = {name: value for name, value in settings.items() if "." not in name}
    given = {method: dict(shared) for method in methods}
    for name, value in settings.items():
        method, dot, option = name.partition(".")
        if dot and method not in methods:
            raise ValueError(
                f"setting {name!r:.100} is for {method!r:.100}, which is not compared{suggestion(method, tuple(methods))}"
            )
        if dot:
            given[method][option] = value
    for method, values in given.items():
        for option in values.keys() & _OWN.keys():
            raise ValueError(f"{option} cannot be set for a method; use {_OWN[option]}")
        try:
            configure(method, values)
        except ValueError as error:
            hint = "; a setting of one method is written METHOD.NAME" if values.keys() & shared.keys() else ""
            raise ValueError(f"{error}{hint}") from error
    return given


def contenders(
    contest: Contest,
    methods: Sequence[str],
    given: Mapping[str, Settings],
    *,
    dataset: str | None,
    say: Callable[[str], None],
) -> list[Contender]:
    """All contenders, those of the first seed first.

    Args:
        contest: What they share.
        methods: As `chosen_methods` returns them.
        given: Settings of each (see `given_settings`); the others are chosen as for `localgcl train`.
        dataset: Use the recipes of this data set.
        say: Takes a line for each method about where its settings come from.
    """
    configs, device = {}, contest.options.device
    for method in given:
        chosen = choose_settings(method, contest.unlabelled, dataset=dataset, given={**given[method], "device": device})
        say(f"{method}: {chosen.explain()}")
        configs[method] = chosen.config
    ours = configs[reference(methods)]
    if INIT in methods:
        configs[INIT] = untrained(ours)
    if RAW in methods:
        configs[RAW] = configure(RAW, {**vars(ours.preparation), "device": device})
    keyed = [Contender.of(contest, config) for config in configs.values()]
    seeds = range(contest.options.seeds)
    return [Contender(contender.config.replace(seed=seed), contender.recipe) for seed in seeds for contender in keyed]
