"""Tables in files -> batches of columns, ids and edges, one at a time, whatever the size of the files.

Ids are integers if the ids of all tables are, else text, as in `read_graph`.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from localgcl.graph.checks import check_distinct
from localgcl.io.columns import column_weights
from localgcl.io.damage import BROKEN, unreadable
from localgcl.io.files import read_edges
from localgcl.io.folder.inputs import Table
from localgcl.io.formats import bad_cell, delimiter_of, edge_header, id_header
from localgcl.io.ids import Edges, as_ids, first_empty, plain
from localgcl.io.roles import DEFAULT, Columns, end_columns, id_column, put_first, warn_of_unused, weight_name
from localgcl.io.tables import ids_first
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
            at = id_column(names, id, place)
        else:
            names, at = id_header(path, kind, id)
        check_distinct(names, place)
        order = put_first(len(names), at)
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


def batches(part: Part, columns: Sequence[int], csv_types: Sequence[Any]) -> Iterator[list[Any]]:
    """Some columns of a file as pyarrow arrays, batch by batch.

    Args:
        part: The file.
        columns: Their positions in `part.names`, in the order wanted.
        csv_types: What cells of a CSV file are read as, one type a column. Text is stripped of white space around it.

    Raises:
        ValueError: The file is damaged, or a cell cannot be read; the message names the place.
    """
    read = _parquet_batches(part, columns) if part.kind == ".parquet" else _csv_batches(part, columns, csv_types)
    for batch in read:
        if batch.num_rows:
            yield [batch.column(place) for place in range(batch.num_columns)]


def _parquet_batches(part: Part, columns: Sequence[int]) -> Iterator[Any]:
    names = [part.names[column] for column in columns]
    rows = max(1024, min(_ROWS, _CELLS // len(names)))
    try:
        with pyarrow.parquet.ParquetFile(part.path, pre_buffer=False) as file:
            for batch in file.iter_batches(rows, columns=names):
                batch.validate(full=True)  # pyarrow does not look whether text is UTF-8
                yield batch.select(names)
    except (*BROKEN, pa.ArrowException) as error:
        raise unreadable(part.place, error) from error


def _csv_batches(part: Part, columns: Sequence[int], types: Sequence[Any]) -> Iterator[Any]:
    # By position, since a header may repeat a name.
    names, wanted = [str(i) for i in range(len(part.names))], [str(part.order[column]) for column in columns]
    parse = pyarrow.csv.ParseOptions(delimiter=delimiter_of(part.path, part.kind))
    convert = pyarrow.csv.ConvertOptions(
        column_types=dict(zip(wanted, types, strict=True)), include_columns=wanted, null_values=[""]
    )

    def opened(*, threads: bool) -> Any:
        read = pyarrow.csv.ReadOptions(column_names=names, skip_rows=part.skip, block_size=_BLOCK, use_threads=threads)
        return pyarrow.csv.open_csv(part.path, read_options=read, parse_options=parse, convert_options=convert)

    try:
        with opened(threads=True) as reader:
            for batch in reader:
                trimmed = [pc.utf8_trim_whitespace(c) if pa.types.is_string(c.type) else c for c in batch.columns]
                yield pa.record_batch(trimmed, names=wanted)
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
    try:
        return pyarrow.parquet.read_schema(path)
    except (*BROKEN, pa.ArrowException) as error:
        raise unreadable(shown(path), error) from error


def _parquet_names(path: Path) -> list[str]:
    names: list[str] = _schema(path).names
    check_distinct(names, shown(path))
    return names


def _id_first_names(path: Path) -> list[str]:
    """The columns of a Parquet file, the pandas index first where it holds the ids."""
    schema = _schema(path)
    text = (schema.metadata or {}).get(b"pandas", b"{}")
    try:
        levels = json.loads(text).get("index_columns", [])
    except (ValueError, RecursionError, AttributeError) as error:
        raise unreadable(f"the pandas metadata of {shown(path)}", error) from error
    if any(isinstance(level, dict) and level.get("name") is not None for level in levels):
        raise ValueError(f"{shown(path)} has its ids in the index of a pandas frame alone; write it after reset_index()")
    names: list[str] = ids_first(schema.empty_table(), shown(path)).column_names
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


def id_type(integers: bool) -> Any:
    """The pyarrow type of ids."""
    return pa.int64() if integers else pa.large_string()


def all_integers(columns: Iterable[tuple[Any, str]]) -> bool:
    """Whether the ids in all these columns, each with its place, are integers or written like integers."""
    return all(pa.types.is_int64(as_ids(column, place, parse=True).type) for column, place in columns)


class EdgeBatch(NamedTuple):
    """Some edges: the ids of their ends, and their weights, if they have any, as a float32 array."""

    source: Any
    target: Any
    weights: Any


class EdgeRows:
    """The edges of a table, which can be read repeatedly.

    Args:
        table: CSV, TSV and Parquet files are read in batches, a NumPy file at once.
        weight: The column of weights, as for `read_graph`.
        columns: What the other columns are called.
    """

    def __init__(self, table: Table, weight: str | None, columns: Columns = DEFAULT) -> None:
        self.table, self._names = table, columns.ends
        self._whole: Edges | None = None
        self._parts: list[tuple[Part, list[int]]] = []
        if table.is_array:
            self._whole = read_edges(table.paths[0], weight, columns)
            self.weighted = self._whole.weights is not None
            return
        unused: dict[str, None] = {}
        for part, ends in edge_parts(table, columns):
            others = [name for at, name in enumerate(part.names) if at not in ends]
            held = weight_name(others, weight, part.place)
            self._parts.append((part, [*ends] if held is None else [*ends, part.names.index(held)]))
            unused.update(dict.fromkeys(name for name in others if name != held))
        widths = {len(read) for _, read in self._parts}
        if len(widths) > 1:
            bare = next(part for part, read in self._parts if len(read) == 2)
            raise ValueError(
                f"{bare.place} has no edge weights, but other files have; give all the column, or weight='' for none"
            )
        self.weighted = widths == {3}
        warn_of_unused(unused, table.place, weighted=self.weighted)

    @property
    def num_nodes(self) -> int | None:
        """Number of nodes of an adjacency matrix; None for other tables."""
        return None if self._whole is None else self._whole.num_nodes

    @property
    def count(self) -> int:
        """About how many edges there are."""
        return self.table.size.rows if self._whole is None else len(self._whole.source)

    def head(self) -> list[tuple[Any, str]]:
        """The columns of ids in the first rows, each with its place."""
        if self._whole is not None:
            return [(self._whole.source, self._whole.place), (self._whole.target, self._whole.place)]
        heads = []
        for part, columns in self._parts[:1]:
            first = next(batches(part, columns, [pa.string()] * len(columns)), [])
            heads += [(column, f"{part.place}, {end}") for column, end in zip(first, self._names, strict=False)]
        return heads

    def batches(self, *, integers: bool) -> Iterator[EdgeBatch]:
        """All edges; ids as for `read_ids`, weights checked."""
        if self._whole is not None:
            whole = self._whole
            source, target = (read_ids(ids, whole.place, integers=integers) for ids in (whole.source, whole.target))
            yield EdgeBatch(source, target, None if whole.weights is None else pa.array(whole.weights.numpy()))
        for part, columns in self._parts:
            before = 0
            for found in batches(part, columns, [pa.string()] * len(columns)):
                source, target = (
                    read_ids(column, f"{part.place}, {end}", integers=integers, before=before)
                    for column, end in zip(found, self._names, strict=False)
                )
                weights = pa.array(column_weights(found[2], source, target, part.place).numpy()) if self.weighted else None
                yield EdgeBatch(source, target, weights)
                before += len(source)
