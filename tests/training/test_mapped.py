"""Training and embedding on a graph folder: as in memory, but nothing of the graph's size is read at once."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from localgcl.datasets import sbm
from localgcl.graph.stored import FolderError
from localgcl.methods import configure, find_method
from localgcl.ops.cpu import averaging
from localgcl.ops.propagation import Averages
from localgcl.system.memory import OutOfMemory
from localgcl.training import Model, fit
from localgcl.training.memory import mapped_memory
from localgcl.training.preflight import preflight
from tests.references.folders import stored

GRAPH = sbm(400, features=10, seed=0)
HOPS: dict[str, Any] = {"encoder": "hops", "layers": 1, "dim": 20, "steps": 6, "batch": 64, "sampled": 3, "device": "cpu"}


@pytest.mark.parametrize(
    "settings", [{}, {"scaling": "standard"}, {"scaling": "l2", "fourier": 8}, {"channels": ("X", "B3X")}], ids=str
)
def test_a_folder_trains_and_embeds_as_memory_does(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configure("local-gcl", HOPS | settings)
    graph = stored(GRAPH, tmp_path / "graph")
    monkeypatch.setattr("localgcl.graph.mapped.BLOCK", 90)
    here, there = fit(GRAPH, config), fit(graph, config, folder=tmp_path / "run")
    # Sums over neighbours come in another order: float32 rounds at 1e-7, and Adam's first steps have the size of the rate.
    torch.testing.assert_close(there.embed(graph), here.embed(GRAPH), rtol=0, atol=1e-4)
    assert there.history[-1]["loss"] == pytest.approx(here.history[-1]["loss"], rel=1e-5)
    torch.testing.assert_close(Model.load(tmp_path / "run").embed(graph), there.embed(graph))
    assert torch.equal(torch.cat(list(there.embed_blocks(graph))), there.embed(graph))


def test_sparse_features_are_projected_from_disk_as_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localgcl.graph.mapped.BLOCK", 90)
    words = torch.rand(400, 300, generator=torch.Generator().manual_seed(0))
    words = torch.where(words < 0.05, words, 0.0)
    words[7] = 0
    graph = GRAPH.with_features(words.to_sparse_csr())
    config = configure("local-gcl", HOPS | {"projected": 32, "scaling": "l2"})
    folder = stored(graph, tmp_path / "graph")
    assert find_method("local-gcl").reads_from_disk(folder, config)
    assert not find_method("local-gcl").reads_from_disk(folder, config.replace(projected=0))
    here, there = fit(graph, config), fit(folder, config, folder=tmp_path / "run")
    torch.testing.assert_close(there.embed(folder), here.embed(graph), rtol=0, atol=1e-4)
    assert not there.embed(folder)[7, :4].any()
    # The draws are in the run: another process embeds alike.
    torch.testing.assert_close(Model.load(tmp_path / "run").embed(folder), there.embed(folder))
    with pytest.raises(ValueError, match="scaling is standard, which fills every entry of sparse features"):
        fit(folder, config.replace(scaling="standard"))


def test_a_row_of_zeros_stays_zero_beside_fourier_columns(tmp_path: Path) -> None:
    x = GRAPH.x.clone()
    x[7] = 0
    graph = GRAPH.with_features(x)
    folder, config = stored(graph, tmp_path), configure("local-gcl", HOPS | {"fourier": 8, "channels": ("X", "SX")})
    here, there = fit(graph, config).embed(graph), fit(folder, config).embed(folder)
    assert not there[7, :10].any()
    torch.testing.assert_close(there, here, rtol=0, atol=1e-4)


def test_weights_of_edges_count(tmp_path: Path) -> None:
    directed = GRAPH.rows < GRAPH.indices
    weights = 0.5 + torch.rand(int(directed.sum()), generator=torch.Generator().manual_seed(0))
    graph = GRAPH.with_edges(GRAPH.rows[directed], GRAPH.indices[directed], weights)
    config = configure("local-gcl", HOPS)
    folder = stored(graph, tmp_path)
    assert folder.weights is not None
    torch.testing.assert_close(fit(folder, config).embed(folder), fit(graph, config).embed(graph), rtol=0, atol=1e-4)


def test_rows_are_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, graph = configure("local-gcl", HOPS), stored(GRAPH, tmp_path)
    fit(graph, config)

    def fail(*_: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(Averages, "product", fail)
    fit(graph, config).embed(graph)


@pytest.mark.parametrize("length", [0, 60, 300])
@pytest.mark.parametrize("pattern", ["*-S1X.npy", "*-S1X.present.npy"])
def test_damaged_rows_are_refused_by_name(pattern: str, length: int, tmp_path: Path) -> None:
    config, graph = configure("local-gcl", HOPS), stored(GRAPH, tmp_path / "graph")
    fit(graph, config, folder=tmp_path / "run")
    (damaged,) = (tmp_path / "graph" / "hops").glob(pattern)
    os.truncate(damaged, length)
    with pytest.raises(FolderError, match=rf"{damaged.name} cannot be read; delete it, and it is computed again"):
        Model.load(tmp_path / "run").embed(graph)
    np.save(damaged, np.load(tmp_path / "graph" / "x.npy")[:5])
    with pytest.raises(FolderError, match=rf"{damaged.name} has 5 rows for 400 nodes; delete it"):
        Model.load(tmp_path / "run").embed(graph)
    damaged.unlink()
    Model.load(tmp_path / "run").embed(graph)


def test_a_write_that_fails_leaves_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, graph = configure("local-gcl", HOPS | {"scaling": "standard"}), stored(GRAPH, tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Averages, "product", full)
    with pytest.raises(OSError, match="No space left"):
        fit(graph, config)
    assert [path.name for path in (tmp_path / "hops").iterdir() if "X.npy" in path.name and "-X" not in path.name] == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layers": 2, "batch_norm": True}, "batch_norm needs the rows of all nodes at once"),
        ({"pca": 4}, "pca needs the rows of all nodes at once"),
        ({"channels": ("X", "G2X")}, "a channel that is a GCN reads the whole graph"),
        ({"symmetrise": False}, "symmetrise is False, but edges of a graph folder are undirected"),
    ],
    ids=str,
)
def test_what_needs_the_whole_graph_is_refused(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        fit(stored(GRAPH, tmp_path), configure("local-gcl", HOPS | settings))


def test_only_batches_over_hops_read_rows(tmp_path: Path) -> None:
    graph = stored(GRAPH, tmp_path)
    assert find_method("local-gcl").reads_from_disk(graph, configure("local-gcl", HOPS))
    assert not find_method("local-gcl").reads_from_disk(GRAPH, configure("local-gcl", HOPS))
    assert not find_method("local-gcl").reads_from_disk(graph, configure("local-gcl", HOPS | {"batch": 0}))
    assert not find_method("local-gcl").reads_from_disk(graph, configure("local-gcl", HOPS | {"batch": 400}))
    assert not find_method("grace").reads_from_disk(graph, configure("grace", {"dim": 8}))


def test_averages_of_isolated_nodes_and_uneven_parts() -> None:
    import numpy as np

    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    indptr, indices = np.array([0, 2, 3, 4, 4]), np.array([1, 2, 0, 0], dtype=np.int32)
    dense = np.array([[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]], dtype=np.float32)
    for loop in (0.0, 1.0):
        degree = dense.sum(axis=1) + loop
        scale = np.where(degree > 0, 1 / np.sqrt(np.maximum(degree, 1e-9)), 0).astype(np.float32)
        expected = scale[:, None] * (dense + loop * np.eye(4)) @ (scale[:, None] * x)
        for rows in (range(4), range(1, 3), range(3, 4)):
            found = averaging.average_rows(indptr, indices, None, scale, x, rows, loop)
            np.testing.assert_allclose(found, expected[rows.start : rows.stop], rtol=1e-6)


def test_the_estimate_counts_nodes_and_a_batch_but_not_the_graph(tmp_path: Path) -> None:
    config, device = configure("local-gcl", HOPS), torch.device("cpu")
    small, large = (mapped_memory(sbm(n, features=10, seed=0), config, device) for n in (2_000, 20_000))
    assert 0 < large - small < 18_000 * 60  # features and edges alone would be 18,000 * (40 + 10 * 2 * 8)
    assert "memory" in preflight(stored(GRAPH, tmp_path), config, device).lines()[0]


def test_channels_that_do_not_fit_the_disk_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = stored(GRAPH, tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(OutOfMemory, match=r"the channels take 0.0 GiB in .*hops, and 0.0 GiB are free"):
        fit(graph, configure("local-gcl", HOPS))
    assert not (tmp_path / "hops").exists()
