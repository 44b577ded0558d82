"""The label reader: what counts as a class number, and how an error names what does not."""

from typing import Any

import numpy as np
import pytest
import torch

from localgcl import Graph, as_graph
from localgcl.io.labels import class_numbers


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
    numbers = class_numbers(values, "y")
    assert numbers.dtype == np.int64
    assert numbers.tolist() == [2, 0, -1]


def test_booleans_and_unsigned_integers_are_class_numbers() -> None:
    assert class_numbers([True, False], "y").tolist() == [1, 0]
    assert class_numbers(np.array([3, 0], dtype=np.uint64), "y").tolist() == [3, 0]
    large = 2**53 + 1  # which a float cannot hold
    assert class_numbers([large], "y").tolist() == [large]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, -2], "^y: the label of node 1 is -2, not a class number; number the classes 0, 1, 2... "),
        ([0.0, 1.5], "the label of node 1 is 1.5"),
        ([0.0, np.nan], "the label of node 1 is nan"),
        ([np.inf], "the label of node 0 is inf"),
        ([1e30], r"the label of node 0 is 1e\+30"),
        ([0, "cat", "dog"], "the label of node 1 is 'cat'"),
        (["0", ""], "the label of node 1 is ''"),
        ([0, None], "the label of node 1 is None"),
        (np.array([0, 2**64 - 1], dtype=np.uint64), f"the label of node 1 is {2**64 - 1}"),
        (np.zeros((2, 2)), r"^y: labels have shape \(2, 2\); labels need shape \(n,\)"),
        (3, r"labels have shape \(\)"),
        ([], r"labels have shape \(0,\)"),
    ],
)
def test_what_is_no_class_number_is_refused(values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        class_numbers(values, "y")


def test_nan_is_unknown_where_the_caller_says_so() -> None:
    assert class_numbers([1.0, np.nan], "y", nan_is_unknown=True).tolist() == [1, -1]


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
