"""Raw files of the data sets that are damaged: one line that names the data set and the file."""

import gzip
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from localgcl.datasets import READERS, Reader, load
from localgcl.datasets.readers.tables import read_table
from localgcl.graph import Graph
from tests.datasets import small
from tests.io.helpers import saved

Files = Mapping[str, bytes]


def refused(dataset: str, changed: Files, message: str) -> None:
    with pytest.raises(ValueError, match=f"data set '{dataset}': .*{message}") as caught:
        small.read(dataset)({**small.DATASETS[dataset](), **changed})
    assert str(caught.value).isprintable()


# Numbers in text


def test_numbers() -> None:
    np.testing.assert_array_equal(read_table(b"1,2\n3,4\n", np.int64, "t", 2), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(read_table(b"a,b\n1.5,2\n", np.float32, "t", skip_rows=1), [[1.5, 2]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "Empty CSV file"),
        (b"1,2\n3\n", "Expected 2 columns, got 1"),
        (b"1,2,3\n", "3 columns in place of 2"),
        (b"1,a\n", "values of type string"),
        (b"1,\n2,3\n", "empty cells"),
        (b"1,1.5\n", "values of type double"),
        (b"1,2020-01-01\n", "values of type date32"),
        (b"1,true\n", "values of type bool"),
        (b"1,99999999999999999999\n", "values of type double"),
        (b"1,\xff\n", "values of type binary"),
        (b"1,\x1b[31m\n3\n", r"got 1"),
    ],
)
def test_what_is_no_table_of_integers_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=f"t is not a table of numbers .*{message}") as caught:
        read_table(text, np.int64, "t", 2)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("dataset", small.DATASETS)
def test_sound_files_are_read(dataset: str) -> None:
    graph = small.read(dataset)(small.DATASETS[dataset]())
    assert (graph.num_nodes, graph.num_features, graph.num_classes, graph.name) == (4, 3, 2, dataset)


# CSR arrays in NPZ files


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"adj_indptr": [0, 10**9, 0, 0, 4]}, "adj: row pointers .* with falls"),
        ({"attr_indptr": [0, 2, 1, 3, 6]}, "attr: row pointers"),
        ({"adj_indices": [0, 1, 2, 10**9]}, "adj: column indices run from 0 to 1000000000"),
        ({"attr_indices": [0, 1, 2, 0, 1, -1]}, "attr: "),
        ({"attr_shape": [4]}, r"attr_shape is \[4\]"),
        ({"attr_shape": [10**9, 3]}, "row pointers .* for 1000000000 rows"),
        ({"attr_data": np.array([{}] * 6)}, "values of type"),
        ({"labels": None}, "has no array 'labels'"),
        ({"labels": [0, 1]}, "labels have shape"),
    ],
)
def test_csr_arrays_are_checked(changed: dict[str, Any], message: str) -> None:
    refused("photo", small.photo(**changed), message)


# Text, masks and gzip


@pytest.mark.parametrize(
    ("dataset", "file", "content", "message"),
    [
        (
            "chameleon",
            "out1_graph_edges.txt",
            b"a\tb\n0\t1\t2\n",
            "out1_graph_edges.txt is not a table.*3 columns in place of 2",
        ),
        ("chameleon", "out1_graph_edges.txt", b"a\tb\n0\t9\n", "target 9"),
        ("chameleon", "out1_node_feature_label.txt", b"id\tf\ty\n0\t1,2,3\t0\n", "describes 1 nodes by 3 features"),
        ("chameleon", "chameleon_split_0.6_0.2_3.npz", b"", "chameleon_split_0.6_0.2_3.npz cannot be read"),
        ("chameleon", "chameleon_split_0.6_0.2_3.npz", saved(np.savez, train_mask=[1]), "has no array 'val_mask'"),
        ("actor", "out1_node_feature_label.txt", b"id\tf\ty\n0\t1,x\t0\n", "line 2 is not id, columns and class"),
        ("actor", "out1_node_feature_label.txt", b"id\tf\ty\n0\t1\n", "line 2 is not id, columns and class"),
        (
            "actor",
            "out1_node_feature_label.txt",
            b"id\tf\ty\n0\t999999999\t0\n",
            "column indices run from 999999999",
        ),
        ("chameleon-filtered", "chameleon_filtered.npz", saved(np.savez, edges=[1]), "has no array 'node_features'"),
        ("arxiv", "edge.csv.gz", b"\x1f\x8b", "edge.csv.gz is not a whole gzip file"),
        ("arxiv", "edge.csv.gz", gzip.compress(b"1\n2\n"), "edge.csv.gz is not a table.*1 columns in place of 2"),
        ("arxiv", "train.csv.gz", gzip.compress(b"1,2\n"), "train.csv.gz is not a table"),
        ("arxiv", "node-feat.csv.gz", gzip.compress(b"1,2,inf\n" * 4), "NaN or infinite"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else None,  # archives hold the time, and a test has one name
)
def test_damaged_files_are_named(dataset: str, file: str, content: bytes, message: str) -> None:
    refused(dataset, {file: content}, message)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"edges": [0, 1]}, r"edges of shape \(2,\)"),
        ({"edges": [[0, 9]]}, "target 9"),
        ({"node_features": ["a", "b", "c", "d"]}, "features of shape"),
        ({"train_masks": np.array(True)}, "masks of shapes"),
        ({"val_masks": np.ones((3, 4), dtype=bool)}, "masks of shapes"),
        ({"test_masks": np.ones((2, 9), dtype=bool)}, "masks of shapes"),
    ],
)
def test_heterophilous_arrays_are_checked(changed: dict[str, Any], message: str) -> None:
    refused("chameleon-filtered", small.chameleon_filtered(**changed), message)


# Archives, and the name of the data set


def test_an_archive_that_is_damaged_is_named() -> None:
    sound = small.archive()["arxiv.zip"]
    assert small.read_member({"arxiv.zip": sound}) == b"0,1\n" * 20
    forged = sound.replace(
        (80).to_bytes(4, "little"), (2**32 - 2).to_bytes(4, "little")
    )  # the size that its directory declares
    assert forged != sound
    for damaged in (b"", sound[:-9], forged, sound[:40]):
        with pytest.raises(
            ValueError, match=r"http://there/arxiv\.zip holds no readable arxiv/raw/edge\.csv\.gz .*try again later"
        ):
            small.read_member({"arxiv.zip": damaged})


def test_errors_of_a_reader_name_the_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(_: Files) -> Graph:
        return Graph.from_edges([0], [5], x=sp.eye_array(3))

    monkeypatch.setitem(READERS, "mine", Reader((), read))
    with pytest.raises(ValueError, match="data set 'mine': an edge has target 5"):
        load("mine")
