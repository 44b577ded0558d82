"""NPY files that are written from first to last, before their length is known."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class ArrayWriter:
    """Appends rows to an NPY file.

    Args:
        path: The file, which is replaced.
        dtype: Type of the numbers.
        columns: Numbers in a row; None for a flat array.
    """

    def __init__(self, path: Path, dtype: DTypeLike, columns: int | None = None) -> None:
        self.count = 0
        self._dtype, self._columns = np.dtype(dtype), columns
        self._file = path.open("wb")
        self._length = self._write_header()

    def append(self, rows: NDArray[Any]) -> None:
        # Not tofile, which says nothing about a full disk.
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).data)
        self.count += len(rows)

    def close(self) -> None:
        """Writes the length into the header."""
        self._file.flush()
        self._file.seek(0)
        # numpy pads headers, so that a longer first axis takes no more room.
        assert self._write_header() == self._length
        self._file.close()

    def _write_header(self) -> int:
        shape = (self.count,) if self._columns is None else (self.count, self._columns)
        header = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, header)
        return self._file.tell()


@contextlib.contextmanager
def writing(path: Path, dtype: DTypeLike, columns: int | None = None) -> Iterator[ArrayWriter]:
    """An ArrayWriter that is closed at the end."""
    writer = ArrayWriter(path, dtype, columns)
    try:
        yield writer
    finally:
        writer.close()


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Writes a whole array. Unlike np.save it says that a disk is full by the system's own error."""
    with writing(path, array.dtype, array.shape[1] if array.ndim > 1 else None) as file:
        file.append(array)


def new_array(path: Path, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """A mapped array of zeros in a new NPY file, for arrays that are written in more than one pass.

    Its room on the disk is taken at once: a full disk would end the process when a page is written.
    """
    array: NDArray[Any] = np.lib.format.open_memmap(path, mode="w+", dtype=np.dtype(dtype), shape=shape)
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array


def index_type(count: int) -> type[np.int32] | type[np.int64]:
    """The smallest type of indices below `count`."""
    return np.int32 if count < 2**31 else np.int64


def blocks(count: int, size: int) -> Iterator[slice]:
    """Slices of `size` rows that cover `count` rows."""
    return (slice(start, min(count, start + size)) for start in range(0, count, size))
