"""Recipes: settings by method and data set, one TOML file a method and one table a data set; and defaults for other graphs."""

import os
import tomllib
from importlib import resources
from typing import Any

from localgcl.config import read_toml
from localgcl.recipes.defaults import length_for as length_for

Settings = dict[str, Any]


def recipes(method: str) -> dict[str, Settings]:
    """All recipes of a method, by data set; empty when it has none."""
    file = resources.files(__package__) / f"{method}.toml"
    tables = tomllib.loads(file.read_text()) if file.is_file() else {}
    return {name: _settings(table) for name, table in tables.items()}


def recipe(method: str, dataset: str) -> Settings | None:
    """The settings that `localgcl train DATASET --method METHOD` uses; None if there are none."""
    return recipes(method).get(dataset)


def read_recipe(path: str | os.PathLike[str], dataset: str) -> Settings:
    """The table of `dataset` in a recipe file, or the file's only table."""
    tables = read_toml(path)
    if dataset not in tables and len(tables) == 1:
        dataset = next(iter(tables))
    found = tables.get(dataset)
    if not isinstance(found, dict):
        raise ValueError(
            f"{path} has no table [{dataset}]; a recipe is a table of settings by data set, as localgcl tune writes"
        )
    return _settings(found)


def _settings(table: Settings) -> Settings:
    """The settings of a table, lists as the tuples that options are: TOML has lists only."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}
