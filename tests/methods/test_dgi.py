"""DGI as a method: it learns what real nodes have that shuffled ones lack."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from localgcl.graph import Graph
from localgcl.losses import dgi_loss
from localgcl.methods import configure
from localgcl.methods.dgi import DGI
from tests.methods import infomax
from tests.methods.block_model import accuracy, bar

# Features as they are: they are Gaussian, and rows of unit L1 norm would be so small that few steps move little.
# Measured over seeds 0-2, 3-5, 6-8: 11, 13, 10 points above the bar, with nodes mixed 35, 30, 27 below it.
SETTINGS: dict[str, Any] = {"steps": 50, "learning_rate": 1e-2, "scaling": "raw"}


def test_learns_the_block_model() -> None:
    assert accuracy("dgi", **SETTINGS) >= bar("dgi", **SETTINGS)


def test_fails_when_real_and_corrupted_nodes_are_mixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss is blind to the order of nodes, so instead half of them, at random, are called what they are not."""

    def wrong(h: Tensor, corrupted: Tensor, score: Any) -> Tensor:
        swap = torch.rand(len(h), 1, generator=torch.Generator().manual_seed(1)) < 0.5
        return dgi_loss(torch.where(swap, corrupted, h), torch.where(swap, h, corrupted), score)

    monkeypatch.setattr("localgcl.methods.dgi.dgi_loss", wrong)
    assert accuracy("dgi", **SETTINGS) < bar("dgi", **SETTINGS)


def test_promises(tmp_path: Path) -> None:
    infomax.check_repeats("dgi")
    infomax.check_resumes("dgi", tmp_path / "run", dropout=0.2, activation="rrelu")
    infomax.check_messy_graphs("dgi")
    infomax.check_unseen_graphs("dgi")
    infomax.check_recipes("dgi")


def test_the_weights_of_the_lowest_loss_are_kept() -> None:
    config = configure("dgi", {})
    assert (config.training.keep, config.training.patience, config.training.steps) == ("best", 20, 10_000)
    assert (config.encoder.layers, config.encoder.dim, config.encoder.activation) == (1, 512, "prelu")
    assert config.encoder.activate_last


def test_corruption_moves_features_and_leaves_edges() -> None:
    graph = infomax.small_graph()
    method = DGI(graph.num_features, configure("dgi", {**infomax.SMALL}))
    batch = method.prepare(graph)
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(4))
    wrong = method.embed(method.prepare(graph.with_features(graph.x[order])))
    expected = dgi_loss(method.embed(batch), wrong, method.score)
    loss = method.loss(batch, torch.Generator().manual_seed(4))["loss"]
    # Two orders of the same single-precision products: A (X W) and (A X) W.
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-6)


def test_what_it_cannot_learn_from_is_refused() -> None:
    lonely = Graph.from_edges([], [], x=torch.ones(3, 6))
    with pytest.raises(ValueError, match="no two of the 3 nodes are connected, so shuffled features"):
        infomax.trained("dgi", lonely)
    with pytest.raises(ValueError, match=r"encoder is 'mlp'.*take encoder gcn"):
        infomax.trained("dgi", encoder="mlp")
