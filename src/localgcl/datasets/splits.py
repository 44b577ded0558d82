"""Train/validation/test splits for graphs that come without any."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from localgcl.graph import Graph, Split
from localgcl.graph.checks import check_splits


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
    return draw_splits(known_labels(graph), num, train, val, seed)


def draw_splits(y: Int[Tensor, " n"], num: int, train: float, val: float, seed: int) -> list[Split]:
    """`random_splits` of labels without a graph."""
    if not (train > 0 and val >= 0 and train + val < 1):
        raise ValueError(f"train is {train} and val {val}; both are shares whose sum is below 1, for example 0.1 and 0.1")
    labelled = (y >= 0).nonzero().flatten()
    num_train, num_val = round(train * labelled.numel()), round(val * labelled.numel())
    if num_train < 1 or num_train + num_val >= labelled.numel():
        raise ValueError(
            f"{labelled.numel()} labelled nodes are too few for shares {train} and {val}: {num_train} to train on, "
            f"{num_val} to validate on; label more nodes or choose other shares"
        )
    splits = []
    for drawn in range(seed, seed + num):
        nodes = labelled[torch.randperm(labelled.numel(), generator=torch.Generator().manual_seed(drawn))]
        splits.append(sorted_split(nodes, num_train, num_val, f"random-{drawn}"))
    return splits


def splits_of(graph: Graph, num: int, seed: int) -> Sequence[Split]:
    """The graph's own splits, else `num` random ones."""
    return graph.splits or random_splits(graph, num=num, seed=seed)


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
    splits = []
    for drawn in range(seed, seed + num):
        generator = torch.Generator().manual_seed(drawn)
        shuffled = torch.randperm(y.numel(), generator=generator)
        of_class = [shuffled[y[shuffled] == label] for label in classes.tolist()]
        train = torch.cat([nodes[:per_class] for nodes in of_class])
        val = torch.cat([nodes[per_class : 2 * per_class] for nodes in of_class])
        test = torch.cat([nodes[2 * per_class :] for nodes in of_class])
        splits.append(sorted_split(torch.cat([train, val, test]), train.numel(), val.numel(), f"few-{per_class}-{drawn}"))
    return splits


def citation_splits(
    graph: Graph, per_class: int = 20, val: int = 500, test: int = 1000, num: int = 20, seed: int = 0
) -> list[Split]:
    """Random splits of the sizes of the public splits of Cora, Citeseer and PubMed.

    Split k is drawn with seed `seed + k` alone: `per_class` training nodes of each class, then `val` and `test` of the others.
    """
    y = known_labels(graph)
    classes, sizes = y[y >= 0].unique(return_counts=True)
    needed, labelled = per_class * classes.numel() + val + test, int(sizes.sum())
    if int(sizes.min()) < per_class or labelled < needed:
        raise ValueError(
            f"{labelled} labelled nodes, {int(sizes.min())} of the smallest class, are too few for {per_class} of each class, "
            f"{val} to validate on and {test} to test on; choose smaller numbers"
        )
    splits = []
    for drawn in range(seed, seed + num):
        shuffled = torch.randperm(y.numel(), generator=torch.Generator().manual_seed(drawn))
        shuffled = shuffled[y[shuffled] >= 0]
        train = torch.cat([shuffled[y[shuffled] == label][:per_class] for label in classes.tolist()])
        rest = shuffled[~torch.isin(shuffled, train)][: val + test]
        splits.append(sorted_split(torch.cat([train, rest]), train.numel(), val, f"citation-{drawn}"))
    return splits


def redrawn_splits(graph: Graph, split: Split, num: int, seed: int = 0) -> list[Split]:
    """Random splits of the training and validation nodes of `split`, with as many training nodes per class as it has.

    For choosing settings on a graph with a single split: the more settings are compared on one validation set, the more
    the best of them is due to chance. Test nodes stay the same; their labels are not used.
    """
    y, nodes = known_labels(graph), torch.cat([split.train, split.val])
    splits = []
    for drawn in range(seed, seed + num):
        shuffled = nodes[torch.randperm(nodes.numel(), generator=torch.Generator().manual_seed(drawn))]
        train = [shuffled[y[shuffled] == label][: int((y[split.train] == label).sum())] for label in y[split.train].unique()]
        chosen = torch.isin(shuffled, torch.cat(train))
        splits.append(
            Split(shuffled[chosen].sort()[0], shuffled[~chosen].sort()[0], split.test, f"{split.name}-redrawn-{drawn}")
        )
    return splits


def hide_test_labels(graph: Graph, splits: Sequence[Split]) -> Graph:
    """The graph with label -1 on all nodes that no split trains or validates on: test labels are hidden from a search."""
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


def sorted_split(nodes: Int[Tensor, " n"], num_train: int, num_val: int, name: str) -> Split:
    """The split of distinct `nodes` into the first, the next and the remaining ones, each part sorted (by a mask, in O(n))."""
    parts = []
    for part in nodes.tensor_split([num_train, num_train + num_val]):
        mask = torch.zeros(int(nodes.max()) + 1, dtype=torch.bool)
        mask[part] = True
        parts.append(mask.nonzero().flatten())
    train, val, test = parts
    return Split(train, val, test, name)
