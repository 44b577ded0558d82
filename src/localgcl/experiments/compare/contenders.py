"""The contenders of a comparison: every method with every seed, and the baselines; how one is trained, embedded and scored."""

import dataclasses
import functools
import json
import statistics
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from localgcl.config import Config, LocalGCLWarning, suggestion
from localgcl.experiments.compare.contest import Contest
from localgcl.experiments.sweep import decisive_settings, recipe_hash
from localgcl.graph.prepare import column_statistics, prepare
from localgcl.methods import METHODS, configure, find_method
from localgcl.methods.settings import choose_settings, untrained
from localgcl.system.devices import choose_device
from localgcl.system.memory import Cost, measured
from localgcl.system.provenance import now
from localgcl.training import fit

Row = dict[str, str]
FIELDS = (
    *("key", "method", "seed", "outcome", "score", "scores", "validation", "dim", "steps", "seconds", "peak_mib", "note"),
    *("graph", "fingerprint", "settings", "evaluator", "jobs", "date", "version", "commit", "hardware"),
)
"""outcome: "ok", or why it failed. scores: by split. key: `Contender.recipe`."""
OURS, RAW = "local-gcl", "raw-features"
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
        device = choose_device(contest.device).type
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
        train = functools.partial(fit, graph, config, force_memory=contest.force_memory)
        model, cost = measured(train, choose_device(contest.device))
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
        "jobs": contest.jobs,
        "date": now(),
    }


def chosen_methods(named: Sequence[str]) -> list[str]:
    """The methods that are trained: those named, each once, or all. Baselines are left out: they come by themselves.

    Several may be named in one text, with commas between.
    """
    named = [name for text in named for name in text.split(",")]
    for name in named:
        find_method(name)
    methods = [name for name in dict.fromkeys(named or METHODS) if METHODS[name].learns]
    if not methods:
        raise ValueError(f"methods are {', '.join(named)}, which are not trained; name at least one that is, such as {OURS}")
    return methods


def reference(methods: Sequence[str]) -> str:
    """The method that the others are compared with: local-gcl, or else the first."""
    return OURS if OURS in methods else methods[0]


def given_settings(settings: Settings, methods: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The given settings of each method: those of all methods, and over them those whose name begins with "METHOD.".

    Raises ValueError for a name or value that a method refuses, before anything is trained.
    """
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
    seeds: int,
    dataset: str | None,
    baselines: bool,
    say: Callable[[str], None],
) -> list[Contender]:
    """All contenders, those of the first seed first.

    Args:
        contest: What they share.
        methods: The methods to train.
        given: Settings of each (see `given_settings`); the others are chosen as for `localgcl train`.
        seeds: Number of seeds.
        dataset: Use the recipes of this data set.
        baselines: Add random-init and raw-features.
        say: Takes a line for each method about where its settings come from.
    """
    configs = {}
    for method in methods:
        chosen = choose_settings(method, contest.unlabelled, dataset=dataset, given={**given[method], "device": contest.device})
        say(f"{method}: {chosen.explain()}")
        configs[method] = chosen.config
    if baselines:
        ours = configs[reference(methods)]
        configs |= {"random-init": untrained(ours), RAW: _raw(ours)}
    keyed = [Contender.of(contest, config) for config in configs.values()]
    return [Contender(contender.config.replace(seed=seed), contender.recipe) for seed in range(seeds) for contender in keyed]


def _raw(config: Config) -> Config:
    """raw-features, prepared as for `config`."""
    return configure(RAW, {**vars(config.preparation), "device": config.training.device})
