"""Recipes: settings by method and data set, one TOML file a method and one table a data set; and defaults for other graphs."""

import dataclasses
import os
import tomllib
from collections.abc import Collection
from importlib import resources
from typing import Any

import torch

from localgcl.config import read_toml
from localgcl.graph import Graph

Settings = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Chosen:
    """Settings for a graph, and where they come from, in words for the user."""

    values: Settings
    reasons: dict[str, str]

    def explain(self, given: Collection[str] = ()) -> str:
        """One line for the user; options that were `given` need no reason."""
        reasons = [reason for name, reason in self.reasons.items() if name not in given]
        return f"settings: {'; '.join(reasons) or 'as given'}"


def recipes(method: str) -> dict[str, Settings]:
    """All recipes of a method, by data set; empty when it has none."""
    file = resources.files(__package__) / f"{method}.toml"
    return tomllib.loads(file.read_text()) if file.is_file() else {}


def recipe(method: str, dataset: str) -> Settings | None:
    """The settings with which `localgcl train DATASET --method METHOD` starts; None when nobody has written any."""
    return recipes(method).get(dataset)


def read_recipe(path: str | os.PathLike[str], dataset: str) -> Settings:
    """The table of `dataset` in a recipe file, or the only one."""
    tables = read_toml(path)
    if dataset not in tables and len(tables) == 1:
        dataset = next(iter(tables))
    found = tables.get(dataset)
    if not isinstance(found, dict):
        raise ValueError(
            f"{path} has no table [{dataset}]; a recipe is a table of settings by data set, as localgcl tune writes"
        )
    return found


def settings_for(method: str, graph: Graph, dataset: str | None = None, own: Collection[str] = ()) -> Chosen:
    """The recipe of `dataset` where there is one, else defaults from the graph's statistics; labels are not looked at.

    Options that the method has defaults of its `own` for (`Method.defaults`) are left to it by the statistics.
    """
    if dataset is not None and (found := recipe(method, dataset)) is not None:
        return Chosen(found, {"recipe": f"the recipe for {dataset}"})
    chosen = _from_statistics(method, graph)
    values, reasons = ({k: v for k, v in part.items() if k not in own} for part in (chosen.values, chosen.reasons))
    return Chosen(values, reasons)


def _from_statistics(method: str, graph: Graph) -> Chosen:
    """Rules of thumb read off the validation searches on the benchmark graphs (benchmarks/results/tuning.csv)."""
    values: Settings = {}
    because = {"defaults": "chosen from the graph's statistics"}
    degree = graph.num_edges / graph.num_nodes
    if degree >= 8:
        # Graphs of mean degree 27 and more gained by it, or did not lose; those of 5 and less lost.
        values["batch_norm"] = True
        because["batch_norm"] = f"mean degree {degree:.1f}: batch normalisation"
    if graph.x.layout == torch.sparse_csr:
        if bool((graph.x.values() != 1).any()):
            values["scaling"] = "l2"
            because["scaling"] = "sparse counts: rows of unit length"
    elif bool(((graph.x != 0) & (graph.x != 1)).any()):
        # Columns of a user's table come in different units, and the largest would drown the others.
        values["scaling"] = "standard"
        because["scaling"] = "dense features: standardised columns"
    values["dim"] = 512 if graph.num_nodes <= 50_000 else 256
    because["dim"] = f"{graph.num_nodes:,} nodes: {values['dim']} dimensions"
    if method == "local-gcl":
        values["num_features"] = 4096
    return Chosen(values, because)
