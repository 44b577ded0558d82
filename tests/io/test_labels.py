"""The label reader: what counts as a class number, and how an error names what does not."""

from typing import Any

import numpy as np
import pytest
import torch

from localgcl import Graph, as_graph
from localgcl.io.labels import read_labels


@pytest.mark.parametrize(
    "values",
    [
        [2, 0, -1],
        [2.0, 0.0, -1.0],
        ["2", "0", "-1"],
        ["2.0", " 0", "-1e0"],
        np.array([[2], [0], [-1]]),
        np.array([2, 0, -1], dtype=np.int8),
        np.array([2, 0, -1], dtype=np.float16),
        np.array([2, 0, -1], dtype=object),
        np.array(["2", 0, -1.0], dtype=object),
        torch.tensor([2, 0, -1]),
        torch.tensor([2.0, 0.0, -1.0], requires_grad=True),
    ],
)
def test_class_numbers_however_they_are_written(values: Any) -> None:
    numbers, names = read_labels(values, "y")
    assert names is None
    assert numbers.dtype == np.int64
    assert numbers.tolist() == [2, 0, -1]


def test_unsigned_integers_are_class_numbers() -> None:
    assert read_labels(np.array([3, 0], dtype=np.uint64), "y").numbers.tolist() == [3, 0]
    large = 2**53 + 1  # which a float cannot hold
    assert read_labels([large], "y").numbers.tolist() == [large]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, -2], "^y: the label of node 1 is -2, not a class number; number the classes 0, 1, 2... "),
        ([0.0, 1.5], "the label of node 1 is 1.5"),
        ([np.inf], "the label of node 0 is inf"),
        ([1e30], r"the label of node 0 is 1e\+30"),
        ([0, "cat", "dog"], "the label of node 1 is 'cat'"),
        (np.array([0, 2**64 - 1], dtype=np.uint64), f"the label of node 1 is {2**64 - 1}"),
        (np.zeros((2, 2)), r"^y: labels have shape \(2, 2\); labels need shape \(n,\)"),
        (3, r"labels have shape \(\)"),
        ([], r"labels have shape \(0,\)"),
    ],
)
def test_what_is_no_class_number_is_refused(values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_labels(values, "y")


@pytest.mark.parametrize("values", [[1.0, np.nan], ["1", ""], ["1", "nan"], [1, None], np.array(["1", np.nan], dtype=object)])
def test_missing_labels_are_unknown(values: Any) -> None:
    numbers, names = read_labels(values, "y")
    assert numbers.tolist() == [1, -1]
    assert names is None


@pytest.mark.parametrize(
    ("values", "numbers", "names"),
    [
        (["dog", "", "cat", "dog", "-1"], [1, -1, 0, 1, -1], ("cat", "dog")),
        ([True, False, True], [1, 0, 1], ("False", "True")),
        (np.array([True, None, False], dtype=object), [1, -1, 0], ("False", "True")),
        (np.array(["ant", None, np.nan], dtype=object), [0, -1, -1], ("ant",)),
        ([" b", "a ", "b"], [1, 0, 1], ("a", "b")),
    ],
)
def test_text_and_booleans_name_classes(values: Any, numbers: list[int], names: tuple[str, ...]) -> None:
    found = read_labels(values, "y")
    assert found.numbers.tolist() == numbers
    assert found.names == names


def test_a_part_of_the_labels_is_numbered_as_the_whole() -> None:
    assert read_labels(["c"], "y", names=("a", "b", "c")).numbers.tolist() == [2]
    with pytest.raises(ValueError, match="the label of node 0 is 'c', not a class number"):
        read_labels(["c"], "y", names=())


def test_errors_name_nodes_as_the_user_does() -> None:
    with pytest.raises(ValueError, match="y: the label of node 'b' is 'cat'"):
        as_graph(([[0], [1]], np.eye(2)), y=["0", "cat"], node_ids=["a", "b"])
    with pytest.raises(ValueError, match="y: the label of node 1 is 'cat'"):
        as_graph(([[0], [1]], np.eye(2)), y=["0", "cat"], node_ids=["a"])  # too few ids: the position


def test_as_graph_reads_numeric_text() -> None:
    graph = as_graph(([[0], [1]], np.eye(2)), y=["1", "-1"])
    assert isinstance(graph, Graph)
    assert graph.y is not None
    assert graph.y.tolist() == [1, -1]
