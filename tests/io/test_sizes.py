import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from localgcl.io.sizes import count_edges, file_size

ROWS, COLUMNS = 30_000, 3


def text(separator: str) -> str:
    lines = [separator.join(["id", "a", "b"]), *(separator.join([str(row), "0.25", "-1.5"]) for row in range(ROWS))]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("kind", ["npy", "npz", "parquet", "csv", "tsv", "csv.gz"])
def test_the_number_of_cells(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{kind}"
    values = np.random.default_rng(0).standard_normal((ROWS, COLUMNS))
    if kind == "npy":
        np.save(path, values.astype(np.float32))
    elif kind == "npz":
        np.savez(path, x=values)
    elif kind == "parquet":
        pa.parquet.write_table(pa.table(dict(zip("abc", values.T, strict=True))), path)
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(text(",").encode()))
    else:
        path.write_text(text("\t" if kind == "tsv" else ","))
    size = file_size(path)
    assert size is not None
    # Text and archives are guessed: from the first rows, whose ids are shorter, or from bytes that include headers.
    assert size.cells == pytest.approx(ROWS * COLUMNS, rel=0 if kind in ("npy", "parquet") else 0.2)
    if kind != "npz":
        assert size.rows == pytest.approx(ROWS, rel=0 if kind in ("npy", "parquet") else 0.2)


def test_a_short_file_without_an_end_of_line(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("1,2")
    assert file_size(path) == (1, 2)
    path.write_text("source,target\n1,2\n3,4\n")
    assert file_size(path) == (3, 6)


def test_the_number_of_edges(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 50), dtype=int))
    np.save(tmp_path / "b.npy", np.zeros((50, 2), dtype=int))
    (tmp_path / "c.csv").write_text("source,target,weight\n" + "1,2,0.5\n" * 49)
    assert [count_edges(tmp_path / name) for name in ("a.npy", "b.npy", "c.csv")] == [50, 50, pytest.approx(50, abs=1)]
    assert count_edges(tmp_path / "missing.npy") is None


def test_a_sparse_archive_counts_what_it_stores(tmp_path: Path) -> None:
    matrix: Any = sp.random_array((1000, 10**6), density=1e-4, format="csr", rng=0)
    sp.save_npz(tmp_path / "s.npz", matrix, compressed=False)
    size = file_size(tmp_path / "s.npz")
    assert size is not None
    assert 100_000 <= size.cells <= 200_000  # 100,000 values and as many indices of half the size


def test_what_cannot_be_told(tmp_path: Path) -> None:
    for name, content in (
        ("a.npy", b"not numpy"),
        ("b.npz", b"PK"),
        ("c.parquet", b"PAR1"),
        ("d.txt", b"1"),
        ("e.csv.gz", b"1"),
    ):
        (tmp_path / name).write_bytes(content)
        assert file_size(tmp_path / name) is None
    assert file_size(tmp_path / "missing.csv") is None
    # A kilobyte that declares a petabyte: the reader says what is wrong with it.
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (100000000, 10000000), }"
    (tmp_path / "f.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    assert file_size(tmp_path / "f.npy") is None
