"""What marks a cluster out: the columns whose means within it differ most from those elsewhere."""

import datetime
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float64, Int32

Matrix = np.ndarray | sp.csr_array
Kind = Literal["number", "date"]
"""Dates are days since 1970."""

LEAST = 0.2
"""Effects below this are small by custom (Cohen), and are left out."""
MOST = 5
"""Marks of a cluster."""
_ROWS = 8192


class Contrast(NamedTuple):
    r"""Each column within each cluster and elsewhere.

    The effect is the difference of means over the pooled deviation, $(\bar x_c - \bar x_{\bar c}) / s$ (Cohen's d).
    """

    effect: Float64[np.ndarray, "c f"]
    here: Float64[np.ndarray, "c f"]
    elsewhere: Float64[np.ndarray, "c f"]
    shares: Bool[np.ndarray, " f"]
    """Columns of zeros and ones, whose means are shares."""


def contrast(x: Matrix, member: Int32[np.ndarray, " n"], count: int) -> Contrast:
    """Means and effects of all columns in all of `count` clusters. O(n f), sparse columns in O(stored values)."""
    # Means are taken from the columns' own: squares of large numbers that differ little would cancel.
    centre = np.zeros(x.shape[1]) if sp.issparse(x) else np.asarray(x.mean(axis=0, dtype=np.float64))
    sums, squares, shares = np.zeros((count, x.shape[1])), np.zeros((count, x.shape[1])), np.ones(x.shape[1], dtype=bool)
    for start in range(0, x.shape[0], _ROWS):
        rows, own = x[start : start + _ROWS], member[start : start + _ROWS]
        pick: Any = sp.csr_array((np.ones(len(own)), (own, np.arange(len(own)))), shape=(count, len(own)))
        moved = rows.astype(np.float64) - (0 if sp.issparse(rows) else centre)
        sums += _dense(pick @ moved)
        squares += _dense(pick @ (moved * moved if isinstance(moved, np.ndarray) else moved.power(2)))
        wrong: Any = (rows != 0) & (rows != 1) if isinstance(rows, np.ndarray) else rows.power(2) != rows
        shares &= np.asarray(wrong.sum(axis=0)).ravel() == 0
    sizes = np.bincount(member, minlength=count)[:, None].astype(np.float64)
    others = sizes.sum() - sizes
    with np.errstate(divide="ignore", invalid="ignore"):
        here, elsewhere = sums / sizes, (sums.sum(axis=0) - sums) / others
        spread = squares - sizes * here**2 + (squares.sum(axis=0) - squares) - others * elsewhere**2
        effect = (here - elsewhere) / np.sqrt(np.maximum(spread, 0) / np.maximum(sizes.sum() - 2, 1))
        effect = np.where(here == elsewhere, 0.0, effect)  # a constant column has no deviation
    # An empty cluster, and all nodes in one, have nothing to be compared with.
    return Contrast(np.where((sizes > 0) & (others > 0), effect, 0.0), here + centre, elsewhere + centre, shares)


def joined(parts: Sequence[Contrast]) -> Contrast:
    """The columns of several tables side by side."""
    return Contrast(*(np.concatenate([part[field] for part in parts], axis=-1) for field in range(4)))


def marks_of(found: Contrast, cluster: int, names: Sequence[str], kinds: Sequence[Kind]) -> tuple[str, ...]:
    """The strongest marks of a cluster, for people."""
    strength = np.abs(found.effect[cluster])
    order = np.argsort(-strength, kind="stable")[:MOST]
    return tuple(
        f"{names[place]}: {_compared(found, cluster, int(place), kinds[place])}" for place in order if strength[place] >= LEAST
    )


def _compared(found: Contrast, cluster: int, place: int, kind: Kind) -> str:
    here, elsewhere = float(found.here[cluster, place]), float(found.elsewhere[cluster, place])
    if found.shares[place]:
        return f"{_percent(here)} here, {_percent(elsewhere)} elsewhere"
    written = _date if kind == "date" else _number
    return f"mean {written(here)} here, {written(elsewhere)} elsewhere"


def _percent(share: float) -> str:
    """Shares below 1% with one more digit, so that few are not written as none."""
    share = abs(round(share, 9))  # means of centred columns are off by rounding
    return f"{share:.1%}" if 0 < share < 0.01 or 0.99 < share < 1 else f"{share:.0%}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _date(days: float) -> str:
    try:
        return (datetime.date(1970, 1, 1) + datetime.timedelta(days=round(days))).isoformat()
    except OverflowError:  # beyond the year 9999
        return f"day {_number(days)}"


def _dense(x: Matrix) -> Float64[np.ndarray, "c f"]:
    return x.toarray() if sp.issparse(x) else np.asarray(x)
