"""choose_settings: the settings of a method on a graph, for the command line, estimators, searches and experiments."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.methods import configure, find_method
from localgcl.methods.base import NOTHING
from localgcl.recipes import length_for, read_recipe, recipe


@dataclasses.dataclass(frozen=True)
class Chosen:
    """Settings of a method for a graph.

    Args:
        config: All settings: those given, then those chosen, then the method's defaults.
        values: The chosen ones, by name: from a recipe, or from the graph's statistics.
        reasons: Why, in words; by setting, or by where all of them come from.
    """

    config: Config
    values: Mapping[str, Any]
    reasons: Mapping[str, str]

    def explain(self) -> str:
        """One line for the user."""
        return f"settings: {'; '.join(self.reasons.values()) or 'as given'}"


def choose_settings(
    method: str,
    graph: Graph,
    *,
    dataset: str | None = None,
    recipe_file: str | os.PathLike[str] | None = None,
    given: Mapping[str, Any] = NOTHING,
) -> Chosen:
    """The settings for `method` on `graph`; labels are not used.

    `given` settings come first, then the recipe, then the method's own defaults. Without a recipe, the graph's statistics
    choose the settings for which the method has no default of its own, and baselines train as long as their loss needs.

    Args:
        method: One of `METHODS`.
        graph: As loaded.
        dataset: Use the recipe of this data set, if there is one.
        recipe_file: Use only the recipe in this file, such as `localgcl tune` writes.
        given: Settings by name.
    """
    if recipe_file is not None:
        values, reasons = read_recipe(recipe_file, dataset or graph.name), {"recipe": f"the recipe in {recipe_file}"}
    elif dataset is not None and (found := recipe(method, dataset)) is not None:
        values, reasons = found, {"recipe": f"the recipe for {dataset}"}
    else:
        kind = find_method(method)
        chosen = {name: pair for name, pair in kind.defaults_on(graph, given).items() if name not in kind.defaults}
        values = {name: value for name, (value, _) in chosen.items()} | length_for(method, given)
        reasons = {"defaults": "chosen from the graph's statistics", **{name: why for name, (_, why) in chosen.items() if why}}
    told = {name: why for name, why in reasons.items() if name not in given}
    return Chosen(configure(method, {**values, **given}), values, told)


def untrained(config: Config) -> Config:
    """The settings of random-init with the preparation and encoder of `config`, on the whole graph."""
    own = {*vars(config.options), "batch", "sampled"}
    return configure("random-init", {name: value for name, value in config.flat().items() if name not in own})
