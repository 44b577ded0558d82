"""File formats: CSV, TSV and Parquet -> a pyarrow table; NPY and NPZ -> arrays by name.

This module only decodes; columns.py and files.py interpret tables and arrays. Every error is one line that names the file,
the place in it and the fix.
"""

import contextlib
import csv
import gzip
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from localgcl.io.damage import BROKEN, FREE, check_expansion, decoding, unreadable
from localgcl.io.numpy_files import holds_sparse_matrix, member_names, read_npy, read_npz, read_sparse
from localgcl.io.roles import DEFAULT, ENDS, Columns, end_columns, id_first
from localgcl.system.text import listed, shown

TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
_KNOWN = (*TABLES, ".npy", ".npz")

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_ID_NAMES = ("", "id", "ids", "node", "nodes", "node_id", "index", "name")  # first cells of a header; see looks_like_data
_LONGEST_ROW = 1 << 24  # bytes in a row of a CSV file, at most
_COLUMN_BYTES = 4096  # of memory that pyarrow takes for a column of a CSV file, however few rows it has


def kind_of(path: Path) -> str:
    """The extension of `path`, which decides how it is read; ValueError if it is unknown or the file is empty."""
    if not path.exists():
        raise FileNotFoundError(f"{shown(path)} does not exist; check the path")
    if path.is_dir():
        raise ValueError(f"{shown(path)} is a folder; name a file in it")
    kind = next((extension for extension in _KNOWN if path.name.lower().endswith(extension)), None)
    if kind is None:
        raise ValueError(f"{shown(path)} has the extension {path.suffix!r}; known are {', '.join(_KNOWN)}")
    if path.stat().st_size == 0:
        raise ValueError(f"{shown(path)} is empty; write it again")
    return kind


def edge_table(path: Path, kind: str, columns: Columns = DEFAULT) -> Any:
    """A table of edges; the cells of a CSV file are text."""
    if kind == ".parquet":
        return read_parquet(path, shown(path))
    header, skip = edge_header(path, kind, columns)  # checked before the whole file is read
    return _read_csv(path, kind, header, [pa.string()] * len(header), skip=skip)


def edge_header(path: Path, kind: str, columns: Columns) -> tuple[list[str], int]:
    """The columns of a text table of edges, and the number of lines before its data: two bare integers are no header.

    Raises:
        ValueError: The ends of edges are not among the columns.
    """
    header = first_row(path, kind)
    bare = len(header) == 2 and not columns.names_ends and all(re.fullmatch(r"-?\d+", cell) for cell in header)
    header = list(ENDS) if bare else header
    end_columns(header, columns, shown(path), header=",".join(columns.ends))
    return header, 0 if bare else 1


def id_table(path: Path, kind: str, value_type: Any, columns: Columns = DEFAULT) -> Any:
    """A table with a column of node ids; other columns of a CSV file are read as `value_type`, those to drop as text."""
    if kind == ".parquet":
        return read_parquet(path, shown(path))
    header, order = id_header(path, kind, columns.id)
    texts = {header[order[0]], *(columns.drop or ())}
    types = [pa.string() if name in texts else value_type for name in header]
    return _read_csv(path, kind, header, types, skip=1)


def id_header(path: Path, kind: str, id: str | None) -> tuple[list[str], list[int]]:
    """The columns of a text table, and their positions, that of the node ids first; ValueError if they are not there."""
    header = first_row(path, kind)
    if not id and looks_like_data(header):
        raise ValueError(f"{shown(path)}: the first row ({listed(header)}) looks like data; add a header line such as id,a,b")
    return header, id_first(header, id, shown(path))


def read_arrays(path: Path, kind: str, wanted: Sequence[str]) -> dict[str, Any]:
    """The wanted arrays of an NPZ archive by name; ValueError if it has none of them.

    The single array of an NPY file, or a scipy sparse matrix in an NPZ file, is returned under the first wanted name.
    """
    place = shown(path)
    if kind == ".npy":
        if zipfile.is_zipfile(path):
            raise ValueError(f"{place} is an NPZ archive; rename it to end in .npz")
        return {wanted[0]: read_npy(path, place)}
    names = member_names(path, place)
    if holds_sparse_matrix(names):
        return {wanted[0]: read_sparse(path, names, place)}
    if not set(wanted) & set(names):
        needed = " or ".join(wanted)
        raise ValueError(f"{place} has the arrays {listed(names)}; it needs {needed}, or a scipy sparse matrix")
    return read_npz(path, place, [name for name in wanted if name in names])


def looks_like_data(row: Sequence[str]) -> bool:
    """Whether the first row of a file is data rather than a header.

    Numbers after the first cell are data, unless they count the columns: pandas writes the header ',0,1,2'.
    """
    first, *others = row
    if not others or not all(_NUMBER.fullmatch(cell) for cell in others):
        return False
    counted = any(others == [str(i + start) for i in range(len(others))] for start in (0, 1))
    # Three numbers that count are hardly features, but 'ann,0' may be a node and its label: a header then starts with 'id'.
    return not counted or _NUMBER.fullmatch(first) is not None or (len(others) < 3 and first.lower() not in _ID_NAMES)


def first_row(path: Path, kind: str) -> list[str]:
    """The cells of the first line of a text table."""
    try:
        line = _first_line(path, kind)
        row = next(csv.reader([line], delimiter=_delimiter(kind, line)), [])
    except (*BROKEN, csv.Error) as error:
        raise unreadable(shown(path), error) from error
    if not row:
        raise ValueError(f"{shown(path)} starts with an empty line; its first line must name the columns")
    return [cell.strip() for cell in row]


def delimiter_of(path: Path, kind: str) -> str:
    """The delimiter of a text table: a tab in TSV, else a comma, or a semicolon if the header has no comma."""
    try:
        return _delimiter(kind, _first_line(path, kind))
    except BROKEN as error:
        raise unreadable(shown(path), error) from error


def _first_line(path: Path, kind: str) -> str:
    with gzip.open(path, "rb") if kind.endswith(".gz") else path.open("rb") as file:
        return file.readline(_LONGEST_ROW).decode("utf-8-sig")


def _delimiter(kind: str, line: str) -> str:
    if kind.startswith(".tsv"):
        return "\t"
    bare = re.sub(r'"[^"]*"', "", line)  # a quoted name may hold either
    return ";" if ";" in bare and "," not in bare else ","


def csv_options(path: Path, kind: str, count: int, types: dict[str, Any], *, skip: int, threads: bool) -> dict[str, Any]:
    """pyarrow's options for a text table of `count` columns, called 0, 1, 2..., since a header may repeat a name.

    Args:
        path: The file.
        kind: Its extension.
        count: Number of its columns.
        types: The type of each column to read. Ids are text: pyarrow's own guess would turn "007" into 7 and a long id into a
            rounded double.
        skip: Lines before its data.
        threads: Whether pyarrow uses several; it gives line numbers only when it reads with one.
    """
    # A block must hold a whole row, and rows of features can be long.
    block = {"column_names": [str(at) for at in range(count)], "skip_rows": skip, "block_size": _LONGEST_ROW}
    return {
        "read_options": pyarrow.csv.ReadOptions(**block, use_threads=threads),
        "parse_options": pyarrow.csv.ParseOptions(delimiter=delimiter_of(path, kind)),
        "convert_options": pyarrow.csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[""]),
    }


def trimmed(columns: Iterable[Any]) -> list[Any]:
    """The columns, text without white space around it."""
    return [pc.utf8_trim_whitespace(column) if pa.types.is_string(column.type) else column for column in columns]


def _read_csv(path: Path, kind: str, header: Sequence[str], types: Sequence[Any], *, skip: int) -> Any:
    check_expansion(_COLUMN_BYTES * len(header), path.stat().st_size, shown(path))

    def read(*, threads: bool) -> Any:
        named = {str(at): value_type for at, value_type in enumerate(types)}
        return pyarrow.csv.read_csv(path, **csv_options(path, kind, len(header), named, skip=skip, threads=threads))

    try:
        table = read(threads=True)
    except (pa.ArrowInvalid, OSError):
        try:
            table = read(threads=False)
        except (pa.ArrowInvalid, OSError) as error:
            raise bad_cell(path, header, error) from error
    if table.num_rows == 0:
        raise ValueError(f"{shown(path)} has a header but no rows; write it again")
    return pa.table(trimmed(table.columns), names=list(header))


def bad_cell(path: Path, header: Sequence[str], error: Exception) -> ValueError:
    """pyarrow's error about a CSV file, reworded to give the line and the name of the column."""
    ragged = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", str(error))
    if ragged:
        line, expected, got = ragged.groups()
        return ValueError(f"{shown(path)}, line {line}: {got} cells where there should be {expected}; mend or drop the line")
    cell = re.search(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+): (.*)", str(error))
    if cell:
        column, line, kind, reason = cell.groups()
        advice = "features are numbers: encode (--encode auto) or drop the column"
        advice = "save the file as UTF-8" if kind == "string" else advice
        return ValueError(f"{shown(path)}, line {line}, column {header[int(column)]!r:.80}: {shown(reason[:200])}; {advice}")
    return unreadable(shown(path), error)


# Parquet, after a check of how large it becomes in memory


def read_parquet(path: Path, place: str) -> Any:
    """The table in a Parquet file; ValueError, which calls it `place`, if it is damaged, empty, or far larger in memory."""
    stored = path.stat().st_size
    with arrow_decoding(place):
        file = pyarrow.parquet.ParquetFile(path)
    with file:
        with arrow_decoding(place):
            flat = [field for field in file.schema_arrow if not pa.types.is_nested(field.type)]
            texts = [field.name for field in flat if _is_text(field.type)]
            declared = _declared_bytes(file.metadata, flat)
        check_expansion(declared, stored, place)
        with arrow_decoding(place):
            repeated = _repeated_text_bytes(path, file.metadata.num_row_groups, texts) if texts else 0
        check_expansion(repeated, stored, place)
        with arrow_decoding(place):
            some = [field.name for field in flat] if len(flat) < len(file.schema_arrow) else None
            table = file.read(columns=some)
            table.validate(full=True)  # pyarrow does not look whether text is UTF-8 before somebody prints it
            table = _with_nested(table, file.schema_arrow)
    if table.num_rows == 0 or table.num_columns == 0:
        raise ValueError(f"{place} has no rows; write it again")
    return table


@contextlib.contextmanager
def arrow_decoding(place: str) -> Iterator[None]:
    """As `decoding`, for any exception of pyarrow, too."""
    try:
        with decoding(place):
            yield
    except pa.ArrowException as error:  # those that are neither OSError nor ValueError
        raise unreadable(place, error) from error


def _declared_bytes(metadata: Any, fields: list[Any]) -> int:
    """Bytes of these columns in memory, by the number of rows that the metadata declares: a run of one value takes no space.

    Not by the numbers of values in the columns' own metadata: pyarrow ends the process when it reads damaged ones.
    """
    widths = [field.type.bit_width / 8 if _has_width(field.type) else 8 for field in fields]
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    return int(metadata.num_rows * sum(widths) + sum(max(group.total_byte_size, 0) for group in groups))


def _has_width(kind: Any) -> bool:
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_fixed_size_binary(kind))


def _is_text(kind: Any) -> bool:
    """Whether values are text or bytes, also as categories: those are replaced by their values later."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    checks = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
        pa.types.is_binary,
        pa.types.is_large_binary,
    )
    return any(check(kind) for check in checks)


def _with_nested(table: Any, schema: Any) -> Any:
    """The table with its nested columns in their places, empty: nobody reads them, but messages name them."""
    for at, field in enumerate(schema):
        if pa.types.is_nested(field.type):
            table = table.add_column(at, field, pa.nulls(table.num_rows, field.type))
    return table


def _repeated_text_bytes(path: Path, num_groups: int, names: list[str]) -> int:
    """Bytes of text in memory, or a bound. A dictionary holds a long text once in the file, and every row may repeat it."""
    with pyarrow.parquet.ParquetFile(path, read_dictionary=names, pre_buffer=False) as file:
        return sum(_text_bytes(file, group, name) for group in range(num_groups) for name in names)


def _text_bytes(file: Any, group: int, name: str) -> int:
    """Bytes of text in one column of a row group. Text outside a dictionary counts as 0: the file itself holds it."""
    first = next(file.iter_batches(1, row_groups=[group], columns=[name]), None)
    if first is None or not pa.types.is_dictionary(first.column(0).type):
        return 0
    longest = pc.max(pc.binary_length(first.column(0).dictionary)).as_py() or 0
    bound = int(longest * file.metadata.row_group(group).num_rows)
    if bound <= FREE:
        return bound
    chunks = file.read_row_group(group, columns=[name]).column(0).chunks
    return sum(pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0 for chunk in chunks)
