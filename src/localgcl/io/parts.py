"""Rows -> files, a block of rows at a time, for graphs whose rows need not fit in memory."""

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from localgcl.io.export import check_new, embedding_table, explained_writing, new_file, write_embeddings, writer_of
from localgcl.system.files import replacing
from localgcl.system.team import ALONE, Team

Array = NDArray[Any]
Precision = Literal["float32", "float16"]
STREAMED = (".npy", ".parquet")
"""Formats that are written a block at a time."""


def write_rows(path: Path, shape: tuple[int, ...], kind: str, rows: range, blocks: Iterable[Array], team: Team = ALONE) -> None:
    """Writes an array in NumPy's format, a block of rows at a time; each process of a team writes a range of the rows.

    The file appears whole or not at all: the first process makes it under another name, and renames it when all have written.

    Args:
        path: The file; all processes see its folder.
        shape: Of the whole array.
        kind: Name of its dtype.
        rows: The rows that this process writes; those of all processes make up the whole.
        blocks: These rows, some at a time, in order.
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
        path, start = team.broadcast((path, start))
        # Not for reading: a network file system would then write whole pages, and over the ends of other processes' shares.
        with os.fdopen(os.open(path, os.O_WRONLY | getattr(os, "O_BINARY", 0)), "wb") as file:
            done = rows.start
            file.seek(start + row * done)
            for block in blocks:
                if block.shape[1:] != shape[1:]:
                    raise ValueError(f"rows from {done} have shape {block.shape}, and the file {shape}")
                file.write(np.ascontiguousarray(block, dtype=kind).data)
                done += len(block)
            if done != rows.stop:
                raise ValueError(f"rows {rows.start} to {done} were written, and not those to {rows.stop}")
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
    if path.suffix.lower() == ".npy":
        columns, blocks = peeked(blocks)
        with explained_writing(path):
            write_rows(path, (len(node_ids), columns), precision, range(len(node_ids)), blocks)
        return
    with new_file(path, overwrite=overwrite) as file:
        write_parquet(file, iter(blocks), node_ids, precision)


def peeked(blocks: Iterable[Array]) -> tuple[int, Iterable[Array]]:
    """The number of columns of the first block, and all blocks."""
    rest = iter(blocks)
    first = next(rest)
    return first.shape[1], itertools.chain([first], rest)
