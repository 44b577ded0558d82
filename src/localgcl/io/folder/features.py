"""Tables of features -> ids and blocks of float32: columns of numbers as they are, mixed columns by an encoding."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from localgcl.io.columns import check_finite, encoding_for
from localgcl.io.folder.streams import Part, batches, read_ids
from localgcl.io.roles import Columns
from localgcl.system.text import shown

_LISTED = 6
_FITTED = 1 << 20
"""Rows that an encoding is fitted to, at most: categories and medians hardly change after a million."""
_CELLS = 1 << 24
"""Cells that an encoding is fitted to, at most, so that wide tables need not fit in memory."""


class FeatureBlocks:
    """Reads features block by block, and collects the columns with values that are not finite.

    Args:
        parts: The files; the id is their first column.
        place: What to call the table in messages.
        drop: Columns to leave out.
    """

    def __init__(self, parts: Sequence[Part], place: str, drop: Sequence[str] = ()) -> None:
        self._parts, self._place = parts, place
        self._read = [at for at, name in enumerate(parts[0].names) if at == 0 or name not in drop]
        self._wrong: dict[str, str] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(self._parts[0].names[at] for at in self._read[1:])

    def read(self, *, integers: bool) -> Iterator[tuple[Any, NDArray[np.float32]]]:
        """The ids and features of each block."""
        for part in self._parts:
            types = [pa.string(), *[pa.float32()] * (len(self._read) - 1)]
            place, before = f"{part.place}, id column {part.names[0]!r:.80}", 0
            try:
                for first, *others in batches(part, self._read, types):
                    ids = read_ids(first, place, integers=integers, before=before)
                    yield ids, self._block(ids, others)
                    before += len(ids)
            except ValueError:
                self._find_texts(part)  # names all columns that are no numbers, where that is what is wrong
                raise

    def check(self) -> None:
        """Raises ValueError if a value was empty, NaN or infinite; the message names the columns."""
        if not self._wrong:
            return
        named = ", ".join([f"{name!r:.80} ({what})" for name, what in self._wrong.items()][:_LISTED])
        more = f"... ({len(self._wrong)} columns in all)" if len(self._wrong) > _LISTED else ""
        raise ValueError(
            f"{self._place}: features are empty, NaN or infinite in {named}{more}; fill them in, "
            "encode them (--encode auto), or drop rows or columns"
        )

    def _block(self, ids: Any, columns: Sequence[Any]) -> NDArray[np.float32]:
        x = np.empty((len(ids), len(columns)), dtype=np.float32)
        for j, column in enumerate(columns):
            x[:, j] = as_floats(column)
        wrong = ~np.isfinite(x)
        if wrong.any():
            for bad in np.flatnonzero(wrong.any(axis=0)).tolist():
                node = ids[int(np.argmax(wrong[:, bad]))].as_py()
                self._wrong.setdefault(self.names[bad], f"first for node {node!r:.80}")
        return x

    def _find_texts(self, part: Part) -> None:
        """Raises ValueError that names every column of a CSV file with a cell that is no number; else returns."""
        if part.kind == ".parquet":
            return
        found: dict[str, str] = {}
        for first, *others in batches(part, self._read, [pa.string()] * len(self._read)):
            for name, column in zip(self.names, others, strict=True):
                row = None if name in found else _first_text(column)
                if row is not None:
                    found[name] = f"{shown(column[row].as_py())!r:.40} for node {first[row].as_py()!r:.80}"
        if found:
            named = ", ".join([f"{name!r:.80} ({what})" for name, what in found.items()][:_LISTED])
            count = f"{len(found)} columns are no numbers" if len(found) > 1 else "a column is no number"
            raise ValueError(f"{part.place}: {count}: {named}; encode them (--encode auto) or leave them out (--drop)")


class EncodedBlocks:
    """Reads features block by block, as `FeatureBlocks` does for numbers.

    Args:
        parts: The files; the id is their first column.
        place: What to call the table in messages.
        columns: Which columns to leave out, and the encoding.
    """

    def __init__(self, parts: Sequence[Part], place: str, columns: Columns) -> None:
        self._parts = parts
        self.encoding = encoding_for(self._head(), place, columns)
        """The encoding of all blocks."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.encoding.names

    def read(self, *, integers: bool) -> Iterator[tuple[Any, NDArray[np.float32]]]:
        """The ids and features of each block."""
        for part in self._parts:
            place, before = f"{part.place}, id column {part.names[0]!r:.80}", 0
            for first, *others in _batches(part):
                ids = read_ids(first, place, integers=integers, before=before)
                x = self.encoding.apply(pa.table(others, names=list(part.names[1:])), part.place)
                check_finite(x, part.place, ids)
                yield ids, x
                before += len(ids)

    def check(self) -> None:
        """Does nothing: blocks are checked as they are read."""

    def _head(self) -> Any:
        """The first rows without their ids."""
        names, held, rows = list(self._parts[0].names[1:]), [], 0
        for _, *others in itertools.chain.from_iterable(_batches(part) for part in self._parts):
            held.append(pa.table(others, names=names))
            rows += held[-1].num_rows
            if rows >= min(_FITTED, _CELLS // len(names)):
                break
        if not held:
            raise ValueError(f"{self._parts[0].place} has a header but no rows; write it again")
        return pa.concat_tables(held, promote_options="permissive")


def as_floats(column: Any) -> NDArray[np.float32]:
    """A column of numbers as float32; NaN where it is empty, infinite where a number is too large."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan, dtype=np.float32)
    with np.errstate(over="ignore"):
        values: NDArray[np.float32] = column.to_numpy(zero_copy_only=False).astype(np.float32)
    return values


def _first_text(column: Any) -> int | None:
    """The first cell of a text column that is no number; None if there is none."""
    filled = pc.if_else(pc.equal(column, ""), "0", column)  # empty cells are refused as such
    try:
        filled.cast(pa.float32())
    except pa.ArrowInvalid:
        for row, cell in enumerate(filled):
            try:
                cell.cast(pa.float32())
            except pa.ArrowInvalid:
                return row
    return None


def _batches(part: Part) -> Iterator[list[Any]]:
    return batches(part, range(len(part.names)), [pa.string()] * len(part.names))
