"""Graphs whose arrays stay on disk."""

from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl.config import Preparation
from localgcl.datasets import sbm
from localgcl.graph.mapped import blocks, cache_folder, mapped, mapped_statistics
from localgcl.graph.prepare import column_statistics, prepare
from tests.references.folders import stored

GRAPH = sbm(300, features=6, seed=0).symmetrized()


def test_blocks_cover_all_rows_once() -> None:
    assert [list(rows) for rows in blocks(7, 3)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(blocks(0)) == []


def test_statistics_in_blocks_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localgcl.graph.mapped.BLOCK", 70)
    constant = GRAPH.with_features(torch.cat([GRAPH.x, torch.full((300, 1), 3.0)], dim=1))
    here, there = mapped_statistics(constant, "standard"), column_statistics(constant, "standard")
    for name in ("mean", "deviation"):
        torch.testing.assert_close(here[name], there[name])
    assert mapped_statistics(GRAPH, "l2") == {}


@pytest.mark.parametrize("scaling", ["raw", "l2", "standard", "binary"])
def test_features_are_scaled_as_they_are_read(scaling: Any, tmp_path: Path) -> None:
    graph = stored(GRAPH, tmp_path)
    preparation = Preparation(scaling=scaling)
    statistics = column_statistics(GRAPH, preparation.scaling)
    whole = prepare(GRAPH, preparation, statistics)
    part = mapped(graph, preparation, statistics, tmp_path / "hops").features(range(100, 250))
    torch.testing.assert_close(part, whole.x[100:250])


def test_the_fingerprint_follows_what_features_are_made_of(tmp_path: Path) -> None:
    graph = stored(GRAPH, tmp_path)

    def fingerprint(scaling: Any, factor: float = 1.0) -> str:
        preparation = Preparation(scaling=scaling)
        statistics = {name: factor * value for name, value in column_statistics(GRAPH, preparation.scaling).items()}
        return mapped(graph, preparation, statistics, tmp_path).fingerprint

    known = [fingerprint("raw"), fingerprint("l2"), fingerprint("standard"), fingerprint("standard", 2.0)]
    assert len(set(known)) == 4
    assert fingerprint("standard") == known[2]
    other = stored(sbm(300, features=6, seed=1), tmp_path / "other")
    assert mapped(other, Preparation(), {}, tmp_path).fingerprint != known[0]


@pytest.mark.parametrize("change", [{"symmetrise": False}, {"drop_loops": False}, {"parallel_edges": "keep"}], ids=str)
def test_other_edges_than_those_of_the_folder_are_refused(change: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(change))} is .*, but edges of a graph folder are undirected and simple"):
        mapped(stored(GRAPH, tmp_path), Preparation(**change), {}, tmp_path)


def test_rows_are_kept_in_the_graph_folder_or_in_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "run"
    assert cache_folder(tmp_path, run) == tmp_path / "hops"
    monkeypatch.setattr("os.access", lambda *_: False)
    assert cache_folder(tmp_path, run) == run / "hops"


def test_a_graph_with_other_edges_or_features_is_no_longer_that_of_the_folder(tmp_path: Path) -> None:
    graph = stored(GRAPH, tmp_path)
    assert graph.folder == tmp_path
    assert graph.with_splits([]).folder == tmp_path
    for changed in (
        graph.with_features(GRAPH.x + 1),
        graph.keep_edges(graph.rows > 5),
        graph.with_edges(graph.rows, graph.indices.long()),
    ):
        assert changed.folder is None
