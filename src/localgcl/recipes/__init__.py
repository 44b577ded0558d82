"""Recipes: settings by method and data set, one TOML file a method and one table a data set; and defaults for other graphs."""

import os
import tomllib
from importlib import resources
from typing import Any

import torch

from localgcl.config import read_toml
from localgcl.graph import Graph

Settings = dict[str, Any]


def recipes(method: str) -> dict[str, Settings]:
    """All recipes of a method, by data set; empty when it has none."""
    file = resources.files(__package__) / f"{method}.toml"
    return tomllib.loads(file.read_text()) if file.is_file() else {}


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
    return found


def defaults_for(graph: Graph) -> dict[str, tuple[Any, str]]:
    """Settings for a graph without a recipe, each with its reason, from the graph's statistics; labels are not looked at.

    These are rules of thumb read off searches on validation nodes of the benchmark graphs.
    """
    chosen: dict[str, tuple[Any, str]] = {}
    degree = graph.num_edges / graph.num_nodes
    if degree >= 8:
        # Graphs of mean degree 27 and more gained by it, or did not lose; those of 5 and less lost.
        chosen["batch_norm"] = True, f"mean degree {degree:.1f}: batch normalisation"
    if graph.x.layout == torch.sparse_csr:
        if bool((graph.x.values() != 1).any()):
            chosen["scaling"] = "l2", "sparse counts: rows of unit length"
    elif bool(((graph.x != 0) & (graph.x != 1)).any()):
        # Columns of a user's table come in different units, and the largest would drown the others.
        chosen["scaling"] = "standard", "dense features: standardised columns"
    dim = 512 if graph.num_nodes <= 50_000 else 256
    chosen["dim"] = dim, f"{graph.num_nodes:,} nodes: {dim} dimensions"
    return chosen
