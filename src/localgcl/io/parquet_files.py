"""Parquet files -> pyarrow tables, after a check of how large they become in memory."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from localgcl.io.damage import FREE, check_expansion, decoding, unreadable


def read_parquet(path: Path, place: str) -> Any:
    """The table in a Parquet file; ValueError if it is damaged, empty, or far larger in memory than on disk.

    Args:
        path: The file.
        place: What to call it in messages.
    """
    stored = path.stat().st_size
    with _arrow_decoding(place):
        file = pyarrow.parquet.ParquetFile(path)
    with file:
        with _arrow_decoding(place):
            flat = [field for field in file.schema_arrow if not pa.types.is_nested(field.type)]
            texts = [field.name for field in flat if _is_text(field.type)]
            declared = _declared_bytes(file.metadata, flat)
        check_expansion(declared, stored, place)
        with _arrow_decoding(place):
            repeated = _repeated_text_bytes(path, file.metadata.num_row_groups, texts) if texts else 0
        check_expansion(repeated, stored, place)
        with _arrow_decoding(place):
            some = [field.name for field in flat] if len(flat) < len(file.schema_arrow) else None
            table = file.read(columns=some)
            table.validate(full=True)  # pyarrow does not look whether text is UTF-8 before somebody prints it
            table = _with_nested(table, file.schema_arrow)
    if table.num_rows == 0 or table.num_columns == 0:
        raise ValueError(f"{place} has no rows; write it again")
    return table


@contextlib.contextmanager
def _arrow_decoding(place: str) -> Iterator[None]:
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
