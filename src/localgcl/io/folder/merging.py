"""Sorted edges -> simple ones, batch by batch: repeats merged, both directions summed."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# As in graph/merging.py: weights of two directions that differ by less are one number, computed twice.
_ROUNDING = 1e-5

Array = NDArray[Any]


class EdgeRun(NamedTuple):
    """Consecutive edges of a sorted list."""

    source: Array
    target: Array
    direction: Array | None = None
    """Where edges have weights: 0 as the user has the edge, 1 reversed."""
    weights: Array | None = None

    def part(self, where: slice) -> "EdgeRun":
        direction = None if self.direction is None else self.direction[where]
        return EdgeRun(self.source[where], self.target[where], direction, None if self.weights is None else self.weights[where])

    def followed_by(self, other: "EdgeRun") -> "EdgeRun":
        columns: list[Any] = [None if a is None else np.concatenate([a, b]) for a, b in zip(self, other, strict=True)]
        return EdgeRun(*columns)


class Merging:
    """Merges edges that come sorted by source, target, direction and weight.

    Args:
        weighted: Whether there are weights. The weight of an edge is then $w_{ij} + w_{ji}$, in double precision.
    """

    def __init__(self, *, weighted: bool) -> None:
        self.undirected = weighted
        """Whether all edges so far had one weight, up to rounding, in both directions: their sum counts it twice."""

    def merged(self, runs: Iterable[EdgeRun]) -> Iterator[EdgeRun]:
        """The edges without repeats; no run is empty."""
        held: EdgeRun | None = None
        for run in runs:
            whole = run if held is None else held.followed_by(run)
            starts = np.flatnonzero(_is_first(whole))
            if len(starts) > 1:  # the last edge may go on in the next run
                yield self._merge(whole.part(slice(starts[-1])), starts[:-1])
            held = whole.part(slice(starts[-1], None)) if len(starts) else None
        if held is not None:
            yield self._merge(held, np.zeros(1, dtype=np.int64))

    def _merge(self, run: EdgeRun, starts: Array) -> EdgeRun:
        source, target = run.source[starts], run.target[starts]
        if run.weights is None or run.direction is None:
            return EdgeRun(source, target)
        weights, turned = run.weights.astype(np.float64), run.direction == 1
        # Repeats of one direction are summed to single precision first, as a Graph stores them.
        with np.errstate(over="ignore"):
            there, back = (
                np.add.reduceat(np.where(turned == way, weights, 0.0), starts).astype(np.float32) for way in (False, True)
            )
            least = _ROUNDING * np.minimum(there, back)
            self.undirected = self.undirected and bool((np.abs(there.astype(np.float64) - back) <= least).all())
        return EdgeRun(source, target, weights=there.astype(np.float64) + back)


def _is_first(run: EdgeRun) -> NDArray[np.bool_]:
    """Which entries differ in an end from the one before."""
    first = np.ones(len(run.source), dtype=np.bool_)
    first[1:] = (run.source[1:] != run.source[:-1]) | (run.target[1:] != run.target[:-1])
    return first
