"""The loop iterates over a method's batches: the whole graph, or parts of it, or one rank's share."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from localgcl.config import Config
from localgcl.datasets import sbm
from localgcl.evaluation import evaluate
from localgcl.graph import Graph
from localgcl.graph.csr import CSR
from localgcl.methods import METHODS, Batch, configure, find_method
from localgcl.methods.local_gcl import LocalGCL
from localgcl.nn.encoders import Inputs
from localgcl.system.team import ALONE, Team
from localgcl.training import Interrupted, Model, fit
from localgcl.training.ranks import Ranks

GRAPH = sbm(300, seed=0)
SMALL: dict[str, Any] = {"dim": 16, "steps": 6, "num_features": 64, "negatives": "sorf", "device": "cpu"}


class MiniBatches(LocalGCL):
    """Local-GCL that trains an MLP on 64 random nodes and their neighbours: all it takes is `batches`."""

    def __init__(self, num_inputs: int, config: Config) -> None:
        super().__init__(num_inputs, config)
        self.seen: list[list[int]] = []

    def batches(self, graph: Graph, *, first: int = 0, team: Team = ALONE) -> Iterator[Batch]:
        self.step = first
        for step in range(first, 10**9):
            nodes = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(step))[:64].sort().values
            self.seen.append(nodes.tolist())
            rows, neighbours = _block(graph, nodes)
            yield Batch(graph, Inputs(graph.x[rows]), neighbours=neighbours, reduce=team.reduce)


def _block(graph: Graph, nodes: Tensor) -> tuple[Tensor, CSR]:
    """The rows that a batch reads, its own nodes first, and whose rows are whose neighbours."""
    targets = [graph.indices[graph.indptr[i] : graph.indptr[i + 1]] for i in nodes.tolist()]
    others = torch.cat(targets).unique()
    rows = torch.cat([nodes, others[~torch.isin(others, nodes)]])
    place = torch.full((graph.num_nodes,), -1)
    place[rows] = torch.arange(len(rows))
    columns = [place[row].sort().values for row in targets]
    indptr = torch.tensor([0, *map(len, columns)]).cumsum(0)
    return rows, CSR(indptr, torch.cat(columns), len(rows))


@pytest.fixture
def mini(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(METHODS, "mini", MiniBatches)
    return "mini"


def test_a_method_may_train_on_batches(mini: str) -> None:
    settings = {**SMALL, "encoder": "mlp", "batch_norm": True, "steps": 60, "learning_rate": 1e-2, "negatives": "exact"}
    model = fit(GRAPH, configure(mini, settings))
    untrained = fit(GRAPH, configure("random-init", {"dim": 16, "encoder": "mlp", "batch_norm": True}))
    assert len({tuple(nodes) for nodes in model.method.seen}) == 60  # type: ignore[union-attr]
    after, before = (evaluate(one.embed(GRAPH), GRAPH, steps=200).mean for one in (model, untrained))
    assert after > before + 5  # measured: 15 points


def test_a_resumed_run_sees_the_batches_it_would_have_seen(mini: str, tmp_path: Path) -> None:
    config = configure(mini, {**SMALL, "encoder": "mlp", "checkpoint_every": 2})
    whole = fit(GRAPH, config)

    def interrupt(row: dict[str, Any]) -> None:
        if row["step"] == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        fit(GRAPH, config, folder=tmp_path / "run", callbacks=[interrupt])
    resumed = fit(GRAPH, config, folder=tmp_path / "run", resume=True)
    assert resumed.method.seen == whole.method.seen[4:]  # type: ignore[index]
    assert torch.equal(resumed.embed(GRAPH), whole.embed(GRAPH))


def test_the_loop_hands_the_sum_over_ranks_to_the_loss() -> None:
    """Two ranks that hold the same nodes: S is twice as large, so each log-sum grows by log 2."""
    calls: list[int] = []

    class Twice(Team):
        """A team of one whose sums count it twice."""

        def reduce(self, vector: Tensor) -> Tensor:
            calls.append(vector.numel())
            return 2 * vector

    config = configure("local-gcl", {**SMALL, "steps": 1, "negatives": "sorf"})
    alone, together = (_first_step(config, team) for team in (ALONE, Twice()))
    assert calls == [2 * 64 + 2, 2 * 64]  # S with two counts forward, g backward: nothing of the size of the graph
    # A rank's share is half of the mean over all nodes; the sum of features over twice the nodes is twice as large.
    assert together["positive"] == pytest.approx(alone["positive"] / 2, rel=1e-5)
    assert together["negative"] == pytest.approx((alone["negative"] + torch.tensor(2.0).log().item()) / 2, rel=1e-5)


def _first_step(config: Config, team: Team) -> dict[str, float]:
    method = Model.fresh(config, GRAPH.num_features, {}).method
    terms = method.loss(next(method.batches(GRAPH, team=team)), torch.Generator().manual_seed(0))
    terms["loss"].backward()
    return {name: float(term.detach()) for name, term in terms.items()}


def test_methods_that_need_all_nodes_say_so() -> None:
    for name, kind in METHODS.items():
        if kind.learns and not kind.distributes:
            method = find_method(name)(GRAPH.num_features, configure(name, {"dim": 4}))
            with pytest.raises(ValueError, match="cannot be trained by several ranks"):
                method.batches(GRAPH, team=Ranks(0, 2, None, None))
