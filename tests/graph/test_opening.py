"""Graph.open."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from localgcl import Graph
from localgcl.config import Preparation
from localgcl.datasets import sbm
from localgcl.graph.arrays import is_frozen
from localgcl.graph.prepare import prepare
from localgcl.graph.stored import FolderError, Header, open_array, read_header, write_header
from tests.references.folders import stored

GRAPH = sbm(60, mean_degree=3, features=4, seed=0).symmetrized().without_loops()


def test_a_folder_is_opened_as_it_was_written(tmp_path: Path) -> None:
    stored(GRAPH, tmp_path)
    opened = Graph.open(tmp_path)
    for name in ("indptr", "indices", "x"):
        assert torch.equal(getattr(opened, name), getattr(GRAPH, name)), name
    assert opened.indices.dtype == torch.int64
    assert opened.folder == tmp_path
    assert opened.node_ids.tolist() == list(range(60))
    assert opened.is_symmetric
    assert not opened.csr.has_loops
    assert opened.y is None
    assert opened.splits == ()


def test_features_are_mapped(tmp_path: Path) -> None:
    stored(GRAPH, tmp_path)
    x = Graph.open(tmp_path).x
    assert is_frozen(open_array(tmp_path, "x.npy"))
    # Pages of a mapped file belong to it: what is written to the file shows.
    with (tmp_path / "x.npy").open("r+b") as file:
        file.seek(128)
        file.write(np.float32(7).tobytes())
    assert float(x[0, 0]) == 7


def test_labels_splits_ids_and_sparse_features(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    stored(GRAPH, tmp_path)
    (tmp_path / "x.npy").unlink()
    matrix: Any = sp.random_array((60, 9), density=0.2, format="csr", dtype=np.float32, rng=np.random.default_rng(0))
    np.save(tmp_path / "x-indptr.npy", matrix.indptr.astype(np.int64))
    np.save(tmp_path / "x-indices.npy", matrix.indices.astype(np.int32))
    np.save(tmp_path / "x-values.npy", matrix.data)
    np.save(tmp_path / "y.npy", np.arange(60) % 3)
    np.save(tmp_path / "splits.npy", np.stack([np.arange(60) % 4, (np.arange(60) + 1) % 4], axis=1).astype(np.uint8))
    pyarrow.parquet.write_table(pa.table({"id": [f"n{i}" for i in range(60)]}), tmp_path / "ids.parquet")
    write_header(tmp_path, Header("all", 60, GRAPH.num_edges, 9, tuple("abcdefghi")))
    graph = Graph.open(tmp_path)
    np.testing.assert_array_equal(graph.x.to_dense().numpy(), matrix.toarray())
    assert graph.y is not None
    assert graph.y.tolist() == [i % 3 for i in range(60)]
    assert [split.name for split in graph.splits] == ["split-0", "split-1"]
    assert graph.splits[1].train.tolist() == list(range(0, 60, 4))
    assert graph.splits[0].test.tolist() == list(range(3, 60, 4))
    assert graph.node_ids.tolist()[:2] == ["n0", "n1"]
    assert graph.feature_names == tuple("abcdefghi")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"nodes": 61}, r"indptr.npy has shape \(61,\) of int64 and not \(62,\) of int64; run localgcl convert again"),
        ({"edges": 3}, r"indptr.npy ends at [\d,]+ and not at 3 edges"),
        ({"features": 5}, r"x.npy has shape \(60, 4\) of float32 and not \(60, 5\)"),
    ],
    ids=str,
)
def test_a_header_of_another_graph_is_refused(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    stored(GRAPH, tmp_path)
    path = tmp_path / "header.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    read_header(tmp_path)
    with pytest.raises(FolderError, match=message):
        Graph.open(tmp_path)


def test_edges_of_a_very_large_graph_stay_on_disk_until_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = sbm(200, features=5, seed=0).symmetrized()
    stored(graph, tmp_path)
    read = Graph.open(tmp_path)
    monkeypatch.setattr("localgcl.graph.mapped._MOST_READ", 10)
    mapped = Graph.open(tmp_path)
    assert (read.indices.dtype, mapped.indices.dtype) == (torch.int64, torch.int32)
    assert not mapped.csr.has_loops
    prepared = prepare(mapped, Preparation(), {})
    assert prepared.indices.dtype == torch.int64
    assert torch.equal(prepared.indices, graph.indices)
