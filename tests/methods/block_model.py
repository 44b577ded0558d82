"""The one problem every method has to solve: an attributed block model on which edges and features both carry signal.

300 nodes in 5 classes, mean degree 10 with 80% of the edges within a class, 64 Gaussian features whose linear probe alone
gives 45% from 30 labels. A method passes when its embeddings, over three seeds, are at least 5 points above the raw features
and leave at most 60% of the mistakes that its own encoder makes as it was initialised; the same run with the positives (or
views) shuffled across nodes must fall below that bar, or the bar would prove nothing.

A graph this small is a better judge than a larger one, not only a quicker one: on 1000 nodes GRACE's untrained encoder
already has 96%. Each method's file says how far it is from the bar on either side.
"""

import contextlib
import importlib
import statistics
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
import torch

import localgcl as lg
from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.methods import configure
from localgcl.training import fit
from tests.unchecked import unchecked

SEEDS = (0, 1, 2)
ABOVE_RAW = 5
MISTAKES_LEFT = 0.6
# A lighter probe than the default, the same for every row of the comparison.
PROBE: dict[str, Any] = {"learning_rates": (1e-2,), "weight_decays": (1e-3, 1e-2, 3e-2), "steps": 300}


@cache
def graph() -> Graph:
    return sbm(300, classes=5, mean_degree=10, homophily=0.8, features=64, separation=2.0, splits=5)


def score(z: Any) -> float:
    return float(lg.evaluate(z, graph(), **PROBE).mean)


@cache
def raw() -> float:
    return score(graph().x.numpy())


def embed(method: str, seed: int, **settings: Any) -> Any:
    # Few dimensions, so that the encoder as initialised leaves room to learn.
    config = configure(method, {"dim": 16, **settings, "seed": seed, "device": "cpu"})
    return fit(graph(), config).embed(graph()).numpy()


def accuracy(method: str, **settings: Any) -> float:
    """Mean accuracy over the seeds, in per cent."""
    first = score(embed(method, SEEDS[0], **settings))
    with unchecked():
        return statistics.mean([first, *(score(embed(method, seed, **settings)) for seed in SEEDS[1:])])


@cache
def _untrained(method: str, settings: tuple[tuple[str, Any], ...]) -> float:
    return accuracy(method, **dict(settings))


def bar(method: str, **settings: Any) -> float:
    """What the method has to reach; no step is taken for it, so a loss that is spoilt at the time does not change it."""
    untrained = _untrained(method, tuple(sorted({**settings, "steps": 0}.items())))
    return max(raw() + ABOVE_RAW, 100 - MISTAKES_LEFT * (100 - untrained))


@contextlib.contextmanager
def shuffled(monkeypatch: pytest.MonkeyPatch, loss: str, position: int) -> Iterator[None]:
    """While active, argument number `position` of the function at the dotted path `loss` has its rows permuted over nodes."""
    module = importlib.import_module(loss.rpartition(".")[0])
    function: Callable[..., Any] = getattr(module, loss.rpartition(".")[2])

    def wrong(*args: Any, **kwargs: Any) -> Any:
        changed = list(args)
        rows = changed[position].shape[0]
        changed[position] = changed[position][torch.randperm(rows, generator=torch.Generator().manual_seed(1))]
        return function(*changed, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(loss, wrong)
        yield
