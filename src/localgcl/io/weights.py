"""Edge weights are not used, and a warning says so."""

import warnings
from typing import Any

from localgcl.config import LocalGCLWarning
from localgcl.io.arrays import to_array


def warn_of_weights(weights: Any, place: str = "") -> None:
    """Warns if edge weights (numbers, text, or None for none) are not all 1. `place` is where they come from."""
    if weights is None:
        return
    values = to_array(weights)
    if values.dtype.kind in "biuf":
        differ = bool((values != 1).any())
    else:  # cells of a CSV file are text
        differ = not set(values.astype(str).ravel().tolist()) <= {"1", "1.0"}
    if differ:
        what = f"{place}: edge weights" if place else "edge weights or features"
        # The fifth frame is the caller of as_graph or read_graph.
        warnings.warn(f"{what} are ignored; all edges count alike", LocalGCLWarning, stacklevel=5)
