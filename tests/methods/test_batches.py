"""Mini-batches of every method: parts of the graph, drawn by seed and step; all of it as one part is the whole graph."""

import dataclasses
import itertools
import logging
from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.methods import METHODS, Batch, Method, configure, find_method
from localgcl.methods.base import _levels
from localgcl.methods.grace import GRACE
from localgcl.methods.local_gcl import LocalGCL
from localgcl.nn.layers import Layers
from localgcl.system.team import ALONE
from localgcl.training import Model, fit
from tests.losses.problems import seeded
from tests.methods.block_model import graph as block_model
from tests.references.folders import stored
from tests.references.graphs import messy_graph, weighted_graph

# Three steps in six dimensions can leave embeddings alike or the loss no lower, and say so.
pytestmark = pytest.mark.filterwarnings("ignore:the embeddings have collapsed", "ignore:in 3 steps the loss was never below")

TRAINED = [name for name, kind in METHODS.items() if kind.learns]
SETTINGS: dict[str, Any] = {"dim": 6, "hidden": 6, "steps": 3, "log_every": 1, "device": "cpu", "warmup": 0}
LOCAL = [{}, {"positives": "neighbours"}]


def config_of(name: str, **values: Any) -> Config:
    return configure(name, {**SETTINGS, **({"encoder": "gcn"} if name == "local-gcl" else {}), **values})


@pytest.mark.parametrize("name", TRAINED)
def test_trains_on_parts_of_a_graph(name: str) -> None:
    graph = block_model()
    model = fit(graph, config_of(name, batch=24, sampled=3))
    values = torch.tensor([value for row in model.history for value in row.values()])
    assert len(model.history) == 3
    assert bool(values.isfinite().all())
    z = model.embed(graph)
    assert z.shape == (300, 6)
    assert bool(z.isfinite().all())


@pytest.mark.parametrize("settings", LOCAL, ids=str)
@pytest.mark.parametrize("name", ["bgrl", "cca-ssg"])
def test_trains_on_parts_of_an_awkward_graph(name: str, settings: dict[str, Any]) -> None:
    """Directed, with a self-loop, parallel edges and isolated nodes, of which a part may be made."""
    graph = messy_graph(40, 60).with_features(torch.randn(40, 5, generator=seeded(0)))
    model = fit(graph, config_of(name, batch=2, sampled=1, symmetrise=False, **settings))
    assert bool(model.embed(graph).isfinite().all())


def as_one_part(method: Method, graph: Graph) -> Batch:
    """All nodes as the seeds of one mini-batch."""
    if isinstance(method, LocalGCL):
        return next(method._blocks(Batch(graph, method.encoder.reading(graph)), 0, ALONE))
    return next(method._parts(graph, 0))


@pytest.mark.parametrize("name", TRAINED)
def test_one_part_of_all_nodes_is_the_whole_graph(name: str) -> None:
    """Loss and gradient, with all neighbours."""
    graph = weighted_graph(60, 300).symmetrized().without_loops()
    method = Model.fresh(config_of(name, batch=60), graph.num_features, {}).method
    found = []
    for batch in (method.prepare(graph), as_one_part(method, graph)):
        method.zero_grad()
        loss = method.loss(batch, seeded(0))["loss"]
        loss.backward()
        gradients = [p.grad.flatten() for p in method.encoder.parameters() if p.grad is not None]
        found.append((loss.detach(), torch.cat(gradients)))
    (whole, gradient), (part, other) = found
    # Sums of float32 in another order.
    torch.testing.assert_close(part, whole, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(other, gradient, rtol=1e-4, atol=1e-5 * float(gradient.abs().max()))


def test_embeddings_of_a_batch_of_local_gcl_are_exact_with_all_neighbours() -> None:
    graph = block_model()
    method = Model.fresh(config_of("local-gcl", batch=10, layers=2), graph.num_features, {}).method
    batch = next(method.batches(graph))
    assert batch.neighbours is not None
    assert batch.neighbours.num_rows == 10
    with torch.no_grad():
        whole, found = (method.encoder(inputs) for inputs in (method.encoder.inputs(graph), batch.inputs))
    assert len(found) == batch.neighbours.num_columns
    nearest = (found[:, None] - whole).abs().amax(dim=2).amin(dim=1)
    assert float(nearest.max()) < 1e-5  # every row of the batch is a row of the whole graph's embeddings


@pytest.mark.parametrize("name", ["local-gcl", "grace"])
def test_batches_depend_on_seed_and_step_alone(name: str) -> None:
    graph = block_model()

    def rows(seed: int, first: int) -> list[list[float]]:
        method = find_method(name)(graph.num_features, config_of(name, batch=12, sampled=2, seed=seed))
        taken = [batch.inputs.first for batch in itertools.islice(method.batches(graph, first=first), 2)]
        return [x.sum(dim=1).tolist() for x in taken if isinstance(x, torch.Tensor)]

    first = rows(0, 0)
    assert first[0] != first[1]
    assert rows(0, 1)[0] == first[1]
    assert rows(1, 0) != first
    assert rows(0, 0) == first


@pytest.mark.parametrize("name", ["local-gcl", "dgi", "bgrl", "gmi"])
def test_a_killed_run_resumes_to_the_same_weights(name: str, tmp_path: Path) -> None:
    class Stop(Exception):
        """Stands for kill -9."""

    def kill(row: dict[str, Any]) -> None:
        if row["step"] == 3:
            raise Stop

    config = config_of(name, batch=24, sampled=3, steps=6, checkpoint_every=2, deterministic=True)
    with pytest.raises(Stop):
        fit(block_model(), config, folder=tmp_path / "run", callbacks=[kill])
    resumed, whole = (fit(block_model(), config, folder=at, resume=at is not None) for at in (tmp_path / "run", None))
    for key, value in whole.method.state_dict().items():
        assert torch.equal(resumed.method.state_dict()[key], value), key


@pytest.mark.parametrize("name", ["local-gcl", "grace", "bgrl", "gmi", "random-init"])
def test_a_graph_folder_trains_and_embeds_as_memory_does(name: str, tmp_path: Path) -> None:
    graph = block_model().with_splits(())
    config = config_of(name, batch=24, sampled=3, batch_norm=True, scaling="standard")
    folder = stored(graph, tmp_path / "graph")
    here, there = fit(graph, config), fit(folder, config, folder=tmp_path / "run")
    # Sums in another order: float32 rounds at 1e-7, and Adam's first steps have the size of the learning rate.
    torch.testing.assert_close(there.embed(folder), here.embed(graph), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(Model.load(tmp_path / "run").embed(folder), there.embed(folder))


@pytest.mark.parametrize("name", ["local-gcl", "grace", "random-init"])
def test_batch_norm_statistics_are_those_of_the_whole_graph(name: str) -> None:
    """And embeddings layer by layer are those of one pass."""
    graph = block_model()
    model = fit(graph, config_of(name, batch=24, sampled=3, batch_norm=True))
    whole = dataclasses.replace(model, config=model.config.replace(batch=0))
    torch.testing.assert_close(model.embed(graph), whole.embed(graph), rtol=1e-5, atol=1e-5)
    encoder = model.method.encoder
    assert isinstance(encoder, Layers)
    assert encoder.norms is not None
    before = {key: value.clone() for key, value in encoder.norms.state_dict().items()}
    encoder.refresh_statistics(encoder.inputs(graph))
    for key, value in encoder.norms.state_dict().items():
        torch.testing.assert_close(before[key], value, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["mvgrl", "gmi"])
def test_the_mode_is_told_once(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="localgcl"):
        fit(block_model(), config_of(name, batch=24, sampled=3))
    assert len([line for line in caplog.messages if line.startswith("mode ")]) == 1


def test_only_seeds_have_terms_where_others_are_there_for_them() -> None:
    graph = block_model()
    batch = next(find_method("grace")(64, config_of("grace", batch=12, sampled=2)).batches(graph))
    assert batch.whole is graph
    assert batch.graph.num_nodes > 12
    assert len(batch.own(batch.graph.x)) == 12
    assert len(Batch(graph, batch.inputs).own(graph.x)) == 300


def test_a_part_reaches_as_far_as_the_encoder_averages() -> None:
    assert _levels(config_of("grace", layers=3)) == 3
    assert _levels(config_of("grace", layers=3, encoder="mlp")) == 1


def test_a_method_with_an_embedding_of_its_own_does_not_stream() -> None:
    class Doubled(GRACE):
        def embed(self, batch: Batch) -> torch.Tensor:
            return 2 * super().embed(batch)

    assert {name for name in METHODS if not find_method(name).streams()} == {"sugrl", "mvgrl", "raw-features"}
    assert not Doubled.streams()


@pytest.mark.parametrize("name", ["local-gcl", "grace", "sugrl"])
def test_full_features_in_a_sparse_layout_are_made_dense_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = block_model()
    method = find_method(name)(64, config_of(name, batch=12, sampled=2))
    batches = method.batches(graph.with_features(graph.x.to_sparse_csr()))
    first = next(batches)

    def refuse(*_: object) -> None:
        raise AssertionError("made dense at a step")

    monkeypatch.setattr(torch.Tensor, "to_dense", refuse)
    for batch in (first, next(batches)):
        method.loss(batch, seeded(0))
