"""Fits in several threads: each gets its own weights, and torch's global state is as it was."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

from localgcl.datasets import sbm
from localgcl.methods import configure
from localgcl.system.threads import reproducible
from localgcl.training import Model, fit

GRAPH = sbm(60, classes=2, features=8, seed=0)


def train(seed: int) -> Model:
    settings: dict[str, Any] = {"dim": 8, "steps": 3, "negatives": "exact", "deterministic": True, "device": "cpu"}
    return fit(GRAPH, configure("local-gcl", {**settings, "seed": seed}))


def test_threads_do_not_get_each_others_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every fit waits between seeding and drawing, until another one had the chance to draw.
    seed, waiting = torch.manual_seed, threading.Event()

    def slowly(number: int) -> Any:
        seeded = seed(number)
        waiting.wait(0.05)
        return seeded

    alone = [train(number).embed(GRAPH) for number in range(6)]
    monkeypatch.setattr(torch, "manual_seed", slowly)
    with ThreadPoolExecutor(6) as pool:
        together = [model.embed(GRAPH) for model in pool.map(train, range(6))]
    for one, other in zip(alone, together, strict=True):
        assert torch.equal(one, other)


def test_the_global_generator_and_settings_are_restored() -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state(), torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(train, range(8)))
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert (torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()) == before[1:]


def test_settings_stay_until_the_last_of_two_runs_ends() -> None:
    assert not torch.are_deterministic_algorithms_enabled()
    first, second = reproducible(0, True, False), reproducible(0, True, False)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert torch.are_deterministic_algorithms_enabled()
    second.__exit__(None, None, None)
    assert not torch.are_deterministic_algorithms_enabled()
