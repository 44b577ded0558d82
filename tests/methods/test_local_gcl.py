"""Local-GCL as a method: it learns from neighbours, and only from neighbours."""

from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl.datasets import sbm
from localgcl.graph.csr import CSR, sort_edges
from localgcl.losses import local_terms
from localgcl.methods import configure
from localgcl.training import fit
from tests.methods.block_model import accuracy, bar

# Measured over seeds 0-2, 3-5, 6-8: 9.5, 8.6, 10.2 points above the bar; positives="max" 8.0, 6.1, 8.5; hard negatives as the
# first; with neighbours shuffled 21, 28, 26 below it.
SETTINGS: dict[str, Any] = {"steps": 30, "learning_rate": 5e-3, "num_features": 512, "negatives": "sorf"}


@pytest.mark.parametrize("positives", ["mean", "max", "weighted"])
def test_learns_the_block_model(positives: str) -> None:
    assert accuracy("local-gcl", **SETTINGS, positives=positives) >= bar("local-gcl", **SETTINGS)


def test_fails_when_neighbours_are_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(z: torch.Tensor, neighbours: CSR, **options: Any) -> Any:
        nodes = torch.randperm(len(z), generator=torch.Generator().manual_seed(1))
        return local_terms(z, sort_edges(neighbours.rows, nodes[neighbours.indices], len(z)), **options)

    monkeypatch.setattr("localgcl.methods.local_gcl.local_terms", wrong)
    result = accuracy("local-gcl", **SETTINGS)
    monkeypatch.undo()
    assert result < bar("local-gcl", **SETTINGS)


# Hard negatives

HARD: dict[str, Any] = {"hard_negatives": "progcl-mix", "hard_pool": 256, "hard_selected": 32}
SMALL: dict[str, Any] = {"dim": 16, "steps": 8, "device": "cpu", "num_features": 256, "checkpoint_every": 3}


@pytest.mark.parametrize("negatives", ["sorf", "exact"])
def test_learns_with_hard_negatives(negatives: str) -> None:
    settings = {**SETTINGS, "negatives": negatives}
    assert accuracy("local-gcl", **settings, **HARD) >= bar("local-gcl", **settings)


def test_hard_negatives_start_at_their_time() -> None:
    """The runs are the same until then; afterwards the negative term is larger, by what the mixes add."""
    graph = sbm(150, classes=3, features=8, seed=1)
    runs = [
        fit(graph, configure("local-gcl", {**SMALL, **HARD, "negatives": "exact", "hard_start": start})).history
        for start in (1.0, 0.5, 0.0)
    ]
    never, half, always = ([row["negative"] for row in rows] for rows in runs)
    plain = fit(graph, configure("local-gcl", {**SMALL, "negatives": "exact"})).history
    assert never == [row["negative"] for row in plain]
    assert half[:4] == never[:4]
    assert half[4] > never[4] + 0.01
    assert always[0] > never[0] + 0.01


def test_a_warm_start_begins_without_hard_negatives(tmp_path: Path) -> None:
    graph = sbm(150, classes=3, features=8, seed=1)
    config = configure("local-gcl", {**SMALL, **HARD, "negatives": "exact"})
    fit(graph, config, folder=tmp_path / "run")
    plain = fit(graph, config.replace(hard_start=1.0), warm_start=tmp_path / "run").history
    warm = fit(graph, config, warm_start=tmp_path / "run").history
    assert [row["loss"] for row in warm[:4]] == [row["loss"] for row in plain[:4]]
    assert warm[4]["loss"] > plain[4]["loss"]


@pytest.mark.parametrize("stop_at", [2, 6])
def test_resuming_with_hard_negatives_is_bit_identical(stop_at: int, tmp_path: Path) -> None:
    graph = sbm(150, classes=3, features=8, seed=1)
    config = configure("local-gcl", {**SMALL, **HARD, "negatives": "sorf", "checkpoint_every": 1})

    def stop(row: dict[str, Any]) -> None:
        if row["step"] == stop_at:
            raise KeyboardInterrupt

    whole = fit(graph, config)
    with pytest.raises(KeyboardInterrupt):
        fit(graph, config, folder=tmp_path / "run", callbacks=[stop])
    resumed = fit(graph, config, folder=tmp_path / "run", resume=True)
    state, expected = resumed.method.state_dict(), whole.method.state_dict()
    assert state.keys() == expected.keys()
    assert all(torch.equal(state[name], expected[name]) for name in state)
