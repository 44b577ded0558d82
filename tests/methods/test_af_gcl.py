"""AF-GCL as a method: settings are 60 steps at 5e-3 with 16 dimensions."""

import statistics
from typing import Any

import pytest
import torch

from localgcl.datasets import sbm
from localgcl.losses import spectral_terms
from localgcl.methods import configure
from localgcl.methods.af_gcl import AFGCL
from localgcl.recipes import recipes
from tests.losses.problems import linked, ring, seeded
from tests.methods.block_model import SEEDS, accuracy, bar, embed, score, shuffled

# Measured over seeds 0-2, 3-5, 6-8: 7.4, 6.6, 7.4 points above the bar; with one negative 8.0, 6.9, 8.2, and with positives
# shuffled 9.1, 12.2, 9.3 below it.
SETTINGS: dict[str, Any] = {"steps": 60, "learning_rate": 5e-3}


def method(**options: Any) -> AFGCL:
    torch.manual_seed(0)
    return AFGCL(6, configure("af-gcl", {"dim": 8, **options}))


def test_learns_the_block_model() -> None:
    assert accuracy("af-gcl", **SETTINGS) >= bar("af-gcl", **SETTINGS)


def test_fails_when_positives_are_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one negative a node, where random positives pull all nodes together.

    Of 1, 2, 5, 20 and 100 negatives this is the only number at which the control falls below the bar: from two on repulsion
    alone lifts this encoder over it, so `test_learns_the_block_model`, at the default of 100, does not show that the
    choice of positives helps. Seeds of the control differ by up to eleven points, hence also the comparison seed by seed.
    """
    settings = {**SETTINGS, "steps": 100, "num_negatives": 1}
    right = [score(embed("af-gcl", seed, **settings)) for seed in SEEDS]
    with shuffled(monkeypatch, "localgcl.methods.af_gcl.spectral_terms", 1):
        wrong = [score(embed("af-gcl", seed, **settings)) for seed in SEEDS]
    assert statistics.mean(wrong) < bar("af-gcl", **settings) <= statistics.mean(right)
    assert all(ours > control + 3 for ours, control in zip(right, wrong, strict=True))


def test_a_seed_repeats_a_run() -> None:
    settings = {**SETTINGS, "steps": 5}
    assert (embed("af-gcl", 3, **settings) == embed("af-gcl", 3, **settings)).all()
    assert (embed("af-gcl", 3, **settings) != embed("af-gcl", 4, **settings)).any()


def test_the_pool_is_the_neighbourhoods_of_the_seeds() -> None:
    graph = ring(100)
    pool = method(num_seeds=3, hops=2, fanout=40).pool(graph, seeded(0))
    assert len(pool.unique()) == len(pool)
    seeds = torch.randperm(100, generator=seeded(0))[:3]
    # On a ring the 2-hop neighbourhood of i is i-2 to i+2; 40 draws of two miss one with probability 2^-40.
    expected = {int((s + step) % 100) for s in seeds for step in range(-2, 3)}
    assert set(pool.tolist()) == expected
    # Neighbourhood after neighbourhood: what is cut off is the last.
    assert torch.equal(method(num_seeds=3, hops=2, fanout=40, pool_size=4).pool(graph, seeded(0)), pool[:4])
    assert int(pool[0]) == int(seeds[0])
    assert method(num_seeds=500, hops=0).pool(graph, seeded(0)).sort().values.tolist() == list(range(100))


def test_positives_are_the_most_similar_and_the_node_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[torch.Tensor] = []

    def spy(z: torch.Tensor, positives: torch.Tensor, negatives: torch.Tensor) -> Any:
        seen.extend([z.detach(), positives, negatives])
        return spectral_terms(z, positives, negatives)

    monkeypatch.setattr("localgcl.methods.af_gcl.spectral_terms", spy)
    model = method(num_positives=4, num_negatives=7)
    model.loss(model.prepare(sbm(100, mean_degree=4, features=6)), seeded(0))
    z, positives, negatives = seen
    assert torch.equal(positives[:, 0], torch.arange(len(z)))
    unit = torch.nn.functional.normalize(z)
    similarity = unit @ unit.T
    # Rounding of the two products: a few units in the last place of 1.
    torch.testing.assert_close(
        similarity.gather(1, positives)[:, 1:], similarity.fill_diagonal_(-1).topk(3).values, rtol=0, atol=1e-6
    )
    assert negatives.shape == (len(z), 7)
    assert int(negatives.max()) < len(z)


def test_graphs_smaller_than_the_pool() -> None:
    graph = linked(3, (0, 1)).with_features(torch.eye(3, 6))
    model = method(num_positives=50)
    assert bool(model.loss(model.prepare(graph), seeded(0))["loss"].isfinite())
    with pytest.raises(ValueError, match="the graph has one node"):
        method().check(linked(1))


def test_the_embedding_is_what_the_projector_reads() -> None:
    graph, model = sbm(100, mean_degree=4, features=6), method().eval()
    batch = model.prepare(graph)
    assert torch.equal(model.embed(batch), model.encoder(batch.inputs))


@pytest.mark.parametrize("name", recipes("af-gcl"))
def test_recipes_build(name: str) -> None:
    config = configure("af-gcl", recipes("af-gcl")[name])
    heterophilic = name in ("chameleon", "squirrel", "actor")
    assert config.options.hops == (3 if heterophilic else 2)
    assert config.encoder.batch_norm == (name not in ("cora", "citeseer", "cs", "physics"))
    if name not in ("cora", "citeseer"):  # whose settings were picked here
        assert (config.preparation.scaling == "l1") == config.encoder.batch_norm


def test_recipes_cover_the_benchmarks_but_arxiv() -> None:
    assert set(recipes("af-gcl")) == set(recipes("local-gcl")) - {"arxiv-structure"}
