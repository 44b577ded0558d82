"""A small graph of images that comes with scikit-learn: nothing to download."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph

from localgcl.graph import Graph

NEIGHBOURS = 7
"""The smallest number of nearest neighbours that makes one connected graph of the digits: a choice made without labels."""


def digits() -> Graph:
    """The 1,797 handwritten digits of scikit-learn, each linked with its nearest neighbours; no splits attached.

    Features are the 64 pixels, from 0 to 1. The graph is built from those same features (an edge where one of two images
    is among the 7 nearest of the other), so it tells nothing that they do not: a test bed, not a benchmark of what edges add.

    Example:
        >>> digits()
        Graph('digits': 1,797 nodes, 17,456 directed edges, 64 dense features, 10 classes, 0 splits)
    """
    images = load_digits()
    x = (images.data / 16).astype(np.float32)
    # Pixels are sixteenths, so equal distances occur; the exact integer pixels make ties the same on every machine.
    source, target = kneighbors_graph(images.data, NEIGHBOURS).nonzero()
    return Graph.from_edges(source, target, x=x, y=images.target, name="digits").symmetrized()
