"""Edge weights in every method: a weight of k is k parallel edges, weights of 1 are none, and what ignores them says so."""

import dataclasses
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl.config import Config, LocalGCLWarning
from localgcl.graph import Graph
from localgcl.graph.prepare import prepare
from localgcl.methods import METHODS, configure, find_method
from localgcl.training import Model, fit
from tests.references.graphs import messy_graph, weighted_graph, with_parallels

pytestmark = pytest.mark.filterwarnings(
    "ignore:the embeddings have collapsed", "ignore:in . steps the loss was never below", "ignore:.* ignore edge weights"
)

X = torch.randn(40, 10, generator=torch.Generator().manual_seed(0))
# Directed, with loops, parallel edges and isolated nodes.
WEIGHTED = weighted_graph(40, 240, seed=1, whole=True).with_features(X)
PARALLEL = with_parallels(WEIGHTED)
PLAIN = messy_graph(40, 240, seed=1).with_features(X)
HOPS = {"encoder": "hops", "layers": 1, "dim": 10}


def config_of(name: str, **values: Any) -> Config:
    kept = {"dim": 6, "steps": 1, "device": "cpu", "warmup": 0, "negatives": "exact", **values}
    known = {field.name for field in dataclasses.fields(find_method(name).Options)}
    return configure(name, {key: value for key, value in kept.items() if key != "negatives" or "negatives" in known})


def first_loss(graph: Graph, config: Config) -> float:
    """Of the initial weights."""
    method = Model.fresh(config, graph.num_features, {}).method
    batch = next(method.batches(prepare(graph, config.preparation, {})))
    return float(method.loss(batch, torch.Generator().manual_seed(0))["loss"].detach())


ALL = [name for name in METHODS if name != "raw-features"]
TRAINED = [name for name, kind in METHODS.items() if kind.learns]
IGNORING = {"gmi", "sugrl", "af-gcl", "afgrl"}
# Methods that draw nothing by edge, so that the losses of graphs with other numbers of edges compare.
WITHOUT_DRAWS: list[tuple[str, dict[str, Any]]] = [
    ("local-gcl", {}),
    ("local-gcl", {"positives": "weighted"}),
    ("local-gcl", {"include_self": True}),
    ("local-gcl", {"encoder": "mlp"}),
    ("local-gcl", HOPS),
    ("local-gcl", {**HOPS, "batch": 16}),
    ("dgi", {}),
    ("mvgrl", {"mode": "faithful"}),
    ("mvgrl", {"mode": "scalable"}),
    ("gmi", {"mode": "faithful"}),
    ("afgrl", {}),
    ("bgrl", {"positives": "neighbours"}),
    ("bgrl", {"positives": "neighbours", "aggregate": "sum"}),
    ("cca-ssg", {"positives": "neighbours"}),
]


@pytest.mark.parametrize("symmetrise", [False, True])
@pytest.mark.parametrize(("name", "options"), WITHOUT_DRAWS, ids=str)
def test_the_loss_of_a_weight_of_k_is_that_of_k_parallel_edges(name: str, options: dict[str, Any], symmetrise: bool) -> None:
    config = config_of(name, parallel_edges="keep", symmetrise=symmetrise, **options)
    expected = pytest.approx(first_loss(PARALLEL, config), rel=1e-5)  # sums in single precision and in another order
    assert first_loss(WEIGHTED, config) == expected
    merged = config.replace(parallel_edges="drop")
    assert first_loss(WEIGHTED, merged) == expected  # parallel weights sum
    assert first_loss(PLAIN, merged) != expected


@pytest.mark.parametrize(("name", "options"), [*((name, {}) for name in ALL), ("local-gcl", HOPS)], ids=str)
def test_the_embedding_of_a_weight_of_k_is_that_of_k_parallel_edges(name: str, options: dict[str, Any]) -> None:
    model = fit(PLAIN, config_of(name, parallel_edges="keep", **options))
    # Sums over neighbours in single precision and in another order.
    torch.testing.assert_close(model.embed(WEIGHTED), model.embed(PARALLEL), rtol=1e-4, atol=1e-5)
    assert not torch.allclose(model.embed(WEIGHTED), model.embed(PLAIN), rtol=1e-3)


@pytest.mark.parametrize("name", TRAINED)
def test_weights_of_1_are_no_weights(name: str) -> None:
    config = config_of(name, parallel_edges="keep", symmetrise=False)
    ones = torch.ones(PLAIN.num_edges)
    given = PLAIN.with_edges(PLAIN.rows, PLAIN.indices, ones)
    assert first_loss(given, config) == first_loss(PLAIN, config)
    # Stored, as they never are in a graph: the code that reads weights gives the same, to rounding.
    csr = PLAIN.csr.with_weights(ones)
    stored = dataclasses.replace(PLAIN, indptr=csr.indptr, indices=csr.indices, structure=csr, weights=ones, trusted=True)
    assert first_loss(stored, config) == pytest.approx(first_loss(PLAIN, config), rel=1e-5)


@pytest.mark.parametrize("name", TRAINED)
def test_what_ignores_weights_says_so_once(name: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LocalGCLWarning)
        fit(WEIGHTED, config_of(name))
        fit(PLAIN, config_of(name))
    said = [str(warning.message) for warning in caught if "ignore edge weights" in str(warning.message)]
    assert len(said) == (name in IGNORING)
    assert all(line.startswith(f"{name}: ") for line in said)


def test_the_most_similar_neighbour_is_so_whatever_its_weight() -> None:
    with pytest.warns(LocalGCLWarning, match="local-gcl: positives max, .* ignore edge weights; all edges count alike there"):
        fit(WEIGHTED, config_of("local-gcl", positives="max"))


@pytest.mark.parametrize("options", [{}, HOPS, {**HOPS, "batch": 16, "sampled": 2}], ids=["gcn", "hops", "batches"])
def test_a_run_on_a_weighted_graph_is_saved_and_repeats(options: dict[str, Any], tmp_path: Path) -> None:
    config = config_of("local-gcl", **options).replace(steps=4)
    graph = weighted_graph(40, 240).with_features(X)
    model = fit(graph, config, folder=tmp_path / "run")
    z = model.embed(graph)
    assert torch.equal(Model.load(tmp_path / "run").embed(graph), z)
    assert torch.equal(fit(graph, config).embed(graph), z)
    # A graph that is undirected already is the same one to training.
    assert torch.equal(fit(graph.symmetrized(), config).embed(graph.symmetrized()), z)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(3))
    # Sums over neighbours in another order: float32 rounding.
    torch.testing.assert_close(model.embed(graph.subgraph(order)), z[order], rtol=1e-4, atol=1e-5)
