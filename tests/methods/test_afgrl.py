"""AFGRL: positives that are found, and a target that follows as the released code's does."""

from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl.methods import METHODS, Method
from localgcl.methods.parts import momentum
from tests.methods import checks
from tests.methods.block_model import accuracy, bar, shuffled

QUICK: dict[str, Any] = {"predictor": 32, "clusters": 5, "cluster_runs": 2, "cluster_iterations": 5}
# Measured over seeds 0-2, 3-5, 6-8: 5.2, 5.2, 4.9 points above the bar, with positives shuffled 4.3, 6.4, 4.0 below it.
SETTINGS: dict[str, Any] = {**QUICK, "dim": 64, "neighbours": 8, "steps": 100, "learning_rate": 1e-2, "log_every": 1000}


def test_learns_the_block_model() -> None:
    assert accuracy("afgrl", **SETTINGS) >= bar("afgrl", **SETTINGS)


def test_fails_when_positives_are_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    with shuffled(monkeypatch, "localgcl.methods.afgrl.pair_prediction", 1):
        result = accuracy("afgrl", **SETTINGS)
    assert result < bar("afgrl", **SETTINGS)


def test_a_seed_repeats() -> None:
    checks.repeats_to_the_bit("afgrl", **QUICK)


def test_a_killed_run_resumes(tmp_path: Path) -> None:
    checks.resumes_to_the_bit("afgrl", tmp_path / "run", **QUICK)


@pytest.mark.parametrize("encoder", ["gcn", "mlp"])
def test_odd_graphs(encoder: str) -> None:
    """More clusters and neighbours than nodes are as many as there are nodes."""
    checks.bears_odd_graphs("afgrl", encoder=encoder, neighbours=99)


def test_unseen_graphs() -> None:
    checks.embeds_unseen_graphs("afgrl", **QUICK)


def test_recipes() -> None:
    checks.recipes_build("afgrl", {"computers", "photo", "cs", "physics"})


def fresh(**settings: Any) -> Method:
    torch.manual_seed(0)
    return METHODS["afgrl"](8, checks.config("afgrl", **{**QUICK, **settings}))


@pytest.mark.parametrize("schedule", ["released", "cosine"])
def test_the_target_is_a_copy_that_follows(schedule: str) -> None:
    """At step 2 of 6 each of the five tensors has its own momentum, 10 to 14 ticks in, or one for all, 2 ticks in."""
    method = fresh(momentum_schedule=schedule, target_momentum=0.6)
    online, target = (list(net.parameters()) for net in (method.encoder, method.target))  # type: ignore[union-attr]
    assert len(target) == 5
    assert not any(tensor.requires_grad for tensor in target)
    assert all(torch.equal(a, b) for a, b in zip(online, target, strict=True))
    with torch.no_grad():
        for tensor in online:
            tensor += 1
    before = [tensor.clone() for tensor in target]
    method.after_step(2)
    for index, tensor in enumerate(target):
        moved = 1 - momentum(10 + index if schedule == "released" else 2, 6, 0.6)
        torch.testing.assert_close(tensor - before[index], torch.full_like(tensor, moved), rtol=1e-4, atol=1e-6)


def test_positives_come_from_the_search() -> None:
    """With one neighbour, a node is its own and only positive; with one cluster, every nearest node is a positive.

    The target is far from the online network, so that a node is not its own nearest by itself.
    """
    graph = checks.small_graph()

    def positives(**settings: Any) -> float:
        method = fresh(**settings)
        with torch.no_grad():
            for tensor in method.target.parameters():  # type: ignore[union-attr]
                tensor.normal_()
        return float(method.loss(method.prepare(graph), torch.Generator().manual_seed(0))["positives"])

    assert positives(neighbours=1, clusters=60) == 1
    assert positives(neighbours=6, clusters=1) == 6
    assert 1 < positives(neighbours=6, clusters=60) < 6
