"""SUGRL as a method: settings are 60 steps at 5e-3 with 32 hidden and 16 embedding dimensions, raw (Gaussian) features."""

from typing import Any

import pytest
import torch

from localgcl.datasets import sbm
from localgcl.methods import configure
from localgcl.methods.base import Batch
from localgcl.methods.sugrl import SUGRL
from localgcl.ops.propagation import propagation
from localgcl.recipes import recipes
from tests.losses.problems import linked, seeded
from tests.methods.block_model import accuracy, bar, embed, shuffled

# Measured over seeds 0-2, 3-5, 6-8: 19, 22, 20 points above the bar, with anchors shuffled 28, 24, 28 below it.
SETTINGS: dict[str, Any] = {"steps": 60, "learning_rate": 5e-3, "hidden": 32, "scaling": "raw"}


def method(**options: Any) -> SUGRL:
    torch.manual_seed(0)
    return SUGRL(6, configure("sugrl", {"dim": 4, "hidden": 8, **options}))


def test_learns_the_block_model() -> None:
    assert accuracy("sugrl", **SETTINGS) >= bar("sugrl", **SETTINGS)


def test_fails_when_anchors_are_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    # Anchors of other nodes: neither positive means anything.
    with shuffled(monkeypatch, "localgcl.methods.sugrl.margin_terms", 0):
        result = accuracy("sugrl", **SETTINGS)
    assert result < bar("sugrl", **SETTINGS)


def test_a_seed_repeats_a_run() -> None:
    settings = {**SETTINGS, "steps": 5}
    assert (embed("sugrl", 3, **settings) == embed("sugrl", 3, **settings)).all()
    assert (embed("sugrl", 3, **settings) != embed("sugrl", 4, **settings)).any()


def test_the_embedding_is_the_averaged_output_at_unit_length() -> None:
    graph, model = sbm(100, mean_degree=4, features=6), method().eval()
    batch = model.prepare(graph)
    h = model.encoder(batch.inputs)
    expected = propagation(graph).csr.to_dense() @ h
    torch.testing.assert_close(model.embed(batch), expected / expected.norm(dim=1, keepdim=True))


def test_the_second_positive_is_a_mean_of_neighbours_and_the_node_itself() -> None:
    graph, model = sbm(100, mean_degree=4, features=6), method(num_neighbours=400)
    matrix = model.sampled_mean(graph, seeded(0)).csr.to_dense()
    closed = torch.from_numpy(graph.to_scipy().toarray()) + torch.eye(100)
    # 400 draws of at least 1/20 probability: each is missed with probability below 2e-9.
    assert torch.equal(matrix > 0, closed > 0)
    torch.testing.assert_close(matrix.sum(1), torch.ones(100))
    few = method().sampled_mean(graph, seeded(0)).csr
    assert few.values().numel() == 500


def test_dropout_falls_on_inputs_and_on_positives_in_training_only() -> None:
    graph = sbm(100, mean_degree=4, features=6)

    def values(**options: Any) -> list[float]:
        model = method(num_negatives=1, num_neighbours=1, **options)
        return [float(v.detach()) for v in model.loss(model.prepare(graph), seeded(0)).values()]

    plain = values(drop_inputs=0.0, drop_positives=0.0)
    assert values(drop_inputs=0.5, drop_positives=0.0) != plain
    assert values(drop_inputs=0.0, drop_positives=0.5) != plain
    embeddings = [
        model.embed(model.prepare(graph)) for model in (method(drop_inputs=0.0).eval(), method(drop_inputs=0.5).eval())
    ]
    assert torch.equal(*embeddings)


def test_published_arxiv_form() -> None:
    """Row normalisation, and features averaged once before the encoder."""
    graph, model = sbm(100, mean_degree=4, features=6), method(normalisation="row", average_features=True).eval()
    batch = model.prepare(graph)
    mean = propagation(graph, 1.0, "row").csr.to_dense()
    torch.testing.assert_close(mean.sum(1), torch.ones(100))
    assert isinstance(batch.inputs.first, torch.Tensor)
    torch.testing.assert_close(batch.inputs.first, mean @ graph.x)
    expected = mean @ model.encoder(batch.inputs)
    torch.testing.assert_close(model.embed(batch), torch.nn.functional.normalize(expected))


def test_a_gcn_works_too() -> None:
    graph = sbm(100, mean_degree=4, features=6)
    for rate in (0.0, 0.3):
        model = method(encoder="gcn", drop_inputs=rate)
        batch: Batch = model.prepare(graph)
        assert batch.inputs.propagated == (rate == 0)
        assert bool(model.loss(batch, seeded(0))["loss"].isfinite())


def test_a_graph_without_edges_is_refused() -> None:
    with pytest.raises(ValueError, match="no two of the 3 nodes are connected"):
        method().check(linked(3, (1, 1)))


PUBLISHED = ("cora", "citeseer", "pubmed", "photo", "computers", "arxiv")


@pytest.mark.parametrize("name", PUBLISHED)
def test_recipes_build(name: str) -> None:
    config = configure("sugrl", recipes("sugrl")[name])
    assert config.encoder.encoder == "mlp"
    assert config.encoder.dim == 128


def test_recipes_that_a_search_found_build_too() -> None:
    for name in set(recipes("sugrl")) - set(PUBLISHED):
        assert configure("sugrl", recipes("sugrl")[name]).encoder.encoder == "mlp"
