import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from localgcl.datasets import digits, few_label_splits, random_splits, stratified_splits
from localgcl.datasets.splits import FEW, OWN, choose_splits, drawn_splits
from localgcl.graph import Graph, Split


def labelled(labels: list[int]) -> Graph:
    return Graph.from_edges([], [], x=torch.ones(len(labels), 1), y=labels, name="labelled")


def assert_divides(split: Split, nodes: torch.Tensor) -> None:
    """The three parts are disjoint and make up `nodes`; each is in increasing order."""
    assert torch.equal(torch.cat([split.train, split.val, split.test]).sort().values, nodes)
    for part in (split.train, split.val, split.test):
        assert bool((part.diff() > 0).all())


@settings(max_examples=40, deadline=None)
@given(
    labels=st.lists(st.integers(-1, 3), min_size=1, max_size=60),
    train=st.floats(0.05, 0.6),
    val=st.floats(0, 0.35),
    seed=st.integers(0, 1000),
)
def test_random_splits_divide_the_labelled_nodes(labels: list[int], train: float, val: float, seed: int) -> None:
    known = [node for node, label in enumerate(labels) if label >= 0]
    num_train, num_val = round(train * len(known)), round(val * len(known))
    if not known or num_train < 1 or num_train + num_val >= len(known):
        with pytest.raises(ValueError, match=r"too few|no labels"):
            random_splits(labelled(labels), 2, train, val, seed)
        return
    for split in random_splits(labelled(labels), 2, train, val, seed):
        assert_divides(split, torch.tensor(known))
        assert (len(split.train), len(split.val)) == (num_train, num_val)


@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(st.integers(7, 15), min_size=1, max_size=4), unknown=st.integers(0, 5), seed=st.integers(0, 1000))
def test_few_label_splits_divide_the_labelled_nodes(sizes: list[int], unknown: int, seed: int) -> None:
    labels = [label for label, size in enumerate(sizes) for _ in range(size)] + [-1] * unknown
    graph = labelled(labels)
    assert graph.y is not None
    (split,) = few_label_splits(graph, per_class=3, num=1, seed=seed)
    assert_divides(split, torch.arange(sum(sizes)))
    for part in (split.train, split.val):
        assert graph.y[part].bincount().tolist() == [3] * len(sizes)


def test_default_is_twenty_of_a_tenth_a_tenth_and_the_rest() -> None:
    splits = random_splits(digits())
    assert [split.name for split in splits] == [f"random-{seed}" for seed in range(20)]
    assert {(len(split.train), len(split.val), len(split.test)) for split in splits} == {(180, 180, 1437)}
    assert not torch.equal(splits[0].train, splits[1].train)


@pytest.mark.parametrize("draw", [random_splits, few_label_splits])
def test_a_split_depends_on_its_own_seed_alone(draw: object) -> None:
    assert callable(draw)
    graph = digits()
    torch.manual_seed(1)
    many: list[Split] = draw(graph, num=4, seed=3)
    torch.manual_seed(2)
    (one,) = draw(graph, num=1, seed=5)
    assert one.name == many[2].name
    for part in ("train", "val", "test"):
        assert torch.equal(getattr(one, part), getattr(many[2], part))
    assert not torch.equal(many[0].train, many[1].train)


def test_random_splits_are_uniform() -> None:
    """Each of 50 nodes is trained on with probability 0.2: 400 splits give 80 +- 8; 5 deviations never happen by chance."""
    counts = torch.zeros(50)
    for split in random_splits(labelled([0] * 50), num=400, train=0.2):
        counts[split.train] += 1
    assert (counts - 80).abs().max() < 40


def test_what_cannot_be_split_is_refused() -> None:
    bare = Graph.from_edges([0], [1], x=torch.ones(2, 1), name="bare")
    for draw in (random_splits, few_label_splits):
        with pytest.raises(ValueError, match="'bare' has no labels"):
            draw(bare)
    with pytest.raises(ValueError, match=r"train is 0.6 and val 0.4"):
        random_splits(digits(), train=0.6, val=0.4)
    with pytest.raises(ValueError, match="per_class is 0"):
        few_label_splits(digits(), per_class=0)
    with pytest.raises(ValueError, match=r"class 1 has 6 nodes, but per_class=3 .* at most 2"):
        few_label_splits(labelled([0] * 9 + [1] * 6))


# Stratified splits, and the rule that chooses

PARTS = ("train", "val", "test")


def of_sizes(*sizes: int, unknown: int = 0, names: tuple[str, ...] | None = None) -> Graph:
    """Nodes without edges: so many of each class, and some of unknown class between them."""
    y = torch.tensor([label for label, size in enumerate(sizes) for _ in range(size)] + [-1] * unknown)
    y = y[torch.randperm(len(y), generator=torch.Generator().manual_seed(0))]
    return Graph.from_edges([], [], x=torch.zeros(len(y), 1), y=y, class_names=names)


def counts(graph: Graph, split: Split) -> list[list[int]]:
    assert graph.y is not None
    return [torch.bincount(graph.y[getattr(split, part)], minlength=graph.num_classes).tolist() for part in PARTS]


def test_every_class_is_divided_by_the_same_shares() -> None:
    graph = of_sizes(100, 50, 10, unknown=1000)
    for split in stratified_splits(graph, num=3, train=0.5):
        assert counts(graph, split) == [[50, 25, 5], [10, 5, 1], [40, 20, 4]]


@pytest.mark.parametrize("train", [0.01, 0.5, 0.89])
def test_a_rare_class_has_a_node_in_each_part(train: float) -> None:
    graph = of_sizes(200, 3, 4)
    (split,) = stratified_splits(graph, num=1, train=train)
    assert min(min(part) for part in counts(graph, split)) >= 1
    assert sum(map(sum, counts(graph, split))) == 207


def test_a_stratified_split_depends_on_its_own_seed_alone() -> None:
    graph = of_sizes(40, 30)
    third, alone = stratified_splits(graph, num=3)[2], stratified_splits(graph, num=1, seed=2)[0]
    assert all(torch.equal(getattr(third, part), getattr(alone, part)) for part in PARTS)
    assert third.name == "stratified-2"
    assert not torch.equal(third.train, stratified_splits(graph, num=1)[0].train)


def test_classes_that_are_too_small_are_all_named() -> None:
    with pytest.raises(ValueError, match=r"fewer than 3 labelled nodes.*'gold' \(2\), 'new' \(1\); label more") as error:
        stratified_splits(of_sizes(9, 2, 1, names=("basic", "gold", "new")))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("train", "val"), [(0.0, 0.1), (0.5, 0.0), (0.9, 0.1)])
def test_shares_that_leave_nothing_are_refused(train: float, val: float) -> None:
    with pytest.raises(ValueError, match=f"train is {train} and val {val}"):
        stratified_splits(of_sizes(10, 10), train=train, val=val)


def test_few_labels_are_halved_and_many_are_split_as_in_the_paper() -> None:
    few, many = of_sizes(FEW // 2, FEW // 2 - 1, unknown=50), of_sizes(FEW // 2, FEW // 2, unknown=50)
    halves, told = drawn_splits(few, 2, 7)
    assert told == "stratified, 50/10/40% of each class, of 999 labelled nodes"
    assert [split.name for split in halves] == ["stratified-7", "stratified-8"]
    tenths, told = drawn_splits(many, 2, 7)
    assert told == "random, 10/10/80% of 1,000 labelled nodes"
    assert torch.equal(tenths[1].train, random_splits(many, num=2, seed=7)[1].train)


def test_a_share_that_is_asked_for_is_stratified_however_many_labels_there_are() -> None:
    graph = of_sizes(1990, 10)
    (split,), told = drawn_splits(graph, 1, 0, 0.3)
    assert counts(graph, split)[0] == [597, 3]
    assert told.startswith("stratified, 30/10/60% of each class")


def test_splits_are_the_given_ones_or_the_graphs_or_drawn() -> None:
    graph = of_sizes(40, 30)
    own = random_splits(graph, num=2, seed=9)
    given = random_splits(graph, num=1, seed=4)
    having = graph.derived(splits=tuple(own))
    assert choose_splits(having, given) == (given, "")
    splits, how = choose_splits(having)
    assert ([split.name for split in splits], how) == (["random-9", "random-10"], OWN)
    splits, how = choose_splits(having, num=3, seed=5, train_share=0.4)
    assert ([split.name for split in splits], how[:25]) == ([f"stratified-{k}" for k in (5, 6, 7)], "stratified, 40/10/50% of ")
    splits, how = choose_splits(graph, num=1, classes=False, train_share=0.4)
    assert ([split.name for split in splits], how) == (["random-0"], "random, 40/10/50% of 70 labelled nodes")
    with pytest.raises(ValueError, match=r"train_share is 0\.4, and splits are given too"):
        choose_splits(having, given, train_share=0.4)
