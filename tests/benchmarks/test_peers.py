"""The benchmark beside other libraries: its graphs, its limits and its page."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from benchmarks import defaults, peers
from benchmarks.peer_systems import SYSTEMS, Input

from localgcl.datasets import sbm

GRAPH = sbm(200, features=6, seed=0)
ROW = dict.fromkeys(peers.FIELDS, "") | {"hardware": "a CPU", "commit": "0123456789", "date": "2026-01-01T00:00:00"}


@pytest.mark.parametrize("sparse", [False, True])
def test_systems_get_undirected_edges_and_the_features(tmp_path: Path, sparse: bool) -> None:
    graph = GRAPH.with_features(GRAPH.x.clamp(min=0).to_sparse_csr()) if sparse else GRAPH
    peers.pack(graph, tmp_path / "graph.npz")
    given = peers.unpack(tmp_path / "graph.npz")
    assert set(zip(given.source, given.target, strict=True)) == set(zip(given.target, given.source, strict=True))
    assert not (given.source == given.target).any()
    assert sp.issparse(given.x) == sparse
    torch.testing.assert_close(torch.from_numpy(given.x.toarray() if sparse else given.x), graph.x.to_dense())


@pytest.mark.parametrize(
    "system", ["localgcl", "localgcl, edges alone", "PyG DGI", "FastRP", "raw features"]
)  # the others have packages of their own
def test_a_system_gives_a_row_for_each_node(system: str) -> None:
    rows = Input(GRAPH.rows.numpy(), GRAPH.indices.numpy(), GRAPH.x.numpy())
    z = SYSTEMS[system](rows, quick=True)
    assert len(z) == 200
    assert np.isfinite(z).all()


def test_fastrp_brings_nodes_of_a_class_together() -> None:
    graph = sbm(400, homophily=0.95, mean_degree=12, features=2, seed=0).symmetrized()
    z = SYSTEMS["FastRP"](Input(graph.rows.numpy(), graph.indices.numpy(), graph.x.numpy()), quick=False)
    z = z / np.linalg.norm(z, axis=1, keepdims=True)
    assert graph.y is not None
    same = graph.y.numpy()[:, None] == graph.y.numpy()
    assert (z @ z.T)[same].mean() > (z @ z.T)[~same].mean() + 0.3


def test_a_system_that_needs_too_much_time_or_memory_has_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ending(code: str) -> dict[str, Any]:
        (tmp_path / "python").write_text(f"#!/bin/sh\n{code}\n")
        (tmp_path / "python").chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
        return peers.measure("FastRP", tmp_path / "graph.npz", tmp_path / "z.npy", "")

    assert ending("echo MemoryError >&2; exit 1")["gave_up"] == "out of 20 GiB"
    with pytest.raises(RuntimeError, match="FastRP failed: no such thing"):
        ending("echo no such thing >&2; exit 1")
    monkeypatch.setattr(peers, "MINUTES", 1 / 60)
    assert ending("exec sleep 60")["gave_up"].startswith("after")


def test_the_page_says_who_gave_up_and_what_was_not_run() -> None:
    rows = [
        ROW | {"graph": "cora", "system": "localgcl", "accuracy": "85.0", "dim": "1024", "seconds": "1.5", "gib": "0.5"},
        ROW | {"graph": "cora", "system": "PyG DGI", "gave_up": "out of 20 GiB"},
    ]
    page = peers.page(rows, [])
    assert "| localgcl | 85.0, 1024 dim, 1.5 s, 0.5 GiB |" in page
    assert "| PyG DGI | gave up: out of 20 GiB |" in page
    assert "| node2vec | not run |" in page
    assert "a CPU, commit 0123456, 2026-01-01" in page


def test_the_page_says_where_our_defaults_were_chosen_on_the_nodes_it_scores() -> None:
    rows = [
        ROW | {"graph": graph, "system": "PyG DGI", "gave_up": "out of 20 GiB"} for graph in ("cora", "pubmed", "blocks-1m")
    ]
    page = " ".join(peers.page(rows, [{"graph": "pubmed"}, {"graph": "cora"}, {"graph": "actor"}]).split())
    assert "validation nodes, those of Cora and PubMed among them, of splits from seed 1000 on" in page
    assert "validation nodes of splits 1000 to 1002, so on Cora and PubMed they favour localgcl" in page
    assert "favour localgcl" not in peers.page(rows, [{"graph": "actor"}])


@pytest.mark.skipif(not peers.RESULTS.exists(), reason="no peers.csv is stored yet; python -m benchmarks.peers measures it")
def test_the_stored_page_is_made_of_the_stored_rows() -> None:
    from localgcl.system.files import RowFile

    stored = Path(__file__).parents[2] / "docs" / "peers.md"
    made = peers.page(RowFile(peers.RESULTS, peers.FIELDS).rows(), RowFile(peers.CHOICES, defaults.FIELDS).rows())
    assert stored.read_text() == made
    assert "so on Cora and PubMed they favour localgcl" in " ".join(made.split())


def test_the_figure_has_a_panel_for_each_graph_without_systems_that_gave_up(tmp_path: Path) -> None:
    done = ROW | {"system": "localgcl", "accuracy": "80", "seconds": "2"}
    rows = [done | {"graph": "cora"}, done | {"graph": "pubmed", "accuracy": "", "seconds": "", "gave_up": "out of 20 GiB"}]
    peers.figure(rows, tmp_path / "peers.svg")
    drawn = (tmp_path / "peers.svg").read_text(encoding="utf-8")
    assert ('id="axes_2"' in drawn, 'id="axes_3"' in drawn) == (True, False)
