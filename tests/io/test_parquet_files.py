"""Parquet files that are damaged, or that become far larger in memory than they are."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from localgcl.io.files import read_graph
from localgcl.io.formats import read_parquet
from tests.io.helpers import parquet, put


def test_tables_are_read_as_pyarrow_reads_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    texts = pa.array([f"user {i}" for i in range(300)]).take(pa.array(rng.integers(0, 300, 5000)))
    table = pa.table({"s": texts, "n": rng.integers(0, 9, 5000), "c": texts.dictionary_encode(), "x": rng.random(5000)})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=1000)
    assert read_parquet(tmp_path / "a.parquet", "a").equals(table)


def test_no_columns_come_from_the_names_of_folders(tmp_path: Path) -> None:
    """pyarrow's read_table makes a column of a folder that is called like one."""
    folder = tmp_path / "weight=3"
    folder.mkdir()
    (folder / "a.parquet").write_bytes(parquet(source=[1], target=[2]))
    assert read_parquet(folder / "a.parquet", "a").column_names == ["source", "target"]


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9, 0.999])
def test_a_cut_file_is_refused(tmp_path: Path, cut: float) -> None:
    content = parquet(source=["a"] * 99, target=["b"] * 99)
    path = put(tmp_path / "a.parquet", content[: int(cut * len(content))])
    with pytest.raises(ValueError, match=r"a\.parquet cannot be read, it may be truncated") as caught:
        read_parquet(path, "a.parquet")
    assert str(caught.value).isprintable()


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    """pyarrow checks text only when it is printed."""
    path = put(tmp_path / "a.parquet", parquet(source=["aXXa"] * 3, target=["b"] * 3).replace(b"aXXa", b"a\xff\xfea"))
    with pytest.raises(ValueError, match=r"a\.parquet cannot be read.*UTF8"):
        read_parquet(path, "a.parquet")


@pytest.mark.parametrize("column", [pa.array([b"\xff", b"a"]), pa.array([[1], [2]]), pa.array([{"a": 1}, None])])
def test_ids_of_other_types_are_refused(tmp_path: Path, column: Any) -> None:
    path = put(tmp_path / "e.parquet", parquet(source=column, target=["a", "b"]))
    with pytest.raises(ValueError, match=r"e\.parquet, source: node ids are (of type|bytes)"):
        read_graph(path)


@pytest.mark.parametrize("column", [pa.array([b"\xff", b"a"]), pa.array([[1], [2]]), pa.array([{"a": 1}, None])])
def test_labels_of_other_types_are_refused(tmp_path: Path, column: Any) -> None:
    edges = put(tmp_path / "e.parquet", parquet(source=[1], target=[2]))
    path = put(tmp_path / "y.parquet", parquet(id=[1, 2], label=column))
    with pytest.raises(ValueError, match=r"y\.parquet: labels are of type"):
        read_graph(edges, labels=path)


@pytest.mark.parametrize("weights", [pa.array([b"\xff", None]), pa.array([{"a": 1}, None]), pa.array([[1], []])])
def test_weights_of_other_types_are_refused(tmp_path: Path, weights: Any) -> None:
    path = put(tmp_path / "e.parquet", parquet(source=[1, 2], target=[2, 1], weight=weights))
    with pytest.raises(ValueError, match=r"e\.parquet.*weight") as caught:
        read_graph(path)
    assert str(caught.value).isprintable()


def test_runs_of_one_value_cannot_ask_for_gigabytes(tmp_path: Path) -> None:
    """A pandas frame of ten million zeros and a range of ids takes tens of kilobytes."""
    rows = 10**7
    limits = {"kind": "range", "name": "id", "start": 0, "stop": rows, "step": 1}
    table = pa.table({"f": np.zeros(rows)}).replace_schema_metadata({"pandas": json.dumps({"index_columns": [limits]})})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    size = os.path.getsize(tmp_path / "x.parquet")
    assert size < 100_000
    with pytest.raises(ValueError, match=rf"x\.parquet has {size:,} bytes but declares 80,0\d\d,\d\d\d bytes of data"):
        read_graph(put(tmp_path / "e.csv", "source,target\n1,2\n"), features=tmp_path / "x.parquet")


@pytest.mark.parametrize("categories", [True, False])
def test_a_long_text_that_every_row_repeats_cannot_ask_for_gigabytes(tmp_path: Path, categories: bool) -> None:
    rows = 20_000
    once = pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), pa.array(["x" * 100_000]))
    table = pa.table({"source": np.arange(rows, dtype=np.int32), "target": once})
    pyarrow.parquet.write_table(table, tmp_path / "e.parquet", store_schema=categories, compression="zstd")
    assert os.path.getsize(tmp_path / "e.parquet") < 200_000
    with pytest.raises(ValueError, match=r"e\.parquet has .* bytes but declares 2,000,000,000 bytes of data"):
        read_graph(tmp_path / "e.parquet")


def test_one_long_text_among_short_ones_is_read(tmp_path: Path) -> None:
    """The longest text times the rows is too much, the sum of the texts is not."""
    rows = 20_000
    texts = pa.DictionaryArray.from_arrays(
        np.arange(rows, dtype=np.int32) % 50 + 1, pa.array(["x" * 10_000, *map(str, range(50))])
    )
    pyarrow.parquet.write_table(pa.table({"source": texts, "target": texts}), tmp_path / "e.parquet", store_schema=False)
    assert read_parquet(tmp_path / "e.parquet", "e").num_rows == rows
