"""Rows -> files, a block of rows at a time, for graphs whose rows need not fit in memory."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from localgcl.io.export import check_new, embedding_table, new_file, write_embeddings, writer_of
from localgcl.system.files import replacing
from localgcl.system.team import ALONE, Team, share

Array = NDArray[Any]
Precision = Literal["float32", "float16"]
STREAMED = (".npy", ".parquet")
"""Formats that are written a block at a time."""


def write_npy(file: BinaryIO, blocks: Iterator[Array], num_rows: int, precision: Precision = "float32") -> tuple[int, int]:
    """Writes an (n, d) array in NumPy's format from blocks of its rows; returns its shape."""
    done, columns = 0, 0
    for block in blocks:
        if done == 0:
            columns = block.shape[1]
            _write_header(file, (num_rows, columns), precision)
        file.write(np.ascontiguousarray(block, dtype=precision).data)
        done += len(block)
    if done != num_rows:
        raise ValueError(f"{done} rows were written, and the header says {num_rows}")
    return done, columns


def write_rows(
    path: Path,
    shape: tuple[int, ...],
    kind: str,
    blocks: Sequence[range],
    compute: Callable[[range], Array],
    team: Team = ALONE,
) -> None:
    """Writes an array in NumPy's format, each process of a team its share of the blocks. The bytes do not depend on the team.

    The file appears whole or not at all: the first process makes it under another name, and renames it when all have written.

    Args:
        path: The file; all processes see its folder.
        shape: Of the whole array.
        kind: Name of its dtype.
        blocks: Ranges of rows that make up the whole.
        compute: The rows of a range.
        team: Who writes.
    """
    row = np.dtype(kind).itemsize * int(np.prod(shape[1:]))
    with contextlib.ExitStack() as stack:
        start = 0
        if team.rank == 0:
            temporary = stack.enter_context(replacing(path))
            with temporary.open("wb") as file:
                _write_header(file, shape, kind)
                start = file.tell()
                file.truncate(start + row * shape[0])
            path = temporary
        path, start = team.told((path, start))
        # Not for reading: a network file system would then write whole pages, and over the ends of other processes' shares.
        with os.fdopen(os.open(path, os.O_WRONLY | getattr(os, "O_BINARY", 0)), "wb") as file:
            own = share(len(blocks), team)
            for rows in blocks[own.start : own.stop]:
                block = np.ascontiguousarray(compute(rows), dtype=kind)
                if block.shape != (len(rows), *shape[1:]):
                    raise ValueError(f"rows {rows.start} to {rows.stop} have shape {block.shape}, and the file {shape}")
                file.seek(start + row * rows.start)
                file.write(block.data)
            file.flush()
            os.fsync(file.fileno())
        team.barrier()
    team.barrier()  # the file has its name


def _write_header(file: BinaryIO, shape: tuple[int, ...], kind: str) -> None:
    described = {"shape": shape, "fortran_order": False, "descr": np.dtype(kind).newbyteorder("<").str}
    np.lib.format.write_array_header_1_0(file, described)


def write_parquet(file: BinaryIO, blocks: Iterator[Array], ids: Array, precision: Precision = "float32") -> None:
    """Writes the column `id`, then `e0`, `e1`..., a row group a block."""
    import pyarrow.parquet

    with contextlib.ExitStack() as stack:
        writer: Any = None
        done = 0
        for block in blocks:
            names, done = ids[done : done + len(block)], done + len(block)
            matrix = np.asarray(block, dtype=precision)
            table = embedding_table(matrix, names)
            writer = writer or stack.enter_context(pyarrow.parquet.ParquetWriter(file, table.schema))
            writer.write_table(table)
        if done != len(ids):
            raise ValueError(f"{done} rows were written, and there are {len(ids)} ids")


def check_output(path: str | os.PathLike[str], *, overwrite: bool, precision: Precision = "float32") -> None:
    """Raises early what `write_blocks` would raise: wrong extension or precision, or an existing file."""
    path = Path(path)
    writer_of(path)
    if path.suffix.lower() not in STREAMED and precision != "float32":
        raise ValueError(f"precision is {precision}, but {path.suffix!r} has float32 only; write {' or '.join(STREAMED)}")
    check_new(path, overwrite=overwrite)


def write_blocks(
    path: str | os.PathLike[str],
    blocks: Iterable[Array],
    node_ids: Array,
    *,
    overwrite: bool = False,
    precision: Precision = "float32",
) -> None:
    """`write_embeddings` from blocks of rows. NPY and Parquet files hold one at a time in memory, other formats all of them."""
    path = Path(path)
    check_output(path, overwrite=overwrite, precision=precision)
    if path.suffix.lower() not in STREAMED:
        write_embeddings(path, np.concatenate(list(blocks)), node_ids, overwrite=overwrite)
        return
    with new_file(path, overwrite=overwrite) as file:
        if path.suffix.lower() == ".npy":
            write_npy(file, iter(blocks), len(node_ids), precision)
        else:
            write_parquet(file, iter(blocks), node_ids, precision)
