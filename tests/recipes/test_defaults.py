"""Defaults for graphs without a recipe: from features and edges, never from labels."""

from typing import Any

import numpy as np
import pytest
import torch

from localgcl.config import LocalGCLWarning
from localgcl.datasets import digits, few_label_splits, sbm
from localgcl.evaluation import evaluate
from localgcl.graph import Graph
from localgcl.graph.prepare import with_structural_features
from localgcl.methods.settings import choose_settings
from localgcl.recipes.defaults import likeness
from localgcl.training import fit

ALIKE, MIXED = sbm(1000, homophily=0.8, seed=0), sbm(1000, homophily=0.2, seed=0)


def words(n: int, columns: int = 300, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).poisson(0.1, (n, columns)).astype(np.float32)


def test_likeness_is_high_where_neighbours_are_alike_and_a_coin_throw_where_edges_are_random() -> None:
    # The share of 1,000 coin throws has deviation .016: three of them. At homophily .2 five classes mix evenly.
    assert likeness(ALIKE) > 0.6
    assert likeness(MIXED) == pytest.approx(0.5, abs=0.048)
    assert likeness(digits()) > 0.95
    assert likeness(ALIKE) == likeness(ALIKE)


def test_likeness_does_not_depend_on_storage_labels_or_loops() -> None:
    dense = ALIKE.with_features(words(1000))
    sparse = dense.with_features(dense.x.to_sparse_csr())
    loops = torch.arange(1000)
    looped = sparse.with_edges(torch.cat([sparse.rows, loops]), torch.cat([sparse.indices, loops]))
    assert likeness(looped) == likeness(sparse) == likeness(sparse.derived(y=None))
    assert likeness(dense) == pytest.approx(likeness(sparse), abs=0.05)  # dense columns are standardised first


def test_likeness_of_graphs_that_have_none_is_even() -> None:
    assert likeness(Graph.from_edges([], [], x=torch.eye(3))) == 0.5
    assert likeness(Graph.from_edges([0, 1], [1, 0], x=torch.ones(2, 4))) == 0.5  # all features are the same
    assert likeness(Graph.from_edges([0, 1], [1, 0], x=torch.zeros(2, 4).to_sparse_csr())) == 0.5


def test_nodes_unlike_their_neighbours_get_more_channels_of_their_own() -> None:
    alike, mixed = (choose_settings("local-gcl", graph) for graph in (ALIKE, MIXED))
    assert alike.config.encoder.channels.count("X") == 2
    assert mixed.config.encoder.channels.count("X") == 12
    assert alike.config.encoder.encoder == mixed.config.encoder.encoder == "hops"
    assert "neighbours are alike (likeness 0." in alike.explain()
    assert "most channels read a node alone" in mixed.explain()
    assert "\n" not in alike.explain()


def test_an_encoder_of_the_users_keeps_the_defaults_of_that_encoder() -> None:
    config = choose_settings("local-gcl", ALIKE, given={"encoder": "gcn"}).config
    assert (config.encoder.encoder, config.encoder.layers, config.options.temperature, config.training.batch) == (
        "gcn",
        2,
        0.5,
        0,
    )


def test_other_settings_of_the_users_win() -> None:
    config = choose_settings("local-gcl", ALIKE, given={"dim": 10, "steps": 3, "temperature": 0.2}).config
    assert (config.encoder.encoder, config.encoder.dim, config.training.steps, config.options.temperature) == (
        "hops",
        10,
        3,
        0.2,
    )


def test_hops_asked_for_by_name_get_the_same_defaults() -> None:
    assert choose_settings("local-gcl", ALIKE, given={"encoder": "hops"}).config == choose_settings("local-gcl", ALIKE).config


def test_a_small_dim_has_fewer_channels_and_none_twice() -> None:
    def channels(graph: Graph, dim: int) -> tuple[str, ...]:
        return choose_settings("local-gcl", graph, given={"dim": dim}).config.encoder.channels

    assert channels(ALIKE, 2) == ("SX",)
    assert channels(ALIKE, 10) == ("SX", "X")
    assert channels(MIXED, 10) == ("X", "SX")
    assert channels(MIXED, 30) == ("X", "SX", "S2X", "BX", "B2X")
    assert len(channels(ALIKE, 24)) == 6
    assert len(channels(MIXED, 64)) == 16


def test_few_columns_get_fourier_features_where_neighbours_are_alike() -> None:
    def chosen(graph: Graph, columns: int) -> int:
        return choose_settings("local-gcl", graph.with_features(graph.x[:, :columns])).config.encoder.fourier

    assert likeness(digits().with_features(digits().x[:, 20:40])) > 0.9
    assert choose_settings("local-gcl", digits().with_features(digits().x[:, 20:40])).config.encoder.fourier == 256
    assert chosen(digits(), 64) == 0
    assert chosen(MIXED, 20) == 0


def test_random_init_is_the_untrained_encoder_of_local_gcl() -> None:
    ours, untrained = (choose_settings(method, MIXED).config for method in ("local-gcl", "random-init"))
    assert untrained.encoder == ours.encoder
    assert untrained.preparation == ours.preparation


def test_baselines_train_as_long_as_their_loss_needs() -> None:
    dgi, bgrl, grace = (choose_settings(method, ALIKE).config.training for method in ("dgi", "bgrl", "grace"))
    assert (dgi.steps, dgi.patience, dgi.keep) == (2000, 300, "best")
    assert (bgrl.steps, bgrl.warmup) == (1000, 100)
    assert grace.steps == 200
    short = choose_settings("bgrl", ALIKE, given={"steps": 50}).config.training
    assert (short.steps, short.warmup) == (50, 5)


def test_dgi_does_not_keep_its_first_weights_on_a_block_model() -> None:
    """With patience 20, as published, it stops after 21 steps: batch normalisation makes its loss rise first."""
    graph = sbm(600, homophily=0.8, seed=0)
    given = {"steps": 100, "log_every": 1, "device": "cpu"}
    with pytest.warns(LocalGCLWarning, match="the weights that are kept are the initial ones"):
        published = fit(graph, choose_settings("dgi", graph, given=given | {"patience": 20}).config).history
    chosen = fit(graph, choose_settings("dgi", graph, given=given).config).history
    assert (len(published), len(chosen)) == (21, 100)
    assert published[-1]["loss"] > published[0]["loss"] > chosen[-1]["loss"]


@pytest.mark.parametrize("method", ["grace", "dgi", "bgrl"])
def test_other_methods_keep_their_encoder(method: str) -> None:
    assert choose_settings(method, ALIKE).config.encoder.encoder == "gcn"


def scaling(x: Any) -> str:
    return choose_settings("local-gcl", ALIKE.with_features(x)).config.preparation.scaling


def test_scaling_by_kind_of_features() -> None:
    counts = words(1000)
    weights = counts * np.log(1000 / np.maximum((counts > 0).sum(axis=0), 1)).astype(np.float32)
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(50_000, 9_000, 1000), np.eye(20)[rng.integers(20, size=1000)]])
    assert scaling(counts) == scaling(counts > 0) == scaling(weights) == "l2"
    assert scaling(torch.from_numpy(counts).to_sparse_csr()) == "l2"
    assert scaling(rng.normal(size=(1000, 8))) == "standard"
    assert scaling(table) == "standard"  # an income beside 20 categories: mostly zeros, but not in one unit
    assert scaling(np.zeros((1000, 3))) == "standard"


def test_features_computed_from_the_edges_are_averaged_over_longer_walks() -> None:
    bare = with_structural_features(ALIKE, 64)
    chosen = choose_settings("local-gcl", bare)
    assert chosen.config.encoder.channels == ("S2X", "S4X", "S6X", "S8X", "X")
    assert "features are computed from the edges" in chosen.explain()
    assert choose_settings("local-gcl", bare.with_features(bare.x)).config.encoder.channels[0] == "X"  # the user's own columns
    assert choose_settings("local-gcl", bare, given={"dim": 9}).config.encoder.channels == ("S2X", "S4X")


def test_edges_alone_tell_the_classes_of_a_block_model() -> None:
    graph = sbm(1000, classes=4, homophily=0.92, mean_degree=3, seed=0)  # sparse: classes show over several steps alone
    bare = with_structural_features(graph, 256)
    z = fit(bare, choose_settings("local-gcl", bare, given={"seed": 0, "dim": 60}).config).embed(bare)
    found = evaluate(z, graph, few_label_splits(graph, num=3, per_class=10, seed=0)).mean
    assert found > 75  # 82 as measured, 64 with the channels of graphs that have features, 25 by chance
