"""Node ids in batches: integers if the ids of all tables are, else text, as in `read_graph`."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from localgcl.io.ids import as_ids, first_empty, plain

_GROUP = 1 << 20  # rows of a row group: the same whatever the size of the batches


class NotIntegers(Exception):
    """An id is text, though the first ids of all files were integers."""


def read_ids(column: Any, place: str, *, integers: bool, before: int = 0) -> Any:
    """The ids in a column of a batch, as int64 or as text.

    Args:
        column: A pyarrow array.
        place: Where it stands, for messages.
        integers: Whether all tables have integers.
        before: Rows of the table before this batch, for messages.

    Raises:
        ValueError: As for `as_ids`.
        NotIntegers: `integers` is wrong.
    """
    row = first_empty(plain(column))
    if row is not None:
        raise ValueError(f"{place}: the node id in data row {before + row + 1:,} is empty; fill it in or drop the row")
    ids = as_ids(column, place, parse=integers)
    if integers and not pa.types.is_int64(ids.type):
        raise NotIntegers
    return ids if integers else ids.cast(pa.large_string())


def id_type(integers: bool) -> Any:
    """The pyarrow type of ids."""
    return pa.int64() if integers else pa.large_string()


class IdWriter:
    """Writes ids to a Parquet file, column `id`, and notes whether they are 0, 1, 2... in order.

    Equal ids give equal files, whatever the batches.
    """

    def __init__(self, path: Path, *, integers: bool) -> None:
        self.count = 0
        self.numbered = integers
        self._held: list[Any] = []
        self._waiting = 0
        self._schema = pa.schema([("id", id_type(integers))])
        self._writer: Any = pyarrow.parquet.ParquetWriter(path, self._schema)

    def write(self, ids: Any) -> None:
        if self.numbered:
            self.numbered = bool(np.array_equal(ids.to_numpy(), np.arange(self.count, self.count + len(ids))))
        self.count += len(ids)
        self._held.append(ids)
        self._waiting += len(ids)
        while self._waiting >= _GROUP:
            self._flush(_GROUP)

    def close(self) -> None:
        if self._waiting:
            self._flush(self._waiting)
        self._writer.close()

    def _flush(self, rows: int) -> None:
        held = pa.concat_arrays(self._held)
        self._writer.write_table(pa.table([held[:rows]], schema=self._schema), row_group_size=_GROUP)
        self._held, self._waiting = [held[rows:]], len(held) - rows


@contextlib.contextmanager
def writing_ids(path: Path, *, integers: bool) -> Iterator[IdWriter]:
    """An IdWriter that is closed at the end."""
    writer = IdWriter(path, integers=integers)
    try:
        yield writer
    finally:
        writer.close()


def all_integers(columns: Iterable[tuple[Any, str]]) -> bool:
    """Whether the ids in all these columns, each with its place, are integers or written like integers."""
    return all(pa.types.is_int64(as_ids(column, place, parse=True).type) for column, place in columns)
