"""Tables in files -> batches of columns, one at a time, whatever the size of the files.

Ids are integers if the ids of all tables are, else text, as in `read_graph`.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from localgcl.graph.checks import check_distinct
from localgcl.io.damage import BROKEN
from localgcl.io.folder.inputs import Table
from localgcl.io.formats import arrow_decoding, bad_cell, csv_options, edge_header, id_header, trimmed
from localgcl.io.ids import as_ids, first_empty, plain
from localgcl.io.roles import DEFAULT, Columns, end_columns, id_first
from localgcl.io.tables import ids_first, index_levels
from localgcl.system.text import listed, shown

_ROWS = 1 << 16
_BLOCK = 1 << 24  # bytes of a CSV file at a time, and of its longest row
_CELLS = 1 << 23  # numbers in a batch, at the most


class Part(NamedTuple):
    """One file of a table."""

    path: Path
    kind: str
    names: tuple[str, ...]
    """Its columns. The id is the first one of features and labels."""
    skip: int
    """Lines of a CSV file before its data."""
    order: tuple[int, ...]
    """Position in the file of each column."""

    @property
    def place(self) -> str:
        return shown(self.path)

    @property
    def id_place(self) -> str:
        """Where its ids stand, for messages."""
        return f"{self.place}, id column {self.names[0]!r:.80}"

    @property
    def header(self) -> list[str]:
        """Its columns in the order of the file."""
        return [self.names[self.order.index(at)] for at in range(len(self.names))]


def edge_parts(table: Table, columns: Columns = DEFAULT) -> list[tuple[Part, tuple[int, int]]]:
    """The files of a table of edges, each with the places of its two ends; ValueError unless each has both."""
    parts = []
    for path, kind in zip(table.paths, table.kinds, strict=True):
        names, skip = (_parquet_names(path), 0) if kind == ".parquet" else edge_header(path, kind, columns)
        part = Part(path, kind, tuple(names), skip, tuple(range(len(names))))
        parts.append((part, end_columns(names, columns, part.place)))
    return parts


def id_parts(table: Table, id: str | None = None) -> list[Part]:
    """The files of a table of nodes, the column of ids first; ValueError unless all have the same columns."""
    parts = []
    for path, kind in zip(table.paths, table.kinds, strict=True):
        place = shown(path)
        if kind == ".parquet":
            names = _id_first_names(path)
            order = id_first(names, id, place)
        else:
            names, order = id_header(path, kind, id)
        check_distinct(names, place)
        parts.append(Part(path, kind, tuple(names[column] for column in order), 1, tuple(order)))
    first = parts[0]
    for part in parts:
        if part.names != first.names:
            raise ValueError(
                f"{part.place} has the columns {listed(part.names)}, but {first.place} has {listed(first.names)}; give all "
                "files the same columns in the same order"
            )
    return parts


def empty_table(part: Part, value_type: Any) -> Any:
    """A table without rows with the names and types of a file; cells of a CSV file are text in its first column."""
    if part.kind == ".parquet":
        table = _schema(part.path).empty_table()
        return table.select(list(part.names)).replace_schema_metadata(None)
    columns = [pa.array([], pa.string()), *(pa.array([], value_type) for _ in part.names[1:])]
    return pa.table(columns, names=list(part.names))


def batches(part: Part, columns: Sequence[int], value_type: Any = None) -> Iterator[list[Any]]:
    """Some columns of a file as pyarrow arrays, batch by batch.

    Args:
        part: The file.
        columns: Their positions in `part.names`, in the order wanted.
        value_type: What cells of a CSV file are read as: text, stripped of white space around it, when not given and in the
            first of its columns.

    Raises:
        ValueError: The file is damaged, or a cell cannot be read; the message names the place.
    """
    text = pa.string()
    types = {str(part.order[column]): value_type or text if column else text for column in columns}
    read = _parquet_batches(part, columns) if part.kind == ".parquet" else _csv_batches(part, types)
    for batch in read:
        if batch.num_rows:
            yield [batch.column(place) for place in range(batch.num_columns)]


def _parquet_batches(part: Part, columns: Sequence[int]) -> Iterator[Any]:
    names = [part.names[column] for column in columns]
    rows = max(1024, min(_ROWS, _CELLS // len(names)))
    with arrow_decoding(part.place), pyarrow.parquet.ParquetFile(part.path, pre_buffer=False) as file:
        for batch in file.iter_batches(rows, columns=names):
            batch.validate(full=True)  # pyarrow does not look whether text is UTF-8
            yield batch.select(names)


def _csv_batches(part: Part, types: dict[str, Any]) -> Iterator[Any]:
    """Batches of the columns of `types`, which are named by their position in the file."""

    def opened(*, threads: bool) -> Any:
        options = csv_options(part.path, part.kind, len(part.names), types, skip=part.skip, threads=threads)
        return pyarrow.csv.open_csv(part.path, **options)

    try:
        with opened(threads=True) as reader:
            for batch in reader:
                yield pa.record_batch(trimmed(batch.columns), names=list(types))
    except (*BROKEN, pa.ArrowException) as error:
        if "Empty CSV file" in str(error):  # a part without rows
            return
        try:
            with opened(threads=False) as reader:  # pyarrow gives line numbers only when it reads with one thread
                for _ in reader:
                    pass
        except (*BROKEN, pa.ArrowException) as placed:
            raise bad_cell(part.path, part.header, placed) from placed
        raise bad_cell(part.path, part.header, error) from error


def _schema(path: Path) -> Any:
    with arrow_decoding(shown(path)):
        return pyarrow.parquet.read_schema(path)


def _parquet_names(path: Path) -> list[str]:
    names: list[str] = _schema(path).names
    check_distinct(names, shown(path))
    return names


def _id_first_names(path: Path) -> list[str]:
    """The columns of a Parquet file, the pandas index first where it holds the ids."""
    table, place = _schema(path).empty_table(), shown(path)
    if any(isinstance(level, dict) and level.get("name") is not None for level in index_levels(table, place)):
        raise ValueError(f"{place} has its ids in the index of a pandas frame alone; write it after reset_index()")
    names: list[str] = ids_first(table, place).column_names
    return names


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


def node_batches(
    part: Part, columns: Sequence[int], value_type: Any = None, *, integers: bool
) -> Iterator[tuple[Any, list[Any]]]:
    """The ids of a table of nodes, and some other columns, batch by batch; arguments as for `batches` and `read_ids`."""
    before = 0
    for first, *others in batches(part, [0, *columns], value_type):
        ids = read_ids(first, part.id_place, integers=integers, before=before)
        yield ids, others
        before += len(ids)


def id_head(part: Part) -> list[tuple[Any, str]]:
    """The ids in the first rows of a table of nodes, with their place; none if it has no rows."""
    return [(first, part.id_place) for first, *_ in itertools.islice(batches(part, [0]), 1)]


def id_type(integers: bool) -> Any:
    """The pyarrow type of ids."""
    return pa.int64() if integers else pa.large_string()


def all_integers(columns: Iterable[tuple[Any, str]]) -> bool:
    """Whether the ids in all these columns, each with its place, are integers or written like integers."""
    return all(pa.types.is_int64(as_ids(column, place, parse=True).type) for column, place in columns)
