"""What the tests of DGI, MVGRL and GMI share: a small graph, and promises that each of them keeps."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from localgcl.datasets import sbm
from localgcl.datasets.catalogue import CATALOGUE
from localgcl.graph import Graph
from localgcl.methods import configure
from localgcl.recipes import recipes
from localgcl.training import Model, fit
from tests.references.graphs import messy_graph, random_rows

SMALL: dict[str, Any] = {"dim": 8, "steps": 9, "device": "cpu", "scaling": "raw", "log_every": 1, "checkpoint_every": 2}


def small_graph(seed: int = 1, num_nodes: int = 80) -> Graph:
    return sbm(num_nodes, classes=3, mean_degree=6, features=6, seed=seed)


def trained(name: str, graph: Graph | None = None, **settings: Any) -> Model:
    return fit(graph or small_graph(), configure(name, {**SMALL, **settings}))


def check_repeats(name: str, **settings: Any) -> None:
    """One seed, one result; another seed, another."""
    graph = small_graph()
    first, second, other = (trained(name, graph, seed=seed, **settings).embed(graph) for seed in (0, 0, 1))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


class _Stop(Exception):
    """Stands for a killed process."""


def check_resumes(name: str, folder: Path, **settings: Any) -> None:
    """A run that is cut off after five steps goes on to the same embeddings, to the bit."""
    graph, config = small_graph(), configure(name, {**SMALL, **settings, "deterministic": True})

    def stop(row: dict[str, Any]) -> None:
        if row["step"] == 4:
            raise _Stop

    with pytest.raises(_Stop):
        fit(graph, config, folder=folder, callbacks=[stop])
    assert torch.equal(fit(graph, config, folder=folder, resume=True).embed(graph), fit(graph, config).embed(graph))


def check_messy_graphs(name: str, **settings: Any) -> None:
    """Directed edges, self-loops, parallel edges, isolated nodes and a column of zeros give numbers."""
    x = random_rows(12, 4, dtype=torch.float32)
    x[:, 2] = 0
    graph = messy_graph().with_features(x)
    for symmetrise in (True, False):
        raw: dict[str, Any] = {"symmetrise": symmetrise, "drop_loops": symmetrise, "parallel_edges": "keep"}
        model = trained(name, graph, **raw, **settings)
        assert model.embed(graph).isfinite().all()
        assert all(torch.isfinite(torch.tensor(row["loss"])) for row in model.history)


def check_unseen_graphs(name: str, **settings: Any) -> Tensor:
    """A model embeds a graph of another size that it never saw, and alone that graph decides."""
    model, other = trained(name, **settings), small_graph(seed=5, num_nodes=50)
    z = model.embed(other)
    assert z.shape == (50, 8)
    assert z.isfinite().all()
    assert torch.equal(z, model.embed(other))
    return z


def check_recipes(name: str) -> None:
    """Every recipe is for a known data set and is a valid configuration."""
    found = recipes(name)
    assert {"cora", "citeseer", "pubmed"} <= set(found) <= set(CATALOGUE)
    for values in found.values():
        flat = configure(name, values).flat()
        assert {option: flat[option] for option in values} == values
