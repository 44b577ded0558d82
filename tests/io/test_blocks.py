"""Embeddings written a block of rows at a time."""

import io
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from localgcl.graph.mapped import blocks
from localgcl.io.export import write_blocks
from localgcl.io.numpy_files import write_rows
from localgcl.system.team import Team, share

Z = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)
IDS = np.array([f"n{i}" for i in range(10)])


def parts(array: Any) -> Iterator[Any]:
    return (array[start : start + 4] for start in range(0, 10, 4))


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_npy_and_parquet_hold_all_rows_in_order(precision: Any, tmp_path: Path) -> None:
    for name in ("z.npy", "z.parquet"):
        write_blocks(tmp_path / name, parts(Z), IDS, precision=precision)
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
        write_blocks(tmp_path / name, broken(), IDS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [("z.npy", "rows 0 to 8 were written, and not those to 10"), ("z.parquet", "8 rows were written, and there are 10 ids")],
)
def test_missing_rows_are_noticed(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        write_blocks(tmp_path / name, parts(Z[:8]), IDS)
    assert list(tmp_path.iterdir()) == []


def test_other_formats_are_written_whole_and_in_float32_only(tmp_path: Path) -> None:
    write_blocks(tmp_path / "z.csv", parts(Z), IDS)
    assert (tmp_path / "z.csv").read_text().splitlines()[1].startswith('"n0",')
    with pytest.raises(ValueError, match=r"precision is float16, but .*csv. has float32 only"):
        write_blocks(tmp_path / "y.csv", parts(Z), IDS, precision="float16")


def test_an_existing_file_stays_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "z.npy").write_bytes(b"mine")
    with pytest.raises(FileExistsError, match="exists already"):
        write_blocks(tmp_path / "z.npy", parts(Z), IDS)
    assert (tmp_path / "z.npy").read_bytes() == b"mine"
    write_blocks(tmp_path / "z.npy", parts(Z), IDS, overwrite=True)
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), Z)


class Threads(Team):
    """Processes as threads: they meet at a barrier, and the first one's value is passed on."""

    def __init__(self, rank: int, size: int, gate: threading.Barrier, values: list[Any]) -> None:
        self.rank, self.size, self.gate, self.values = rank, size, gate, values

    def barrier(self) -> None:
        self.gate.wait(10)

    def broadcast(self, value: Any) -> Any:
        if self.rank == 0:
            self.values[:] = [value]
        self.gate.wait(10)
        first = self.values[0]
        self.gate.wait(10)
        return first


def write_together(path: Path, size: int, compute: Callable[[range], Any]) -> list[BaseException | None]:
    """Writes `Z` by `size` processes, in blocks of four rows; returns the error of each."""
    gate, values = threading.Barrier(size), list[Any]()

    def work(rank: int) -> BaseException | None:
        try:
            team = Threads(rank, size, gate, values)
            rows = share(len(Z), team)
            write_rows(path, Z.shape, "float32", rows, map(compute, blocks(rows, 4)), team)
        except (OSError, ValueError, threading.BrokenBarrierError) as error:
            gate.abort()
            return error
        return None

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(work, range(size)))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_any_number_of_processes_writes_the_same_bytes(size: int, tmp_path: Path) -> None:
    expected = io.BytesIO()
    np.save(expected, Z)
    assert write_together(tmp_path / "z.npy", size, lambda rows: Z[rows.start : rows.stop]) == [None] * size
    assert [path.name for path in tmp_path.iterdir()] == ["z.npy"]
    assert (tmp_path / "z.npy").read_bytes() == expected.getvalue()


def test_a_share_that_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    def full(rows: range) -> Any:
        if rows.start >= 4:
            raise OSError(28, "No space left on device")
        return Z[rows.start : rows.stop]

    errors = write_together(tmp_path / "z.npy", 2, full)
    assert all(error is not None for error in errors)
    assert list(tmp_path.iterdir()) == []


def test_rows_of_another_width_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"rows from 0 have shape \(9, 2\), and the file \(9, 3\)"):
        write_rows(tmp_path / "z.npy", (9, 3), "float32", range(9), [np.zeros((9, 2))])
    with pytest.raises(ValueError, match="rows 0 to 8 were written, and not those to 9"):
        write_rows(tmp_path / "z.npy", (9, 3), "float32", range(9), [np.zeros((8, 3))])
    assert list(tmp_path.iterdir()) == []
