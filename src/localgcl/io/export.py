"""Embeddings -> files: NPY, Parquet, CSV, word2vec text, FAISS. And columns of nodes -> CSV, TSV, Parquet.

`WRITERS` is the registry of formats: one assignment, `WRITERS[".mine"] = write_mine`, adds a format to `write_embeddings` and
to `localgcl embed`.
"""

import contextlib
import errno
import functools
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from localgcl.graph.arrays import text_ids
from localgcl.io.numpy_files import write_rows
from localgcl.io.tables import to_array
from localgcl.system.files import check_writable, replacing
from localgcl.system.text import shown

Array = NDArray[Any]

Writer = Callable[[BinaryIO, Array, Array], None]
"""Writes to an open file: float32 embeddings of shape (n, d), and n ids, integers or text."""

Precision = Literal["float32", "float16"]
STREAMED = (".npy", ".parquet")
"""Formats that are written a block at a time."""
SUFFIXES = (".csv", ".tsv", ".parquet")
"""What `write_columns` writes."""
_ROWS_AT_ONCE = 4096  # as text, rows take some 30 times the memory of their numbers


def write_embeddings(path: str | os.PathLike[str], z: Any, node_ids: Any = None, *, overwrite: bool = False) -> None:
    """Writes embeddings in the format that the extension of `path` names, one of `WRITERS`. O(n d).

    ========== ===========================================================================================
    .npy       the float32 matrix, rows in node order, without ids
    .parquet   the column `id`, then `e0`, `e1`... in float32
    .csv .tsv  the same columns as text; the digits written give back the same float32
    .txt       word2vec text: a line "n d", then one line per node: id and values, separated by spaces
    .faiss     a FAISS index of the rows, scaled to unit length so that inner products are cosines; it answers with
               the ids if they are integers, else with row positions
    ========== ===========================================================================================

    The file is written in the same folder under a temporary name and then renamed: nobody sees half a file, and if the
    disk is full, an older file of that name stays as it was.

    Args:
        path: The file to write.
        z: Embeddings, shape (n, d): an array or a tensor.
        node_ids: Id of each row; 0..n-1 when not given.
        overwrite: Replace the file if it exists.

    Raises:
        FileExistsError: The file exists and `overwrite` is False.
        ValueError: The extension is unknown, or ids and rows do not fit.
        OSError: The file could not be written; nothing is left of it.
    """
    path = Path(path)
    write = writer_of(path)
    matrix, ids = _checked(z, node_ids)
    with new_file(path, overwrite=overwrite) as file:
        write(file, matrix, ids)


def writer_of(path: Path) -> Writer:
    """The writer of the format that the extension of `path` names; ValueError if there is none."""
    kind = max((known for known in WRITERS if path.name.lower().endswith(known)), key=len, default=None)
    if kind is None:
        raise ValueError(f"{shown(path)} has the extension {path.suffix!r}; known are {', '.join(WRITERS)}")
    return WRITERS[kind]


def check_new(path: Path, *, overwrite: bool) -> None:
    """Raises OSError or ValueError unless a file can be written to `path`, over another one only if `overwrite`."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {shown(path.parent)} does not exist; create it first")
    if path.is_dir():
        raise ValueError(f"{shown(path)} is a folder; name a file")
    if path.exists() and not overwrite:
        raise FileExistsError(
            f"{shown(path)} exists already; choose another name, or replace it with --force (overwrite=True in Python)"
        )
    check_writable(path)


@contextlib.contextmanager
def new_file(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Yields a temporary file that is renamed to `path` once it is complete."""
    check_new(path, overwrite=overwrite)
    with explained_writing(path), replacing(path) as temporary, temporary.open("wb") as file:
        yield file


@contextlib.contextmanager
def explained_writing(path: Path) -> Iterator[None]:
    """Says of an error of the disk which file was being written."""
    try:
        yield
    except OSError as error:
        reason = f"could not write the embeddings: {error.strerror or error}"
        raise OSError(error.errno or errno.EIO, reason, str(path)) from error


def check_columns_file(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raises early what `write_columns` would raise about the path."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{shown(path)} has the extension {path.suffix!r}; known are {', '.join(SUFFIXES)}")
    check_new(path, overwrite=overwrite)


def write_columns(path: str | os.PathLike[str], columns: Mapping[str, Any], *, overwrite: bool = False) -> None:
    """Writes arrays of equal length as columns of a table, whole or not at all."""
    import pyarrow as pa

    path = Path(path)
    check_columns_file(path, overwrite=overwrite)
    table = pa.table(dict(columns))
    with new_file(path, overwrite=overwrite) as file:
        _write_table(file, table, path.suffix.lower())


def _write_table(file: BinaryIO, table: Any, kind: str) -> None:
    """Writes a pyarrow table in one of the formats of `SUFFIXES`."""
    import pyarrow.csv
    import pyarrow.parquet

    if kind == ".parquet":
        pyarrow.parquet.write_table(table, file)
    else:
        options = pyarrow.csv.WriteOptions(delimiter="\t" if kind == ".tsv" else ",")
        pyarrow.csv.write_csv(table, file, options)


def _checked(z: Any, node_ids: Any) -> tuple[Array, Array]:
    """The embeddings as a float32 matrix, and the ids as an array of integers or text."""
    matrix = np.ascontiguousarray(to_array(z), dtype=np.float32)
    if matrix.ndim != 2:
        raise ValueError(f"embeddings have shape {matrix.shape}; give a matrix, one row per node")
    if node_ids is None:
        return matrix, np.arange(len(matrix))
    ids = np.asarray(node_ids)
    if len(ids) != len(matrix):
        raise ValueError(f"{len(ids)} node ids for {len(matrix)} embeddings; give one id per row")
    if ids.dtype.kind in "iu":
        return matrix, ids
    return matrix, text_ids(np.array([str(name) for name in node_ids], dtype=object))


def _write_npy(file: BinaryIO, matrix: Array, ids: Array) -> None:  # noqa: ARG001  # rows are in node order
    np.save(file, matrix, allow_pickle=False)


def embedding_table(matrix: Array, ids: Array) -> Any:
    """The pyarrow table of the columns `id`, `e0`, `e1`..."""
    import pyarrow as pa

    columns = {"id": pa.array(ids)} | {f"e{j}": pa.array(matrix[:, j]) for j in range(matrix.shape[1])}
    return pa.table(columns)


def _write_columns(file: BinaryIO, matrix: Array, ids: Array, kind: str) -> None:
    _write_table(file, embedding_table(matrix, ids), kind)


def _write_word2vec(file: BinaryIO, matrix: Array, ids: Array) -> None:
    names = [str(name) for name in ids.tolist()]
    wrong = next((name for name in names if name.split() != [name]), None)
    if wrong is not None:
        raise ValueError(f"node id {wrong!r} is empty or has a space, which ends a word in word2vec text; use .parquet or .csv")
    file.write(f"{matrix.shape[0]} {matrix.shape[1]}\n".encode())
    for start in range(0, len(names), _ROWS_AT_ONCE):
        block = slice(start, start + _ROWS_AT_ONCE)
        rows = matrix[block].astype(str).tolist()  # the fewest digits that give back the same float32
        lines = (" ".join([name, *row]) for name, row in zip(names[block], rows, strict=True))
        file.write("".join(f"{line}\n" for line in lines).encode())


def _write_faiss(file: BinaryIO, matrix: Array, ids: Array) -> None:
    try:
        import faiss  # type: ignore[import-not-found,import-untyped,unused-ignore]  # optional
    except ImportError as error:
        raise ImportError("writing .faiss needs FAISS: pip install 'localgcl[faiss]'") from error
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit = matrix / np.where(norms > 0, norms, 1.0)
    index: Any = faiss.IndexFlatIP(matrix.shape[1])
    if ids.dtype.kind in "iu":
        index = faiss.IndexIDMap2(index)
        index.add_with_ids(unit, ids.astype(np.int64))
    else:
        index.add(unit)
    file.write(faiss.serialize_index(index).tobytes())


WRITERS: dict[str, Writer] = {
    ".npy": _write_npy,
    **{kind: functools.partial(_write_columns, kind=kind) for kind in (".parquet", ".csv", ".tsv")},
    ".txt": _write_word2vec,
    ".faiss": _write_faiss,
}
"""The writer of each extension, in lower case. Assign here to add a format or to replace one."""


# Embeddings of graphs whose rows need not fit in memory: a block of rows at a time


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
