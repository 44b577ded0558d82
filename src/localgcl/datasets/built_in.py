"""Graphs that need no download: handwritten digits, and the stochastic block model of any size."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from localgcl.datasets.splits import random_splits
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


def sbm(
    n: int,
    *,
    classes: int = 5,
    mean_degree: float = 10.0,
    homophily: float = 0.8,
    features: int = 64,
    separation: float = 2.0,
    seed: int = 0,
    splits: int = 5,
) -> Graph:
    r"""A graph of the stochastic block model with Gaussian features: classes of equal size, edges within and between them.

    The number of edges within classes is binomial with probability `homophily`; given it, every set of distinct pairs is
    equally likely. Features are $x_i = s\,\mu_{y_i} + \epsilon_i$ with $\mu_c$ a random unit vector and
    $\epsilon_i \sim N(0, I)$. The same arguments give the same graph. O(|E| log |E| + n f).

    Args:
        n: Number of nodes; node i is of class i mod `classes`.
        classes: Number of classes.
        mean_degree: Mean number of neighbours of a node.
        homophily: Expected share of edges within a class.
        features: Number of feature columns.
        separation: Length s of the class means, in standard deviations of the noise. At the default, a linear probe on the
            features alone reaches 59% accuracy (n = 1000, 5 classes, 64 columns, 10% training labels), so edges can add to it.
        seed: Seed of the edges, the features and the splits.
        splits: Number of `random_splits` to attach.

    Example:
        >>> sbm(100, classes=4, features=8)
        Graph('sbm': 100 nodes, 1,000 directed edges, 8 dense features, 4 classes, 5 splits)
    """
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % max(classes, 1)
    num_edges = round(n * mean_degree / 2)
    _check(n, classes, num_edges, homophily)

    share = torch.tensor(homophily, dtype=torch.float64)
    num_within = int(torch.binomial(torch.tensor(float(num_edges), dtype=torch.float64), share, generator=generator))
    within = _distinct_pairs(n, classes, num_within, True, generator)
    between = _distinct_pairs(n, classes, num_edges - num_within, False, generator)
    low, high = (torch.cat([a, b]) for a, b in zip(within, between, strict=True))

    means = torch.nn.functional.normalize(torch.randn(classes, features, generator=generator), dim=1)
    x = torch.randn(n, features, generator=generator).add_(means[y], alpha=separation)
    graph = Graph.from_edges(torch.cat([low, high]), torch.cat([high, low]), x=x, y=y, name="sbm")
    return graph.derived(splits=tuple(random_splits(graph, splits, seed=seed))) if splits else graph


def _distinct_pairs(
    n: int, classes: int, count: int, same_class: bool, generator: torch.Generator
) -> tuple[Int[Tensor, " m"], Int[Tensor, " m"]]:
    """`count` distinct pairs of different nodes, both of one class or of two classes; repeated pairs are drawn again."""
    keys = torch.zeros(0, dtype=torch.int64)
    while keys.numel() < count:
        # Draw 5% more than needed, so that two or three rounds are enough; `count` is at most half of all pairs (_check).
        wanted = (count - keys.numel()) * 21 // 20 + 1
        first = torch.randint(n, (wanted,), generator=generator)
        shift = 0 if same_class else torch.randint(1, classes, (wanted,), generator=generator)
        # Class c has the members c, c + classes, c + 2 classes...; the second node is uniform among them.
        label = (first + shift) % classes
        size = (n - 1 - label) // classes + 1
        second = label + classes * (torch.rand(wanted, generator=generator, dtype=torch.float64) * size).long()
        low, high = torch.minimum(first, second), torch.maximum(first, second)
        keys = torch.cat([keys, (low * n + high)[low != high]]).unique()
    keys = keys[torch.randperm(keys.numel(), generator=generator)[:count]]
    return keys // n, keys % n


def _check(n: int, classes: int, num_edges: int, homophily: float) -> None:
    if not 1 <= classes <= n // 2:
        raise ValueError(f"{classes} classes for {n} nodes; choose from 1 to {n // 2}, two nodes a class at least")
    if num_edges < 0:
        raise ValueError("mean_degree is negative; it must be at least 0, for example 10.0")
    if not 0 <= homophily <= 1 or (classes == 1 and homophily < 1):
        raise ValueError(f"homophily is {homophily}; it must be from 0 to 1, and 1 where there is one class")
    for share, pairs, kind in (
        (homophily, n * (n / classes - 1) / 2, "within"),
        (1 - homophily, n * (n - n / classes) / 2, "between"),
    ):
        if num_edges * share > pairs / 2:
            raise ValueError(
                f"{num_edges * share:.0f} edges {kind} classes are more than half of the {pairs:.0f} pairs; "
                "lower mean_degree, or add nodes"
            )
