"""Runs that many ranks cannot share are refused before anything is computed."""

from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.methods import configure
from localgcl.training.fit import require_shareable
from localgcl.training.ranks import Ranks
from tests.references.folders import stored

FOUR = Ranks(0, 4, None, None)
HOPS: dict[str, Any] = {"encoder": "hops", "layers": 1, "dim": 20, "batch": 64}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return stored(sbm(400, features=10, seed=0), Path(tmp_path_factory.mktemp("graph")))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"encoder": "gcn"}, "encoder is gcn, .*; take hops"),
        ({"batch": 0}, "batch is 0, but 4 ranks share batches of a graph of 400 nodes; take 4 or more"),
        ({"batch": 3}, "batch is 3, but 4 ranks"),
        ({"batch": 400}, "batch is 400, .* fewer than the nodes"),
        ({"dropout": 0.1}, "dropout is 0.1, which is drawn for each row, .*; set it to 0"),
        ({"masked": 0.2}, "masked is 0.2, which is drawn for each edge"),
        ({"hard_negatives": "progcl-mix"}, "hard_negatives is progcl-mix, .*; set it to none"),
        ({"activation": "rrelu", "layers": 2}, "activation is rrelu, .*; take prelu or elu"),
        ({"negatives": "exact"}, "negatives is exact, .*; take auto or sorf"),
    ],
    ids=str,
)
def test_what_depends_on_who_has_which_rows_is_refused(settings: dict[str, Any], message: str, graph: Graph) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        require_shareable(graph, configure("local-gcl", HOPS | settings), FOUR)
    assert "\n" not in str(caught.value)


def test_other_methods_and_sparse_features_are_refused(graph: Graph) -> None:
    require_shareable(graph, configure("local-gcl", HOPS), FOUR)
    with pytest.raises(ValueError, match="4 ranks cannot share this run: grace needs all nodes in one process; take local-gcl"):
        require_shareable(graph, configure("grace", {}), FOUR)
    sparse = graph.with_features(torch.eye(400).to_sparse_csr())
    with pytest.raises(ValueError, match="are sparse, but ranks read dense rows"):
        require_shareable(sparse, configure("local-gcl", HOPS), FOUR)
