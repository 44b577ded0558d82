"""Tables in memory with mixed columns: `as_graph(edges, x, encode="auto")`, as `read_graph` has it for files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

import localgcl as lg

EDGES = pd.DataFrame({"payer": list("abc"), "payee": list("bcd")})
PEOPLE = pd.DataFrame(
    {
        "age": [31, None, 45, 28],
        "person": list("abcd"),
        "city": ["Rome", "Oslo", "Rome", None],
        "member": pd.array([True, False, None, True], dtype="boolean"),
        "since": pd.to_datetime(["2020-01-01", "2021-01-01", "", "2022-01-01"]),
        "note": ["so", "many", "different", "words"],
    }
)
NAMES = {"source": "payer", "target": "payee", "id": "person"}


def test_a_frame_is_encoded_as_its_file_is(tmp_path: Path) -> None:
    EDGES.to_csv(tmp_path / "edges.csv", index=False)
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    read = lg.read_graph(tmp_path / "edges.csv", features=tmp_path / "people.csv", encode="auto", drop=["note"], **NAMES)
    made = lg.as_graph(EDGES, PEOPLE, encode="auto", drop=["note"], **NAMES)
    assert made.feature_names == read.feature_names
    assert made.encoding == read.encoding
    np.testing.assert_array_equal(made.x.numpy(), read.x.numpy())
    stream = pa.RecordBatchReader.from_batches((table := pa.Table.from_pandas(PEOPLE)).schema, table.to_batches())
    np.testing.assert_array_equal(lg.as_graph(EDGES, stream, encode="auto", drop=["note"], **NAMES).x.numpy(), read.x.numpy())


def test_a_fitted_encoding_is_applied_to_another_frame() -> None:
    known = lg.as_graph(EDGES, PEOPLE, encode="auto", drop=["note"], **NAMES)
    later = lg.as_graph(EDGES, PEOPLE[PEOPLE.columns[::-1]].assign(age=[31, 31, np.nan, 31]), encode=known.encoding, **NAMES)
    assert later.feature_names == known.feature_names
    expected = known.x.clone()
    expected[:, 0] = 31  # an empty cell becomes the median of the first frame
    expected[:, 1] = torch.tensor([0, 0, 1, 0])
    assert torch.equal(later.x, expected)


def test_the_encoding_stays_with_a_graph_that_is_renamed() -> None:
    known = lg.as_graph(EDGES, PEOPLE, encode="auto", drop=["note"], **NAMES)
    assert lg.as_graph(known, name="other").encoding == known.encoding
    assert lg.as_graph(known, x=np.eye(4)).encoding is None


def test_columns_that_cannot_be_encoded_are_named() -> None:
    with pytest.raises(ValueError, match=r"x: columns that cannot be encoded: 'note'.*--drop note"):
        lg.as_graph(EDGES, PEOPLE, encode="auto", **NAMES)
    with pytest.raises(ValueError, match="columns are no numbers"):
        lg.as_graph(EDGES, PEOPLE, **NAMES)


def test_encoding_needs_a_table() -> None:
    with pytest.raises(ValueError, match="drop and encode are for columns of a table x"):
        lg.as_graph(EDGES, np.eye(4), encode="auto", source="payer", target="payee")
    with pytest.raises(ValueError, match="drop and encode are for columns of tables"):
        lg.as_graph(([[0], [1]], np.eye(2)), encode="auto")
