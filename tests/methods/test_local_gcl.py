"""Local-GCL as a method: it learns from neighbours, and only from neighbours."""

from typing import Any

import pytest
import torch

from localgcl.graph import Graph
from localgcl.losses import local_terms
from tests.methods.block_model import accuracy, bar

SETTINGS: dict[str, Any] = {"steps": 30, "learning_rate": 5e-3, "num_features": 512, "negatives": "sorf"}


@pytest.mark.parametrize("positives", ["mean", "max", "weighted"])
def test_learns_the_block_model(positives: str) -> None:
    assert accuracy("local-gcl", **SETTINGS, positives=positives) >= bar("local-gcl", **SETTINGS)


def test_fails_when_neighbours_are_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(z: torch.Tensor, graph: Graph, **options: Any) -> Any:
        nodes = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(1))
        return local_terms(z, graph.with_edges(graph.rows, nodes[graph.indices]), **options)

    monkeypatch.setattr("localgcl.methods.local_gcl.local_terms", wrong)
    result = accuracy("local-gcl", **SETTINGS)
    monkeypatch.undo()
    assert result < bar("local-gcl", **SETTINGS)
