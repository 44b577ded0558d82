"""A small graph of images that comes with scikit-learn: nothing to download."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from localgcl.datasets.readers import Reader
from localgcl.graph import Graph

NEIGHBOURS = 7
"""The smallest number of nearest neighbours that connects the whole graph of digits; labels play no part in the choice."""


def digits() -> Graph:
    """The 1,797 handwritten digits of scikit-learn, each linked with its nearest neighbours; without splits.

    Features are the 64 pixels, from 0 to 1. Two images are linked if one is among the 7 nearest of the other. The edges come
    from the features and add no information to them: a graph to try things on, not a benchmark of what edges add.

    Example:
        >>> digits()
        Graph('digits': 1,797 nodes, 17,454 directed edges, 64 dense features, 10 classes, 0 splits)
    """
    from sklearn.datasets import load_digits  # a second of every start otherwise

    images = load_digits()
    x = (images.data / 16).astype(np.float32)
    target = _nearest(images.data, NEIGHBOURS)
    source = np.repeat(np.arange(len(x)), NEIGHBOURS)
    return Graph.from_edges(source, target.ravel(), x=x, y=images.target, name="digits").symmetrized()


def _nearest(points: NDArray[Any], k: int) -> NDArray[Any]:
    """The k nearest other points of each point; ties go to the point with the smaller number.

    Pixels are whole numbers, so equal distances occur, and library searches break such ties differently with different
    numbers of threads. Squared distances are whole numbers too, exact in float64, so the order here is always the same.
    """
    squares = (points**2).sum(axis=1)
    distance = squares[:, None] + squares - 2 * points @ points.T
    np.fill_diagonal(distance, np.inf)
    return np.argsort(distance, axis=1, kind="stable")[:, :k]


GRAPHS = {"digits": Reader((), lambda _: digits())}
