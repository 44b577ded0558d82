"""A row that is not a number is never hidden: it makes every loss NaN, and the losses that users call name it."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from torch import Tensor

from localgcl import losses
from localgcl.datasets import sbm
from localgcl.losses.finite import can_read, non_finite_rows
from tests.losses.problems import seeded
from tests.unchecked import unchecked

N, D = 24, 8
GRAPH = sbm(N, classes=2, features=4, mean_degree=4, seed=0)
OTHERS = losses.random_others(N, 3, seeded(0))


def drawn(seed: int = 0) -> Tensor:
    return torch.randn(N, D, generator=seeded(seed))


def score(h: Tensor, s: Tensor) -> Tensor:
    return h @ s


def summed(terms: tuple[Tensor, ...]) -> Tensor:
    return torch.stack([term.float() for term in terms[:2]]).sum()


def local(z: Tensor, **options: Any) -> Tensor:
    return summed(losses.local_terms(z, GRAPH, num_features=64, generator=seeded(0), **options))


def two_view(z: Tensor, **options: Any) -> Tensor:
    return summed(losses.two_view_terms(z, drawn(1), temperature=1.0, num_features=64, generator=seeded(0), **options))


POSITIVES, NEGATIVES = ("mean", "max", "weighted"), ("exact", "sorf", "orf", "rff", "positive")
LOSSES: dict[str, Callable[[Tensor], Tensor]] = {
    **{f"local, {p}, {n}": partial(local, positives=p, negatives=n) for p in POSITIVES for n in NEGATIVES},
    **{f"two views, {n}": partial(two_view, negatives=n) for n in (*NEGATIVES, 6)},
    "dgi": lambda z: losses.dgi_loss(z, drawn(1), score),
    "dgi corrupted": lambda z: losses.dgi_loss(drawn(1), z, score),
    "mvgrl": lambda z: losses.mvgrl_loss(z, drawn(1), drawn(2), drawn(3), score),
    "gmi": lambda z: losses.jensen_shannon(z, drawn(1), torch.zeros(()), OTHERS),
    "gmi edges": lambda z: losses.edge_reconstruction(z, GRAPH.closed_neighbourhoods),
    "bgrl": lambda z: losses.view_prediction(z, drawn(1)),
    "bgrl target": lambda z: losses.view_prediction(drawn(1), z),
    "bgrl local": lambda z: losses.neighbour_prediction(z, drawn(1), GRAPH),
    "afgrl": lambda z: losses.pair_prediction(z, drawn(1), torch.arange(N), torch.arange(N).flip(0)),
    "cca-ssg": lambda z: summed(losses.view_correlation(z, drawn(1))),
    "cca-ssg local": lambda z: summed(losses.neighbour_correlation(z, GRAPH)),
    "sugrl": lambda z: summed(losses.margin_terms(z, drawn(1), drawn(2), OTHERS.T, margin=0.8, slack=0.1)),
    "af-gcl": lambda z: summed(losses.spectral_terms(z, OTHERS, OTHERS)),
    "hard negatives": lambda z: losses.hard_log_sums(z, GRAPH, temperature=0.5, generator=seeded(0)).sum(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_nan_stays_in_the_loss(name: str) -> None:
    """Training looks at the loss alone, so a clamp or a maximum must not turn NaN into a number."""
    z = drawn()
    assert math.isfinite(LOSSES[name](z))
    z[3, 1] = math.nan
    assert not math.isfinite(LOSSES[name](z))  # the log-sums of hard negatives alone become -inf


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e30])
def test_losses_that_users_call_name_the_rows(value: float) -> None:
    """1e30 is a number, but its square is none in float32: one over an infinite norm would make the row zero."""
    z = drawn()
    z[3, 1], z[7] = value, value
    for negatives in ("exact", "sorf"):
        with pytest.raises(ValueError, match=r"2 of 24 rows of z \(3, 7\) are NaN, infinite or too large to square"):
            losses.local_contrastive(z, GRAPH, negatives=negatives, temperature=1.0)
    with pytest.raises(ValueError, match=r"2 of 24 rows of v \(3, 7\) are NaN"):
        losses.two_view_infonce(drawn(), z, temperature=0.5)


def test_large_numbers_are_fine_where_their_squares_are() -> None:
    z = drawn()
    small, large = (losses.local_contrastive(z * size, GRAPH, negatives="exact") for size in (1.0, 2.0**60))
    assert float(small) == pytest.approx(float(large), rel=1e-6)  # float32
    double = losses.local_contrastive(z.double() * 2.0**200, GRAPH, negatives="exact")
    assert float(small) == pytest.approx(float(double), rel=1e-6)


def test_rows_are_counted() -> None:
    assert non_finite_rows(torch.full((2, 3), 3e38)) == 0  # the sum overflows float32
    assert non_finite_rows(torch.full((2, 3), 1e308, dtype=torch.float64)) == 0  # and float64
    z = torch.ones(4, 2)
    z[0, 0], z[0, 1], z[2, 0] = math.inf, -math.inf, math.nan
    assert non_finite_rows(z) == 2


def test_of_many_rows_the_first_are_named() -> None:
    z = drawn()
    z[:, 0] = math.nan
    with pytest.raises(ValueError, match=r"24 of 24 rows of z \(0, 1, 2, 3, 4, \.\.\.\) are NaN"):
        losses.local_contrastive(z, GRAPH)


def test_a_loss_is_read_but_while_a_cuda_graph_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU, too: a loop of one's own has nobody else to notice NaN."""
    here, there = torch.zeros(()), Mock(device=torch.device("cuda"))
    for recording in (False, True):
        monkeypatch.setattr("torch.cuda.is_current_stream_capturing", Mock(return_value=recording))
        with unchecked():
            assert can_read(there) is not recording
        assert can_read(here)
