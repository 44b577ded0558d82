"""metrics.csv of a run -> lines of a chart."""

import numpy as np

from localgcl.report.findings import Series
from localgcl.training import RunFolder

_NOT_TERMS = ("step", "seconds", "clamped", "spread", "rank")
"""Columns that are no terms of the loss: clocks and signs of health."""
_POINTS = 1000
"""Points of a line, at most; more are not seen on a screen."""


def read_losses(run: RunFolder) -> tuple[tuple[Series, ...], str]:
    """The loss and its terms over steps, and why there are none, where there are none."""
    rows = run.read_metrics()
    if not rows:
        return (), "The run has no metrics.csv, or trained no step."
    every = -(-len(rows) // _POINTS)
    kept = rows[::every] if (len(rows) - 1) % every == 0 else [*rows[::every], rows[-1]]
    # The loss first, whatever the order of the columns.
    names = dict.fromkeys(["loss", *(name for row in rows for name in row if name not in _NOT_TERMS)])
    lines = []
    for name in names:
        points = [(row["step"], row[name]) for row in kept if name in row]
        x, y = np.array(points, dtype=np.float32).reshape(-1, 2).T
        lines.append(Series(name, np.ascontiguousarray(x), np.ascontiguousarray(y)))
    return tuple(lines), ""
