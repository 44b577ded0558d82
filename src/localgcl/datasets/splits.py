"""Train/validation/test splits for graphs that come without any: random, stratified, few labels; and the rule that chooses."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from localgcl.graph import Graph, Split
from localgcl.graph.checks import check_splits

FEW = 1000
"""Below this many labelled nodes, splits are stratified, and half of the nodes are for training."""
VALIDATION = 0.1
_MANY_SHARE, _FEW_SHARE = 0.1, 0.5
_LEAST = 3  # a node each to train, validate and test on
OWN = "those of the graph"
"""How a graph's own splits are described."""


class Drawn(NamedTuple):
    """Splits, and how they were made, in words; no words for splits that the caller gave."""

    splits: Sequence[Split]
    how: str


def choose_splits(
    graph: Graph,
    given: Sequence[Split] | None = None,
    *,
    num: int = 20,
    seed: int = 0,
    train_share: float | None = None,
    classes: bool = True,
) -> Drawn:
    """The splits to score on: those that are given, else the graph's own, else `drawn_splits`.

    Args:
        graph: A graph with labels.
        given: The caller's splits.
        num: Splits to draw.
        seed: Seed of the first one that is drawn.
        train_share: Draw splits with this share of training nodes, whatever splits the graph has.
        classes: Whether labels are classes. If not, they only say which nodes have targets (not -1), and splits are random.

    Raises:
        ValueError: `train_share` is given, and splits are given, too.
    """
    if given is not None:
        if train_share is not None:
            raise ValueError(f"train_share is {train_share}, and splits are given too; give one of them")
        return Drawn(given, "")
    if graph.splits and train_share is None:
        return Drawn(graph.splits, OWN)
    return drawn_splits(graph, num, seed, train_share, classes=classes)


def random_splits(graph: Graph, num: int = 20, train: float = 0.1, val: float = 0.1, seed: int = 0) -> list[Split]:
    """Uniformly random splits of the labelled nodes; 10%, 10% and 80% by default, as in the paper.

    Split k is drawn with seed `seed + k` and named after that seed, so it does not depend on `num`.

    Args:
        graph: A graph with labels; nodes of class -1 are left out.
        num: Number of splits.
        train: Share of the labelled nodes to train on.
        val: Share to validate on; all other labelled nodes are for testing.
        seed: Seed of the first split.

    Example:
        >>> from localgcl.datasets import digits
        >>> [split.name for split in random_splits(digits(), num=2, seed=5)]
        ['random-5', 'random-6']
    """
    if not (train > 0 and val >= 0 and train + val < 1):
        raise ValueError(f"train is {train} and val {val}; both are shares whose sum is below 1, for example 0.1 and 0.1")
    labelled = (known_labels(graph) >= 0).nonzero().flatten()
    num_train, num_val = round(train * labelled.numel()), round(val * labelled.numel())
    if num_train < 1 or num_train + num_val >= labelled.numel():
        raise ValueError(
            f"{labelled.numel()} labelled nodes are too few for shares {train} and {val}: {num_train} to train on, "
            f"{num_val} to validate on; label more nodes or choose other shares"
        )
    return [
        _sorted_split(labelled[_shuffled(labelled.numel(), drawn)], num_train, num_val, f"random-{drawn}")
        for drawn in range(seed, seed + num)
    ]


def stratified_splits(graph: Graph, num: int = 20, train: float = 0.5, val: float = 0.1, seed: int = 0) -> list[Split]:
    """Random splits that divide the labelled nodes of every class by the same shares.

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

    def sizes_of(count: int) -> tuple[int, int]:
        validated = max(1, round(val * count))
        return min(max(1, round(train * count)), count - validated - 1), validated

    return [_split_by_class(y, sizes_of, drawn, f"stratified-{drawn}") for drawn in range(seed, seed + num)]


def drawn_splits(graph: Graph, num: int, seed: int, train: float | None = None, *, classes: bool = True) -> Drawn:
    """Splits for a graph without any, or for a share of training nodes that the user asks for.

    A tenth of the labelled nodes is for validation. With `train`, or with fewer than 1,000 labelled nodes, splits are
    stratified: a random split of few nodes may have no training node of some class. Otherwise they are the paper's, random ones
    of 10/10/80 percent. Without `train`, its share is 0.1, or 0.5 of fewer than 1,000 nodes; `classes` as for `choose_splits`.
    """
    labelled = int((known_labels(graph) >= 0).sum())
    share = default_share(labelled) if train is None else train
    of = f"of {labelled:,} labelled nodes"
    if classes and (train is not None or labelled < FEW):
        drawn = stratified_splits(graph, num=num, train=share, val=VALIDATION, seed=seed)
        return Drawn(drawn, f"stratified, {in_percent(share)}% of each class, {of}")
    drawn = random_splits(graph, num=num, train=share, val=VALIDATION, seed=seed)
    return Drawn(drawn, f"random, {in_percent(share)}% {of}")


def default_share(labelled: int) -> float:
    """Default share of the labelled nodes to train on, by their number."""
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
    named = [f"{label if names is None else repr(names[label])[:80]} ({size})" for label, size in rare[:6]]
    raise ValueError(
        f"classes have fewer than {_LEAST} labelled nodes, one each to train, validate and test on: {', '.join(named)}"
        f"{'...' * (len(rare) > 6)}; label more of them, merge them with other classes, or leave their labels empty"
        f"{'' if names is not None else ' (numbers to predict: task regression, --task regression)'}"
    )


def few_label_splits(graph: Graph, per_class: int = 3, num: int = 20, seed: int = 0) -> list[Split]:
    """Random splits with `per_class` training nodes per class, as many validation nodes, and all others for testing.

    Split k is drawn with seed `seed + k` alone, as in `random_splits`.
    """
    y = known_labels(graph)
    if per_class < 1:
        raise ValueError(f"per_class is {per_class}; it must be at least 1, for example 3")
    classes, sizes = y[y >= 0].unique(return_counts=True)
    smallest = int(sizes.min())
    if smallest < 2 * per_class + 1:
        rarest = int(classes[sizes.argmin()])
        named = rarest if graph.class_names is None else repr(graph.class_names[rarest])
        raise ValueError(
            f"class {named} has {smallest} nodes, but per_class={per_class} takes {2 * per_class} of "
            f"each class for training and validation and tests on the others; choose at most {(smallest - 1) // 2}"
        )
    return [
        _split_by_class(y, lambda _: (per_class, per_class), drawn, f"few-{per_class}-{drawn}")
        for drawn in range(seed, seed + num)
    ]


def redrawn_splits(graph: Graph, split: Split, num: int, seed: int = 0) -> list[Split]:
    """Random splits of the training and validation nodes of `split`, with as many training nodes per class as it has.

    For choosing settings on a graph with a single split: the more settings are compared on one validation set, the more
    the best of them is due to chance. Test nodes stay the same; their labels are not used.
    """
    y, nodes = known_labels(graph), torch.cat([split.train, split.val])
    splits = []
    for drawn in range(seed, seed + num):
        shuffled = nodes[_shuffled(nodes.numel(), drawn)]
        train = [shuffled[y[shuffled] == label][: int((y[split.train] == label).sum())] for label in y[split.train].unique()]
        chosen = torch.isin(shuffled, torch.cat(train))
        splits.append(
            Split(shuffled[chosen].sort()[0], shuffled[~chosen].sort()[0], split.test, f"{split.name}-redrawn-{drawn}")
        )
    return splits


def hide_test_labels(graph: Graph, splits: Sequence[Split]) -> Graph:
    """The graph with label -1 on all nodes that no split trains or validates on, so that a search cannot see test labels."""
    y = known_labels(graph)
    if not splits:
        raise ValueError("the list of splits is empty, so every label would be hidden; pass at least one")
    check_splits(tuple(splits), graph.num_nodes)
    seen = torch.zeros_like(y, dtype=torch.bool)
    for split in splits:
        for nodes in (split.train, split.val):
            seen[nodes.cpu()] = True
    return graph.derived(y=torch.where(seen, y, -1).to(graph.device))


def known_labels(graph: Graph) -> Int[Tensor, " n"]:
    """The labels of a graph, on the CPU; ValueError if it has none."""
    if graph.y is None or not bool((graph.y >= 0).any()):
        raise ValueError(f"graph {graph.name!r} has no labels, so there is nothing to split; pass labels when reading it")
    return graph.y.cpu()


def _shuffled(count: int, seed: int) -> Int[Tensor, " {count}"]:
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed))


def _split_by_class(y: Int[Tensor, " n"], sizes_of: Callable[[int], tuple[int, int]], seed: int, name: str) -> Split:
    """Draws nodes of each class: as many to train and to validate on as `sizes_of` its size, and the others to test on."""
    shuffled = _shuffled(y.numel(), seed)
    parts: tuple[list[Tensor], ...] = ([], [], [])
    for label in y[y >= 0].unique().tolist():
        nodes = shuffled[y[shuffled] == label]
        num_train, num_val = sizes_of(len(nodes))
        for part, some in zip(parts, nodes.tensor_split([num_train, num_train + num_val]), strict=True):
            part.append(some)
    train, val, test = (torch.cat(part) for part in parts)
    return _sorted_split(torch.cat([train, val, test]), len(train), len(val), name)


def _sorted_split(nodes: Int[Tensor, " n"], num_train: int, num_val: int, name: str) -> Split:
    """Splits distinct `nodes` into the first, the next and the remaining ones, each part sorted (by a mask, in O(n))."""
    parts = []
    for part in nodes.tensor_split([num_train, num_train + num_val]):
        mask = torch.zeros(int(nodes.max()) + 1, dtype=torch.bool)
        mask[part] = True
        parts.append(mask.nonzero().flatten())
    train, val, test = parts
    return Split(train, val, test, name)
