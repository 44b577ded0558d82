"""Estimates how many numbers a file holds, from its header and length, without reading it."""

import gzip
import math
import os
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from localgcl.io.damage import BROKEN, FREE, RATIO
from localgcl.io.formats import TABLES, kind_of
from localgcl.io.numpy_files import declared

# Bytes at the head of a text file, from which the rest is extrapolated.
_SAMPLE = 1 << 18


class FileSize(NamedTuple):
    """Rows of a table, its header included, or of one axis of an array; and how many numbers or ids it holds."""

    rows: int
    cells: int


def count_edges(path: str | os.PathLike[str]) -> int | None:
    """About how many edges a file holds: a table has one a row, arrays have two numbers for each."""
    size = file_size(path)
    return None if size is None else size.rows if kind_of(Path(path)) in TABLES else size.cells // 2


def file_size(path: str | os.PathLike[str]) -> FileSize | None:
    """How many numbers or ids a file holds: exact for arrays and Parquet, extrapolated from the first rows for text.

    None for a file that is damaged or declares more than it can hold: the error comes when it is read.
    """
    try:
        path = Path(path)
        size, stored = _size(path, kind_of(path)), path.stat().st_size
    except (*BROKEN, pa.ArrowException):
        return None
    return size if size is not None and size.cells <= max(FREE, RATIO * stored) else None


def _size(path: Path, kind: str) -> FileSize | None:
    if kind == ".npy":
        return _saved(path)
    if kind == ".npz":
        return _archived(path)
    if kind == ".parquet":
        metadata: Any = pyarrow.parquet.read_metadata(path)
        return FileSize(metadata.num_rows, metadata.num_rows * metadata.num_columns)
    return _written(path, packed=kind.endswith(".gz"))


def _saved(path: Path) -> FileSize | None:
    """Size of an NPY file, from the shape in its header."""
    with path.open("rb") as file:
        shape = declared(file, path.stat().st_size).shape
    return FileSize(shape[0], math.prod(shape)) if shape else None


def _archived(path: Path) -> FileSize:
    """Size of an archive, from the bytes that its directory declares, 8 a number."""
    with zipfile.ZipFile(path) as archive:
        cells = sum(member.file_size for member in archive.infolist()) // 8
    return FileSize(cells, cells)


def _written(path: Path, *, packed: bool) -> FileSize:
    """Size of a text file, extrapolated from the cells and bytes of its first rows."""
    size = path.stat().st_size
    with path.open("rb") as raw:
        head = (gzip.GzipFile(fileobj=raw) if packed else raw).read(_SAMPLE)
        if packed:
            size = round(size * len(head) / max(1, min(raw.tell(), size)))
    whole = head[: head.rfind(b"\n") + 1] or head
    lines = max(1, whole.count(b"\n"))
    cells = lines + max(whole.count(b","), whole.count(b"\t"))
    times = max(size, len(whole)) / len(whole)
    return FileSize(round(lines * times), round(cells * times))
