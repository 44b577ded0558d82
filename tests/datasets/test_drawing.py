import pytest
import torch

from localgcl.datasets import random_splits, stratified_splits
from localgcl.datasets.drawing import FEW, drawn_splits
from localgcl.graph import Graph, Split

PARTS = ("train", "val", "test")


def labelled(*sizes: int, unknown: int = 0, names: tuple[str, ...] | None = None) -> Graph:
    """Nodes without edges: so many of each class, and some of unknown class between them."""
    y = torch.tensor([label for label, size in enumerate(sizes) for _ in range(size)] + [-1] * unknown)
    y = y[torch.randperm(len(y), generator=torch.Generator().manual_seed(0))]
    return Graph.from_edges([], [], x=torch.zeros(len(y), 1), y=y, class_names=names)


def counts(graph: Graph, split: Split) -> list[list[int]]:
    assert graph.y is not None
    return [torch.bincount(graph.y[getattr(split, part)], minlength=graph.num_classes).tolist() for part in PARTS]


def test_every_class_is_divided_by_the_same_shares() -> None:
    graph = labelled(100, 50, 10, unknown=1000)
    for split in stratified_splits(graph, num=3, train=0.5):
        assert counts(graph, split) == [[50, 25, 5], [10, 5, 1], [40, 20, 4]]


@pytest.mark.parametrize("train", [0.01, 0.5, 0.89])
def test_a_rare_class_has_a_node_in_each_part(train: float) -> None:
    graph = labelled(200, 3, 4)
    (split,) = stratified_splits(graph, num=1, train=train)
    assert min(min(part) for part in counts(graph, split)) >= 1
    assert sum(map(sum, counts(graph, split))) == 207


def test_a_split_depends_on_its_own_seed_alone() -> None:
    graph = labelled(40, 30)
    third, alone = stratified_splits(graph, num=3)[2], stratified_splits(graph, num=1, seed=2)[0]
    assert all(torch.equal(getattr(third, part), getattr(alone, part)) for part in PARTS)
    assert third.name == "stratified-2"
    assert not torch.equal(third.train, stratified_splits(graph, num=1)[0].train)


def test_classes_that_are_too_small_are_all_named() -> None:
    with pytest.raises(ValueError, match=r"fewer than 3 labelled nodes.*'gold' \(2\), 'new' \(1\); label more") as error:
        stratified_splits(labelled(9, 2, 1, names=("basic", "gold", "new")))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("train", "val"), [(0.0, 0.1), (0.5, 0.0), (0.9, 0.1)])
def test_shares_that_leave_nothing_are_refused(train: float, val: float) -> None:
    with pytest.raises(ValueError, match=f"train is {train} and val {val}"):
        stratified_splits(labelled(10, 10), train=train, val=val)


def test_few_labels_are_halved_and_many_are_split_as_in_the_paper() -> None:
    few, many = labelled(FEW // 2, FEW // 2 - 1, unknown=50), labelled(FEW // 2, FEW // 2, unknown=50)
    halves, told = drawn_splits(few, 2, 7)
    assert told == "stratified, 50/10/40% of each class, of 999 labelled nodes"
    assert [split.name for split in halves] == ["stratified-7", "stratified-8"]
    tenths, told = drawn_splits(many, 2, 7)
    assert told == "random, 10/10/80% of 1,000 labelled nodes"
    assert torch.equal(tenths[1].train, random_splits(many, num=2, seed=7)[1].train)


def test_a_share_that_is_asked_for_is_stratified_however_many_labels_there_are() -> None:
    graph = labelled(1990, 10)
    (split,), told = drawn_splits(graph, 1, 0, 0.3)
    assert counts(graph, split)[0] == [597, 3]
    assert told.startswith("stratified, 30/10/60% of each class")
