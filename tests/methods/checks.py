"""What holds for every method, as functions to call with a method's name and settings that train in a moment."""

from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl.config import Config
from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.methods import configure
from localgcl.recipes import recipes
from localgcl.training import fit
from tests.references.graphs import messy_graph, random_rows

SMALL: dict[str, Any] = {"dim": 8, "hidden": 8, "steps": 6, "device": "cpu", "checkpoint_every": 2, "log_every": 1}


def config(method: str, **settings: Any) -> Config:
    return configure(method, {**SMALL, **settings})


def small_graph() -> Graph:
    return sbm(120, classes=3, features=8, seed=1)


def odd_graph() -> Graph:
    """Directed, with a loop, a parallel edge and isolated nodes; one feature column is zero everywhere."""
    x = random_rows(40, 6, dtype=torch.float32)
    x[:, 2] = 0
    return messy_graph(40, 100).with_features(x)


def repeats_to_the_bit(method: str, **settings: Any) -> None:
    graph = small_graph()
    first, second, other = (fit(graph, config(method, seed=seed, **settings)).embed(graph) for seed in (0, 0, 1))
    assert torch.equal(first, second)
    assert not torch.allclose(first, other)


class Stop(Exception):
    """Stands for kill -9."""


def resumes_to_the_bit(method: str, folder: Path, **settings: Any) -> None:
    """Killed after step 4 of 6, with a checkpoint after step 3: steps 4 to 6 are done again."""

    def kill(row: dict[str, Any]) -> None:
        if row["step"] == 4:
            raise Stop

    graph, asked = small_graph(), config(method, deterministic=True, **settings)
    whole = fit(graph, asked)
    with pytest.raises(Stop):
        fit(graph, asked, folder=folder, callbacks=[kill])
    resumed = fit(graph, asked, folder=folder, resume=True)
    ours, theirs = resumed.method.state_dict(), whole.method.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def bears_odd_graphs(method: str, **settings: Any) -> None:
    graph = odd_graph()
    model = fit(graph, config(method, symmetrise=False, drop_loops=False, parallel_edges="keep", **settings))
    assert all(torch.tensor(row["loss"]).isfinite() for row in model.history)
    assert torch.isfinite(model.embed(graph)).all()
    assert torch.isfinite(torch.cat([p.flatten() for p in model.method.parameters()])).all()


def embeds_unseen_graphs(method: str, **settings: Any) -> None:
    """Also a single node; the order of nodes does not matter."""
    model = fit(small_graph(), config(method, **settings))
    other = sbm(50, classes=3, features=8, mean_degree=4, seed=2)
    z = model.embed(other)
    assert z.shape == (50, 8)
    assert torch.isfinite(z).all()
    assert model.embed(Graph.from_edges([], [], x=other.x[:1])).shape == (1, 8)
    order = torch.randperm(50, generator=torch.Generator().manual_seed(0))
    # Sums over neighbours run in another order.
    torch.testing.assert_close(model.embed(other.subgraph(order)), z[order], rtol=1e-4, atol=1e-5)


def recipes_build(method: str, published: set[str]) -> None:
    found = recipes(method)
    assert published <= set(found)  # searches add others
    for values in found.values():
        flat = configure(method, values).flat()
        assert {name: flat[name] for name in values} == values
