"""Splits for graphs that come without any: stratified ones, and the rule that chooses between random and stratified."""

from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from localgcl.datasets.splits import known_labels, random_splits, sorted_split
from localgcl.graph import Graph, Split

FEW = 1000
"""Below this many labelled nodes, splits are stratified, and half of the nodes are for training."""
VALIDATION = 0.1
_MANY_SHARE, _FEW_SHARE = 0.1, 0.5
_LEAST = 3  # a node each to train, validate and test on


class Drawn(NamedTuple):
    """Splits that were drawn, and how, in words."""

    splits: list[Split]
    told: str


def stratified_splits(graph: Graph, num: int = 20, train: float = 0.5, val: float = 0.1, seed: int = 0) -> list[Split]:
    """Random splits of the labelled nodes that divide every class by the same shares: repeated stratified shares.

    Each class has at least one node in each part. Split k is drawn with seed `seed + k` alone and named after that seed.

    Args:
        graph: A graph with labels; nodes of class -1 are left out.
        num: Number of splits.
        train: Share of each class to train on.
        val: Share to validate on; the others are for testing.
        seed: Seed of the first split.

    Raises:
        ValueError: A class has fewer than three nodes.

    Example:
        >>> y = torch.tensor([0] * 10 + [1] * 20 + [-1] * 70)
        >>> graph = Graph.from_edges([], [], x=torch.zeros(100, 1), y=y)
        >>> (split,) = stratified_splits(graph, num=1)
        >>> [y[nodes].bincount().tolist() for nodes in (split.train, split.val, split.test)]
        [[5, 10], [1, 2], [4, 8]]
    """
    if not (train > 0 and val > 0 and train + val < 1):
        raise ValueError(
            f"train is {train} and val {val}; both are shares above 0 whose sum is below 1, for example 0.5 and 0.1"
        )
    y = known_labels(graph)
    classes, sizes = y[y >= 0].unique(return_counts=True)
    _check_sizes(graph, classes, sizes)
    return [_stratified(y, classes, train, val, drawn) for drawn in range(seed, seed + num)]


def drawn_splits(graph: Graph, num: int, seed: int, train: float | None = None) -> Drawn:
    """Splits for a graph without any, or for a share of training nodes that the user asks for.

    A tenth of the labelled nodes is for validation. With `train`, or with fewer than 1,000 labelled nodes, splits are
    stratified: a random split of few nodes may have no training node of some class. Otherwise they are the paper's, random ones
    of 10/10/80 percent.

    Args:
        graph: A graph with labels.
        num: Number of splits.
        seed: Seed of the first one.
        train: Share of each class to train on; by default 0.1, or 0.5 of fewer than 1,000 nodes.
    """
    labelled = int((known_labels(graph) >= 0).sum())
    share = default_share(labelled) if train is None else train
    of = f"of {labelled:,} labelled nodes"
    if train is None and labelled >= FEW:
        return Drawn(
            random_splits(graph, num=num, train=share, val=VALIDATION, seed=seed), f"random, {in_percent(share)}% {of}"
        )
    told = f"stratified, {in_percent(share)}% of each class, {of}"
    return Drawn(stratified_splits(graph, num=num, train=share, val=VALIDATION, seed=seed), told)


def default_share(labelled: int) -> float:
    """The share of so many labelled nodes to train on, where nobody asks for another."""
    return _MANY_SHARE if labelled >= FEW else _FEW_SHARE


def in_percent(train: float) -> str:
    """Percentages of the nodes to train, validate and test on.

    Example:
        >>> in_percent(0.5)
        '50/10/40'
    """
    return "/".join(f"{100 * share:g}" for share in (train, VALIDATION, 1 - VALIDATION - train))


def _check_sizes(graph: Graph, classes: Int[Tensor, " c"], sizes: Int[Tensor, " c"]) -> None:
    """ValueError that names the classes with too few nodes."""
    rare = [(int(label), int(size)) for label, size in zip(classes, sizes, strict=True) if size < _LEAST]
    if not rare:
        return
    names = graph.class_names
    told = [f"{label if names is None else repr(names[label])[:80]} ({size})" for label, size in rare[:6]]
    raise ValueError(
        f"classes have fewer than {_LEAST} labelled nodes, one each to train, validate and test on: {', '.join(told)}"
        f"{'...' * (len(rare) > 6)}; label more of them, merge them with other classes, or leave their labels empty"
        f"{'' if names is not None else ' (numbers to predict: task regression, --task regression)'}"
    )


def _stratified(y: Int[Tensor, " n"], classes: Int[Tensor, " c"], train: float, val: float, drawn: int) -> Split:
    shuffled = torch.randperm(y.numel(), generator=torch.Generator().manual_seed(drawn))
    parts: tuple[list[Tensor], ...] = ([], [], [])
    for label in classes.tolist():
        nodes = shuffled[y[shuffled] == label]
        validated = max(1, round(val * len(nodes)))
        learnt = min(max(1, round(train * len(nodes))), len(nodes) - validated - 1)
        for part, some in zip(parts, nodes.tensor_split([learnt, learnt + validated]), strict=True):
            part.append(some)
    learning, validating, testing = (torch.cat(part) for part in parts)
    return sorted_split(torch.cat([learning, validating, testing]), len(learning), len(validating), f"stratified-{drawn}")
