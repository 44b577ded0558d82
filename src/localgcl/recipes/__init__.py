"""Recipes: settings by method and data set, one TOML file a method and one table a data set; and defaults for other graphs."""

import dataclasses
import tomllib
from importlib import resources
from typing import Any

from localgcl.graph import Graph

Settings = dict[str, Any]


def recipes(method: str) -> dict[str, Settings]:
    """All recipes of a method, by data set; empty when it has none."""
    file = resources.files(__package__) / f"{method}.toml"
    return tomllib.loads(file.read_text()) if file.is_file() else {}


def recipe(method: str, dataset: str) -> Settings | None:
    """The settings with which `localgcl train DATASET --method METHOD` starts; None when nobody has written any."""
    return recipes(method).get(dataset)


@dataclasses.dataclass(frozen=True)
class Chosen:
    """Settings for a graph, and where they come from, in words for the user."""

    values: Settings
    reasons: tuple[str, ...]


def settings_for(method: str, graph: Graph) -> Chosen:
    """Defaults for a graph without a recipe, from its statistics; labels are not looked at."""
    values: Settings = {}
    reasons: list[str] = []
    return Chosen(values, tuple(reasons))
