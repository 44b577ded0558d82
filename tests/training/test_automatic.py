"""Mini-batches are taken where the whole graph does not fit the memory. What is available is made up here."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

import localgcl as lg
from localgcl.config import Config
from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.methods import METHODS, configure, find_method
from localgcl.system.memory import OutOfMemory
from localgcl.training import Model, RunFolder, preflight
from localgcl.training.memory import Sizes, estimate, mapped_memory
from localgcl.training.preflight import BATCHES, SAMPLED, in_fitting_batches
from tests.references.folders import stored
from tests.training.test_preflight import HELD, Machine

CPU = torch.device("cpu")
GRACE: dict[str, Any] = {"dim": 64, "hidden": 256, "steps": 2, "device": "cpu"}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return sbm(20_000, mean_degree=5, features=8, splits=0)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def peak(graph: Graph, config: Config) -> int:
    return estimate(Sizes.of(graph, config.preparation), config, CPU).peak


def between(graph: Graph, config: Config, batch: int) -> float:
    """Free memory, in GiB, for batches of this size and not for the whole graph."""
    small = peak(graph, config.replace(batch=batch, sampled=SAMPLED))
    assert small < peak(graph, config)
    return (small + 2**20 - HELD) / 2**30


def test_the_largest_batch_that_fits_is_taken(graph: Graph, machine: Machine) -> None:
    config = configure("grace", GRACE)
    machine.free = between(graph, config, 256)
    chosen, line = in_fitting_batches(graph, config, CPU)
    assert (chosen.training.batch, chosen.training.sampled) == (256, SAMPLED)
    assert chosen == config.replace(batch=256, sampled=SAMPLED)
    assert re.fullmatch(
        r"the whole graph takes about \d\.\d GiB of \d\.\d GiB available, mini-batches of 256 nodes with up to 5 neighbours "
        r"of each node \d\.\d GiB: taking these \(--batch 0 asks for the whole graph\)",
        line,
    )
    preflight.preflight(graph, chosen, CPU)
    with pytest.raises(OutOfMemory):
        preflight.preflight(graph, config, CPU)


def test_what_fits_is_left_alone_and_what_fits_in_no_way_too(graph: Graph, machine: Machine) -> None:
    config = configure("grace", GRACE)
    assert in_fitting_batches(graph, config, CPU) == (config, "")
    machine.free = 0.01
    assert in_fitting_batches(graph, config, CPU) == (config, "")
    untrained = configure("random-init", {"dim": 8})
    assert in_fitting_batches(graph, untrained, CPU) == (untrained, "")


def test_on_a_gpu_its_memory_decides(graph: Graph, machine: Machine) -> None:
    gpu, config = torch.device("cuda"), configure("grace", GRACE)
    whole, part = (
        estimate(Sizes.of(graph, config.preparation), at, gpu).device for at in (config, config.replace(batch=128, sampled=5))
    )
    machine.free, machine.card = 100.0, (whole + part) / 2 / 2**30
    chosen, line = in_fitting_batches(graph, config, gpu)
    assert chosen.training.batch in BATCHES
    assert re.search(r"available on the GPU, mini-batches of \d+ nodes .* GiB on the GPU: taking these", line)


def test_train_takes_batches_says_so_and_records_them(graph: Graph, machine: Machine, tmp_path: Path) -> None:
    settings = {**GRACE, "scaling": "raw", "batch_norm": False}
    machine.free = between(graph, configure("grace", settings), 128)
    said: list[str] = []
    lg.train(graph, tmp_path / "run", method="grace", say=said.append, **settings)
    assert len([line for line in said if line.startswith("the whole graph takes about")]) == 1
    recorded = RunFolder.open(tmp_path / "run").config.training
    assert recorded.batch in BATCHES
    assert recorded.sampled == SAMPLED
    assert len(Model.load(tmp_path / "run").embed(graph)) == 20_000
    # A resumed run keeps what was chosen.
    lg.train(graph, tmp_path / "run", resume=True)


@pytest.mark.parametrize("given", [{"batch": 0}, {"batch": 15_000}], ids=str)
def test_a_batch_that_is_given_is_not_changed(given: dict[str, Any], graph: Graph, machine: Machine, tmp_path: Path) -> None:
    settings = {**GRACE, "scaling": "raw", "batch_norm": False}
    machine.free = between(graph, configure("grace", settings), 128)
    with pytest.raises(OutOfMemory, match=r"^training grace with dim 64 takes about"):
        lg.train(graph, tmp_path / "run", method="grace", **settings, **given)
    with pytest.raises(OutOfMemory, match=r"^training grace with dim 64 takes about"):
        lg.Embedder("grace", **settings, **given).fit(graph)


def test_estimators_take_batches_too(graph: Graph, machine: Machine) -> None:
    settings = {**GRACE, "scaling": "raw", "batch_norm": False}
    machine.free = between(graph, configure("grace", settings), 128)
    model = lg.Embedder("grace", **settings).fit(graph).model_
    assert model.config.training.batch in BATCHES


def test_a_gcn_on_a_graph_folder_leaves_it_on_disk(graph: Graph, machine: Machine, tmp_path: Path) -> None:
    folder = stored(graph, tmp_path / "graph")
    config = configure("grace", GRACE)
    assert not find_method(config.method).reads_from_disk(folder, config)
    machine.free = (peak(graph, config) - HELD - 2**20) / 2**30
    chosen, line = in_fitting_batches(folder, config, CPU)
    assert line
    assert find_method(chosen.method).reads_from_disk(folder, chosen)
    assert mapped_memory(folder, chosen, CPU) < peak(graph, config)


@pytest.mark.parametrize("method", METHODS)
def test_which_methods_embed_layer_by_layer(method: str) -> None:
    config = configure(method, {"batch": 100})
    assert find_method(method).embeds_in_layers(1000, config) == (method not in ("sugrl", "mvgrl", "raw-features"))
    assert not find_method(method).embeds_in_layers(100, config)
    assert not find_method(method).embeds_in_layers(1000, config.replace(batch=0))


def test_batches_of_a_large_graph_take_little() -> None:
    """A million nodes: a batch needs a fraction of what a step over all nodes needs."""
    sizes = Sizes(10**6, 10**7, 64, None, 10**7)
    for method in ("local-gcl", "grace", "bgrl", "dgi", "gmi", "afgrl"):
        config = configure(method, {"encoder": "gcn", "dim": 256})
        whole, part = (estimate(sizes, at, CPU) for at in (config, config.replace(batch=512, sampled=5)))
        assert part.peak < 0.6 * whole.peak, method
