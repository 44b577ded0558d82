"""Embeddings written a block of rows at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from localgcl.io.parts import stream_embeddings

Z = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)
IDS = np.array([f"n{i}" for i in range(10)])


def parts(array: Any) -> Iterator[Any]:
    return (array[start : start + 4] for start in range(0, 10, 4))


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_npy_and_parquet_hold_all_rows_in_order(precision: Any, tmp_path: Path) -> None:
    for name in ("z.npy", "z.parquet"):
        stream_embeddings(tmp_path / name, parts(Z), parts(IDS), 10, precision=precision)
    plain = np.load(tmp_path / "z.npy")
    assert plain.dtype == precision
    np.testing.assert_array_equal(plain, Z.astype(precision))
    table = pyarrow.parquet.read_table(tmp_path / "z.parquet")
    assert table.column_names == ["id", "e0", "e1", "e2"]
    assert table["id"].to_pylist() == IDS.tolist()
    np.testing.assert_array_equal(np.column_stack([table[f"e{j}"] for j in range(3)]), Z.astype(precision))


@pytest.mark.parametrize("name", ["z.npy", "z.parquet"])
def test_an_error_on_the_way_leaves_nothing(name: str, tmp_path: Path) -> None:
    def broken() -> Iterator[Any]:
        yield Z[:4]
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        stream_embeddings(tmp_path / name, broken(), parts(IDS), 10)
    assert list(tmp_path.iterdir()) == []


def test_missing_rows_are_noticed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="8 rows were written, and the header says 10"):
        stream_embeddings(tmp_path / "z.npy", parts(Z[:8]), parts(IDS), 10)
    assert list(tmp_path.iterdir()) == []
