"""The cells of a comparison: every method with its settings, and the baselines of the method that others are compared with."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from localgcl.config import Config, suggestion
from localgcl.experiments.compare.cells import RAW, Cell
from localgcl.experiments.compare.problem import Problem
from localgcl.methods import METHODS, configure, find_method
from localgcl.methods.settings import choose_settings, untrained

Settings = Mapping[str, Any]
OURS = "local-gcl"
_OWN = {"seed": "seeds", "device": "device"}


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


def cells(
    problem: Problem,
    methods: Sequence[str],
    given: Mapping[str, Settings],
    *,
    seeds: int,
    dataset: str | None,
    baselines: bool,
    say: Callable[[str], None],
) -> list[Cell]:
    """All cells, those of the first seed first.

    Args:
        problem: What they share.
        methods: The methods to train.
        given: Settings of each (see `given_settings`); the others are chosen as for `localgcl train`.
        seeds: Number of seeds.
        dataset: Use the recipes of this data set.
        baselines: Add random-init and raw-features.
        say: Takes a line for each method about where its settings come from.
    """
    configs = {}
    for method in methods:
        chosen = choose_settings(method, problem.unlabelled, dataset=dataset, given={**given[method], "device": problem.device})
        say(f"{method}: {chosen.explain()}")
        configs[method] = chosen.config
    if baselines:
        ours = configs[reference(methods)]
        configs |= {"random-init": untrained(ours), RAW: _raw(ours)}
    keyed = [Cell.of(problem, config) for config in configs.values()]
    return [Cell(cell.config.replace(seed=seed), cell.key) for seed in range(seeds) for cell in keyed]


def _raw(config: Config) -> Config:
    """raw-features, prepared as for `config`."""
    return configure(RAW, {**vars(config.preparation), "device": config.training.device})
