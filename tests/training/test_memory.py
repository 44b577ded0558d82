"""The estimate of a run's memory: how it grows, what it knows of a graph, and one run measured."""

import json
import subprocess
import sys
from typing import Any

import pytest
import torch

from localgcl.config import Preparation
from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.graph.prepare import prepare
from localgcl.methods import METHODS, configure
from localgcl.training.memory import COMPILER, INTERPRETER, MIB, Sizes, estimate, reading_memory, reversed_share

CPU = torch.device("cpu")
SIZE = Sizes(10_000, 100_000, 50, None, 100_000)
FORMS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in METHODS if name not in ("gmi", "mvgrl")),
    *(("local-gcl", {"encoder": encoder}) for encoder in ("mlp", "hops")),
    ("local-gcl", {"negatives": "exact", "layers": 3, "hidden": 100, "batch_norm": True, "dropout": 0.5}),
    ("local-gcl", {"encoder": "hops", "batch": 500}),
    *((name, {"encoder": "gcn", "batch": 100, "sampled": 5}) for name in ("local-gcl", "grace", "bgrl")),
    ("local-gcl", {"encoder": "mlp", "batch": 500, "sampled": 5, "activation": "rrelu", "activate_last": True}),
    ("bgrl", {"positives": "neighbours"}),
    ("cca-ssg", {"positives": "neighbours"}),
    # Not "auto", which takes the form that needs less where the other one does not fit.
    *((name, {"mode": mode}) for name in ("gmi", "mvgrl") for mode in ("faithful", "scalable")),
]


def peak(sizes: Sizes, method: str, device: torch.device = CPU, **settings: Any) -> int:
    return estimate(sizes, configure(method, {"dim": 64, **settings}), device).peak


@pytest.mark.parametrize(
    ("method", "settings"), FORMS, ids=[f"{name}-{'-'.join(map(str, given.values()))}" for name, given in FORMS]
)
def test_it_grows_with_the_graph_and_the_dimension(method: str, settings: dict[str, Any]) -> None:
    at = peak(SIZE, method, **settings)
    assert at > INTERPRETER + SIZE.graph
    # Twice the graph: nodes, edges and features.
    assert peak(Sizes(20_000, 200_000, 50, None, 200_000), method, **settings) > at
    assert peak(Sizes(10_000, 200_000, 50, None, 200_000), method, **settings) > at
    assert peak(Sizes(10_000, 100_000, 500, None, 100_000), method, **settings) > at
    if "batch" not in settings:  # the same edges among more nodes: a batch then has fewer
        assert peak(Sizes(20_000, 100_000, 50, None, 100_000), method, **settings) > at
    wider = peak(SIZE, method, **settings, dim=640)
    assert wider > at or (method == "raw-features" and wider == at)


def test_a_directed_graph_is_counted_with_the_edges_that_symmetrising_adds() -> None:
    graph = sbm(2000, splits=0)
    rows, columns = graph.rows, graph.indices
    for share in (1.0, 0.5, 0.0):
        kept = (rows < columns) | (torch.arange(len(rows)) % 100 < 100 * share)
        some = graph.keep_edges(kept)
        guessed, counted = Sizes.of(some, Preparation()), prepare(some, Preparation(), {})
        # The share of 512 sampled edges has a standard error of at most 0.5 / sqrt(512) = 0.022; four of them.
        assert guessed.prepared == pytest.approx(counted.num_edges, abs=0.09 * some.num_edges)
        assert guessed.edges == some.num_edges
    assert Sizes.of(some, Preparation(symmetrise=False)).prepared == some.num_edges
    assert Sizes.of(some, Preparation(parallel_edges="keep")).prepared == 2 * some.num_edges


def test_the_share_of_reversed_edges() -> None:
    assert reversed_share(sbm(500, splits=0)) == 1.0
    path = Graph.from_edges([0, 1, 2], [1, 2, 3], x=torch.ones(4, 1))
    assert reversed_share(path) == 0.0
    assert reversed_share(Graph.from_edges([0, 1, 2], [1, 0, 2], x=torch.ones(4, 1))) == 1.0  # a loop is its own reverse
    assert reversed_share(Graph.from_edges([], [], x=torch.ones(4, 1))) == 1.0


def test_sparse_features_count_by_what_is_stored() -> None:
    x = torch.zeros(1000, 2000)
    x[:, :20] = 1
    graph = sbm(1000, splits=0)
    dense, sparse = (Sizes.of(graph.with_features(form), Preparation()) for form in (x, x.to_sparse_csr()))
    assert (dense.columns, dense.stored) == (2000, None)
    assert (sparse.columns, sparse.stored, sparse.features) == (60, 20_000, 2000)  # 20 values of 12 bytes, or 60 of 4
    assert peak(sparse, "local-gcl") < peak(dense, "local-gcl")
    assert Sizes(1000, 0, 2000, 1_000_000).columns == 2000  # half full: encoders make it dense


def test_what_only_some_runs_hold() -> None:
    config = configure("local-gcl", {"dim": 4096, "negatives": "sorf", "steps": 100})
    small = Sizes(100, 1000, 50, None, 1000)
    with_folder, without = (estimate(small, config, CPU, stored=stored) for stored in (True, False))
    assert with_folder.training > without.training  # checkpoints hold copies of all weights
    assert estimate(small, config.replace(checkpoint_every=0), CPU) == without
    assert estimate(small, config.replace(negatives="exact"), CPU).held == with_folder.held - COMPILER


def test_on_a_gpu_a_step_is_there_and_the_graph_in_both_places() -> None:
    config = configure("local-gcl", {"dim": 512})
    on_cpu, on_gpu = estimate(SIZE, config, CPU), estimate(SIZE, config, torch.device("cuda"))
    assert on_cpu.device == 0
    assert on_gpu.device > 4 * SIZE.nodes * 512
    assert on_gpu.growth < on_cpu.growth
    assert on_gpu.held > on_cpu.held  # CUDA's own libraries


def test_hops_that_are_not_stored_take_less_beforehand() -> None:
    """Above 512 MiB a channel is computed at each step, over all nodes."""
    small, large = (Sizes(nodes, 10 * nodes, 128, None, 10 * nodes) for nodes in (1_000_000, 1_100_000))
    at = [peak(sizes, "local-gcl", encoder="hops", batch=2048) - sizes.graph for sizes in (small, large)]
    assert at[0] > at[1] > INTERPRETER


MEASURED = """
import json
from pathlib import Path
from localgcl.datasets import sbm
from localgcl.methods import configure
from localgcl.training import fit
from localgcl.training.preflight import preflight
import torch
graph = sbm(20_000, mean_degree=4, features=32, splits=0)
# The peak of drawing the graph is over: what follows is counted.
Path("/proc/self/clear_refs").write_text("5")
settings = {"encoder": "mlp", "dim": 512, "negatives": "sorf", "num_features": 16, "steps": 2, "device": "cpu"}
config = configure("local-gcl", settings)
needs = preflight(graph, config, torch.device("cpu"), stored=False)
fit(graph, config).embed(graph)
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
print(json.dumps([needs.host, 1024 * int(peak.split()[1])]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
def test_a_run_measured() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", MEASURED], capture_output=True, text=True, check=True)
    estimated, measured = json.loads(done.stdout.splitlines()[-1])
    # The bounds of benchmarks/memory_check.py. The interpreter is most of it; a step is five copies of 39 MiB.
    assert 0.8 <= estimated / measured <= 1.6
    assert measured > INTERPRETER + 150 * MIB  # a run of which the interpreter were nearly all would show nothing


def test_reading_grows_with_edges_and_features() -> None:
    at = reading_memory(1000, 10_000, 10)
    assert at < min(reading_memory(1000, 20_000, 10), reading_memory(1000, 10_000, 20), reading_memory(2000, 10_000, 10))
    # Five million edges and a million rows of 64 numbers, as NPY, CSV or Parquet: 1.36 to 1.44 GiB were measured.
    assert 1.3 * 2**30 < reading_memory(1_000_000, 5_000_000, 64) < 1.8 * 2**30
    # Two million edges of 200,000 nodes: 1.53 GiB were measured.
    assert 1.4 * 2**30 < reading_memory(200_000, 2_000_000, 128, structural=True) < 2 * 2**30
