import base64
import gzip
import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from localgcl.report import packing
from localgcl.report.findings import Column
from tests.references.findings import synthetic_map


def raw(packed: str) -> bytes:
    return gzip.decompress(base64.b64decode(packed))


def read(packed: str) -> np.ndarray:
    """Integers as the browser reads them."""
    content = raw(packed)
    length, width = struct.unpack("<II", content[:8])
    planes = np.frombuffer(content, np.uint8, offset=8).reshape(width, length).astype(np.int64)
    values: np.ndarray = (planes << (8 * np.arange(width)[:, None])).sum(axis=0)
    return values


@given(arrays(np.int64, st.integers(0, 40), elements=st.integers(0, 2**32 - 1)))
def test_integers_come_back(values: np.ndarray) -> None:
    assert read(packing.integers(values)).tolist() == values.tolist()


@pytest.mark.parametrize(("most", "width"), [(0, 1), (255, 1), (256, 2), (65_536, 3), (2**24, 4)])
def test_integers_take_as_few_bytes_as_they_need(most: int, width: int) -> None:
    assert struct.unpack("<II", raw(packing.integers(np.array([0, most])))[:8]) == (2, width)


@given(st.lists(st.text()))
def test_text_comes_back_whatever_it_holds(values: list[str]) -> None:
    assert json.loads(raw(packing.text(values))) == values


def test_positions_keep_their_proportions() -> None:
    places = read(packing.positions(np.array([[0, 0], [10, 0], [10, 5]], dtype=np.float32))).reshape(2, 3)
    assert places[0].tolist() == [0, 65_535, 65_535]
    # Half as high as wide, in the middle; half a step is the error of rounding.
    np.testing.assert_allclose(places[1], [65_535 / 4, 65_535 / 4, 65_535 * 3 / 4], atol=0.51)


def test_positions_of_nodes_in_one_place() -> None:
    assert set(read(packing.positions(np.full((4, 2), 7, dtype=np.float32)))) == {32_768}


def test_a_number_is_stored_by_its_rank() -> None:
    values = np.array([3.5, np.nan, -1, 3.5, 0.0, -0.0], dtype=np.float32)
    packed = packing.column(Column("x", values))
    assert read(packed["places"]).tolist() == [3, 0, 1, 3, 2, 2]
    assert read(packed["table"]).astype(np.uint32).view(np.float32).tolist() == [-1, 0, 3.5]


def test_a_class_is_stored_by_its_place() -> None:
    packed = packing.column(Column("label", np.array([1, -1, 0], dtype=np.int32), ("a", "b")))
    assert {name: read(block).tolist() for name, block in packed.items()} == {"places": [2, 0, 1]}


def test_many_distinct_numbers_are_rounded_to_four_digits() -> None:
    values = np.random.default_rng(0).normal(size=packing.MANY + 1000).astype(np.float32)
    packed = packing.column(Column("x", values))
    table = read(packed["table"]).astype(np.uint32).view(np.float32)
    assert len(table) <= packing.MANY
    np.testing.assert_allclose(table[read(packed["places"]) - 1], values, rtol=2**-13)  # half a unit of 13 bits, rounded up


def test_nearest_nodes_and_similarities_come_back() -> None:
    view = synthetic_map(50)
    packed = packing.nearest(view)
    k = view.nearest.shape[1]
    np.testing.assert_array_equal(read(packed["nearest"]).reshape(k, 50).T - 1, view.nearest)
    down = read(packed["similarity"]).reshape(k, 50).T
    steps = (down[:, :1] * 2 - np.cumsum(down, axis=1)) % 65_536
    np.testing.assert_allclose(steps * 2 / packing.STEPS - 1, view.similarity, atol=1.01 / packing.STEPS)


def test_each_edge_is_stored_once() -> None:
    # 0-2 in both directions, 1-2 in one, a self-loop, and node 3 alone.
    packed = packing.edges(np.array([0, 1, 3, 4, 4], dtype=np.int32), np.array([2, 1, 2, 0], dtype=np.int32))
    assert read(packed["counts"]).tolist() == [1, 1, 0, 0]
    assert read(packed["gaps"]).tolist() == [2, 1]


def test_edges_come_back() -> None:
    view = synthetic_map(60)
    packed = packing.edges(view.indptr, view.indices)
    counts, gaps = read(packed["counts"]), iter(read(packed["gaps"]))
    found = set()
    for low, count in enumerate(counts):
        high = low
        for _ in range(count):
            high += next(gaps)
            found.add((low, high))
    rows = np.repeat(np.arange(60), np.diff(view.indptr))
    assert found == {(int(a), int(b)) for a, b in zip(rows, view.indices, strict=True) if a < b}


def test_no_edges() -> None:
    packed = packing.edges(np.zeros(4, dtype=np.int32), np.zeros(0, dtype=np.int32))
    assert read(packed["counts"]).tolist() == [0, 0, 0]
    assert len(read(packed["gaps"])) == 0
