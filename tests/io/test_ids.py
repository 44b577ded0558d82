"""The id join: which ids are the same node, and which nodes there are."""

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localgcl.io.ids import Edges, Nodes, Rows, as_ids, ids_to_numpy, join, labels_by_node, plain, repeated


def ids(values: Any) -> Any:
    return as_ids(pa.array(values), "here")


def edges(source: list[Any], target: list[Any], num_nodes: int | None = None) -> Edges:
    return Edges("e.csv", ids(source), ids(target), num_nodes)


def rows(names: list[Any] | None, values: Any, place: str = "x.csv") -> Rows:
    return Rows(place, None if names is None else ids(names), np.asarray(values))


# Ids of a column


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([3, 1], [3, 1]),
        (pa.array([3, 1], pa.uint8()), [3, 1]),
        ([3.0, -1.0], [3, -1]),
        ([Decimal("3.00"), Decimal(1)], [3, 1]),
        (["3", "a"], ["3", "a"]),
        (pa.array(["b", "a", "b"]).dictionary_encode(), ["b", "a", "b"]),
        (pa.array(["b", "a"]).cast(pa.string_view()), ["b", "a"]),
        (pa.array([2**64 - 1, 5], pa.uint64()), [str(2**64 - 1), "5"]),
        (pa.chunked_array([["a"], ["b"]]), ["a", "b"]),
        (np.array([2, 1], dtype=np.int32), [2, 1]),
    ],
    ids=["int", "uint8", "whole floats", "decimals", "text", "categories", "views", "beyond 64 bits", "chunks", "numpy"],
)
def test_ids_are_integers_or_text(column: Any, expected: list[Any]) -> None:
    got = as_ids(column, "here")
    assert got.type in (pa.int64(), pa.large_string())
    assert got.to_pylist() == expected


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.0, 1.5], "here: node id 1.5 is no integer"),
        ([Decimal("0.50")], "here: node id 0.5 is no integer"),
        ([1e300], r"node id 1e\+300 is no integer"),
        ([float("nan")], "node id nan is no integer"),
        ([True], "node ids are of type bool"),
        ([[1]], "node ids are of type list"),
        ([1, None], "here: the node id in data row 2 is empty"),
        (["a", "", "b"], "here: the node id in data row 2 is empty"),
        ([1.0, 2.0, None], "data row 3 is empty"),
        ([None], "data row 1 is empty"),
    ],
)
def test_what_is_no_id_is_refused(column: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ids(column)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (["7", "-12"], [7, -12]),
        (["7", "x"], ["7", "x"]),
        (["007", "7"], ["007", "7"]),
        (["+7"], ["+7"]),
        (["1e3"], ["1e3"]),
        (["1.0"], ["1.0"]),
        ([str(2**63)], [str(2**63)]),
        ([3, 1], [3, 1]),
    ],
)
def test_text_is_parsed_only_if_every_id_would_be_written_the_same(column: list[Any], expected: list[Any]) -> None:
    assert as_ids(pa.array(column), "here", parse=True).to_pylist() == expected
    assert as_ids(pa.array(column), "here").to_pylist() == column  # not parsed unless asked for


def test_repeated_ids_are_counted() -> None:
    assert repeated(ids(["a", "b", "c"])) is None
    assert repeated(ids(["a", "b", "c", "b", "c", "b"])) == ("b", 3)
    assert repeated(ids([4, 4])) == (4, 2)


def test_plain_unifies_chunks_with_categories_of_their_own() -> None:
    chunks = [pa.array(values).dictionary_encode() for values in (["a", "b"], ["b"])]
    column = plain(pa.chunked_array([pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary) for chunk in chunks]))
    assert (column.type, column.to_pylist()) == (pa.large_string(), ["a", "b", "b"])
    assert len(plain(pa.chunked_array([], pa.string()))) == 0


def test_ids_leave_as_integers_or_text() -> None:
    assert ids_to_numpy(ids([2, 1])).dtype == np.int64
    text = ids_to_numpy(ids(["bb", "a"]))
    assert (text.dtype.kind, text.tolist()) == ("U", ["bb", "a"])


# The join


def test_integers_and_text_that_look_alike_are_the_same_node() -> None:
    features = rows(["20", "1", "x"], [[0.0], [1.0], [2.0]])
    joined = join(edges([1, 20], [20, 1]), features, rows([20], [5], "y.csv"))
    assert (joined.source.tolist(), joined.target.tolist()) == ([1, 0], [0, 1])
    assert joined.node_ids.tolist() == ["20", "1", "x"]  # the features say what nodes are called
    assert joined.y is not None
    assert joined.y.tolist() == [5, -1, -1]


def test_text_that_differs_from_the_number_is_another_node() -> None:
    with pytest.raises(ValueError, match=r"e\.csv: node '07' has no row in x\.csv; add its row or drop its edges"):
        join(edges(["7"], ["07"]), rows([7], [[0.0]]))


def test_nodes_are_the_rows_of_the_features_in_their_order() -> None:
    joined = join(edges(["a"], ["c"]), rows(["c", "b", "a"], np.zeros((3, 1))))
    assert (joined.source.tolist(), joined.target.tolist()) == ([2], [0])
    assert joined.node_ids.tolist() == ["c", "b", "a"]
    assert joined.y is None


def test_rows_without_ids_are_the_nodes_from_0_on() -> None:
    joined = join(edges([2], [0]), rows(None, np.zeros((4, 1))), rows([3], [1], "y.csv"))
    assert joined.node_ids.tolist() == [0, 1, 2, 3]
    assert joined.y is not None
    assert joined.y.tolist() == [-1, -1, -1, 1]


def test_without_features_an_adjacency_matrix_or_labels_count_the_nodes() -> None:
    assert join(edges([0], [1], num_nodes=5)).node_ids.tolist() == [0, 1, 2, 3, 4]
    counted = join(edges([0], [1]), labels=rows(None, [2, 0, 1], "y.npy"))
    assert counted.node_ids.tolist() == [0, 1, 2]
    assert counted.y is not None
    assert counted.y.tolist() == [2, 0, 1]


def test_else_the_nodes_are_all_that_are_named_sorted() -> None:
    numbers = join(edges([10], [9]), labels=rows([7, 100], [0, 1], "y.csv"))
    assert numbers.node_ids.tolist() == [7, 9, 10, 100]  # as numbers
    assert numbers.source.tolist() == [2]
    texts = join(edges([10], [9]), labels=rows(["b"], [0], "y.csv"))
    assert texts.node_ids.tolist() == ["10", "9", "b"]  # as text


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((edges([1], [9]), rows([1], [[0.0]])), r"^e\.csv: node 9 has no row in x\.csv; add its row or drop its edges$"),
        ((edges([9, 8, 9], [1, 1, 7]), rows([1], [[0.0]])), r"node 9 \(and 1 more\) has no row"),  # sources first
        (
            (edges([0], [4]), rows(None, np.zeros((4, 1)))),
            r"node 4 has no row in x\.csv, whose 4 rows are the nodes 0 to 3; add its row",
        ),
        ((edges([0], [5], 5),), r"node 5 has no row in e\.csv, whose 5 rows"),
        (
            (edges([1], [1]), rows([1], [[0.0]]), rows([2, 1, 3], [0, 0, 0], "y.csv")),
            r"^y\.csv: labelled node 2 \(and 1 more\) has no row in x\.csv; add its row or drop its label$",
        ),
        (
            (edges([1], [1]), rows([1], [[0.0]]), rows(None, [0, 0], "y.npy")),
            r"^y\.npy has 2 labels for 1 nodes; give one per node, -1 where unknown$",
        ),
    ],
)
def test_a_missing_node_is_named(parts: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        join(*parts)


def test_labels_for_rows_that_have_no_edges() -> None:
    nodes = Nodes.of_rows(rows(["b", "a"], [[0.0], [1.0]]))
    assert labels_by_node(rows(["a"], [3], "y.csv"), nodes).tolist() == [-1, 3]


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=20, unique=True), st.data())
def test_positions_point_at_the_ids_that_were_looked_up(names: list[int], data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.sampled_from(names), min_size=1))
    as_text = [str(name) for name in wanted]
    features = rows(names, np.zeros((len(names), 1)))
    for ends in (wanted, as_text):
        assert [names[i] for i in join(edges(ends, ends), features).source] == wanted
