"""Local-GCL over hops: one loss a channel, whole graphs and batches, every option of the loss."""

from pathlib import Path
from typing import Any

import pytest
import torch

import localgcl as lg
from localgcl.datasets import sbm
from localgcl.evaluation import evaluate
from localgcl.losses import local_contrastive
from localgcl.methods import configure, find_method
from localgcl.training import Model, fit

GRAPH = sbm(300, features=24, seed=0)
HOPS: dict[str, Any] = {"encoder": "hops", "layers": 1, "dim": 40, "steps": 8, "temperature": 0.8, "device": "cpu"}


def test_the_loss_is_the_sum_over_channels() -> None:
    config = configure("local-gcl", {**HOPS, "negatives": "exact"})
    model = Model.fresh(config, GRAPH.num_features, {})
    batch = model.method.prepare(GRAPH)
    parts = model.method.encoder.parts(batch.inputs)
    assert len(parts) == 5
    terms = model.method.loss(batch, torch.Generator())
    expected = sum(local_contrastive(z, GRAPH, temperature=0.8, negatives="exact") for z in parts)
    torch.testing.assert_close(terms["loss"], expected)


@pytest.mark.parametrize(
    "settings",
    [
        {"negatives": "exact"},
        {"negatives": "sorf", "num_features": 256},
        {"positives": "max"},
        {"positives": "weighted"},
        {"include_self": True},
        {"hard_negatives": "progcl-mix", "hard_pool": 50},
        {"batch": 64},
        {"batch": 64, "sampled": 1},
        {"layers": 2, "batch_norm": True, "dropout": 0.2},
        {"layers": 2, "batch_norm": True, "batch": 64},
        {"pca": 10},
        {"head": 16},
        {"masked": 0.5},
        {"channels": ("X", "G2X")},
    ],
    ids=str,
)
def test_a_run_is_saved_and_embeds_the_training_graph_as_training_did(settings: dict[str, Any], tmp_path: Path) -> None:
    model = fit(GRAPH, configure("local-gcl", {**HOPS, **settings}), folder=tmp_path / "run")
    z = model.embed(GRAPH)
    assert z.shape == (300, settings.get("pca", 40))
    assert torch.equal(Model.load(tmp_path / "run").embed(GRAPH), z)


@pytest.mark.parametrize("batch", [{}, {"batch": 100, "sampled": 2}], ids=["whole", "batches"])
def test_training_learns(batch: dict[str, int]) -> None:
    settings = {**HOPS, "steps": 60, "learning_rate": 1e-2, **batch}
    after = fit(GRAPH, configure("local-gcl", settings)).embed(GRAPH)
    before = fit(GRAPH, configure("local-gcl", {**settings, "steps": 0})).embed(GRAPH)
    trained, untrained = (evaluate(z[:, :8], GRAPH, steps=200).mean for z in (after, before))  # channel X alone
    assert trained > untrained + 10


def test_the_estimator_embeds_nodes_that_were_not_trained_on() -> None:
    known = GRAPH.subgraph(torch.arange(200))
    settings = {name: value for name, value in HOPS.items() if name != "device"}
    channels = ("X", "SX", "S2X", "BX", "B2X")  # eight dimensions each
    model = lg.LocalGCL(**settings, channels=channels, device="cpu")
    z = model.fit(known).transform(GRAPH)
    assert z.shape == (300, 40)
    # A node keeps its row of channel X, whatever its neighbours are.
    torch.testing.assert_close(torch.from_numpy(z[:200, :8]), torch.from_numpy(model.transform(known)[:, :8]))


def test_batches_depend_on_seed_and_step_alone() -> None:
    def edges(seed: int, first: int) -> list[int]:
        config = configure("local-gcl", {**HOPS, "batch": 30, "sampled": 1, "seed": seed})
        neighbours = next(find_method("local-gcl")(GRAPH.num_features, config).batches(GRAPH, first=first)).neighbours
        assert neighbours is not None
        assert neighbours.num_rows == 30
        return neighbours.indices.tolist()

    assert edges(0, 3) == edges(0, 3)
    assert edges(0, 3) != edges(1, 3)
    assert edges(0, 3) != edges(0, 4)


def test_other_methods_say_that_they_do_not_take_hops() -> None:
    with pytest.raises(ValueError, match="grace takes gcn or mlp"):
        fit(GRAPH, configure("grace", {"encoder": "hops", "device": "cpu", "steps": 1}))


def test_a_batch_larger_than_the_graph_is_the_whole_graph() -> None:
    whole, large = (fit(GRAPH, configure("local-gcl", {**HOPS, "batch": size})).embed(GRAPH) for size in (0, 1000))
    assert torch.equal(whole, large)


def test_a_head_is_trained_and_thrown_away() -> None:
    plain, headed = (configure("local-gcl", HOPS | {"head": head}) for head in (0, 16))
    before, after = fit(GRAPH, plain), fit(GRAPH, headed)
    assert before.embed(GRAPH).shape == after.embed(GRAPH).shape == (300, 40)
    moved = fit(GRAPH, configure("local-gcl", HOPS | {"head": 16, "steps": 0}))
    for name in ("0.0.weight", "0.2.weight"):
        assert not torch.equal(after.method.state_dict()[f"heads.{name}"], moved.method.state_dict()[f"heads.{name}"])


def test_masked_positives_differ_at_each_step() -> None:
    whole = fit(GRAPH, configure("local-gcl", HOPS | {"learning_rate": 1e-12, "steps": 3}))
    some = fit(GRAPH, configure("local-gcl", HOPS | {"learning_rate": 1e-12, "steps": 3, "masked": 0.7}))
    assert len({round(row["positive"], 4) for row in some.history}) == 3
    assert len({round(row["positive"], 4) for row in whole.history}) == 1
