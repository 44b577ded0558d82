"""Tables of features -> ids and blocks of float32: columns of numbers as they are, mixed columns by an encoding."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from localgcl.io.columns import as_floats, check_finite, encoding_for, features_of, first_text
from localgcl.io.encode import Encoding
from localgcl.io.folder.streams import Part, batches, empty_table, node_batches
from localgcl.io.roles import DEFAULT, Columns
from localgcl.system.text import shown

_LISTED = 6
_FITTED = 1 << 20
"""Rows that an encoding is fitted to, at most: categories and medians hardly change after a million."""
_CELLS = 1 << 24
"""Cells that an encoding is fitted to, at most, so that wide tables need not fit in memory."""


class FeatureBlocks:
    """Reads features block by block, and collects the columns of numbers with values that are not finite.

    Args:
        parts: The files; the id is their first column.
        place: What to call the table in messages.
        columns: Which columns to leave out, and how the others become numbers.
    """

    def __init__(self, parts: Sequence[Part], place: str, columns: Columns) -> None:
        self._parts, self._place = parts, place
        self._wrong: dict[str, str] = {}
        self.encoding: Encoding | None = None
        """The encoding of all blocks; None where columns are read as numbers."""
        if columns.encode is not None:
            self.encoding = encoding_for(self._head(), place, columns)
            self._read = list(range(1, len(parts[0].names)))
            self.names = self.encoding.names
            return
        for part in parts:
            features_of(empty_table(part, pa.float32()), part.place, columns=DEFAULT._replace(drop=columns.drop))
        kept = [name not in (columns.drop or ()) for name in parts[0].names[1:]]
        self._read = [at for at, keep in enumerate(kept, start=1) if keep]
        self.names = tuple(parts[0].names[at] for at in self._read)

    def read(self, *, integers: bool) -> Iterator[tuple[Any, NDArray[np.float32]]]:
        """The ids and features of each block."""
        for part in self._parts:
            if self.encoding is not None:
                for ids, cells in node_batches(part, self._read, integers=integers):
                    x = self.encoding.apply(pa.table(cells, names=list(part.names[1:])), part.place)
                    check_finite(x, part.place, ids)
                    yield ids, x
                continue
            try:
                for ids, cells in node_batches(part, self._read, pa.float32(), integers=integers):
                    yield ids, self._numbers(ids, cells)
            except ValueError:
                self._find_texts(part)  # names all columns that are no numbers, where that is what is wrong
                raise

    def check(self) -> None:
        """Raises ValueError if a value was empty, NaN or infinite; the message names the columns."""
        if self._wrong:
            raise ValueError(
                f"{self._place}: features are empty, NaN or infinite in {_some(self._wrong)}; fill them in, "
                "encode them (--encode auto), or drop rows or columns"
            )

    def _numbers(self, ids: Any, columns: Sequence[Any]) -> NDArray[np.float32]:
        x = np.empty((len(ids), len(columns)), dtype=np.float32)
        for j, column in enumerate(columns):
            x[:, j] = as_floats(column)
        wrong = ~np.isfinite(x)
        for bad in np.flatnonzero(wrong.any(axis=0)).tolist():
            node = ids[int(np.argmax(wrong[:, bad]))].as_py()
            self._wrong.setdefault(self.names[bad], f"first for node {node!r:.80}")
        return x

    def _find_texts(self, part: Part) -> None:
        """Raises ValueError that names every column of a CSV file with a cell that is no number; else returns."""
        if part.kind == ".parquet":
            return
        found: dict[str, str] = {}
        for first, *others in batches(part, [0, *self._read]):
            for name, column in zip(self.names, others, strict=True):
                filled = pc.if_else(pc.equal(column, ""), "0", column)  # empty cells are refused as such
                row = None if name in found else first_text(filled, pa.float32())
                if row is not None:
                    found[name] = f"{shown(column[row].as_py())!r:.40} for node {first[row].as_py()!r:.80}"
        if found:
            count = f"{len(found)} columns are no numbers" if len(found) > 1 else "a column is no number"
            raise ValueError(f"{part.place}: {count}: {_some(found)}; encode them (--encode auto) or leave them out (--drop)")

    def _head(self) -> Any:
        """The first rows without their ids."""
        names, held, rows = list(self._parts[0].names[1:]), [], 0
        for _, *others in itertools.chain.from_iterable(batches(part, range(len(part.names))) for part in self._parts):
            held.append(pa.table(others, names=names))
            rows += held[-1].num_rows
            if rows >= min(_FITTED, _CELLS // max(1, len(names))):
                break
        if not held:
            raise ValueError(f"{self._parts[0].place} has a header but no rows; write it again")
        return pa.concat_tables(held, promote_options="permissive")


def _some(columns: Mapping[str, str]) -> str:
    """The first columns, each with what is wrong in it; the number of all where there are more."""
    named = ", ".join([f"{name!r:.80} ({what})" for name, what in columns.items()][:_LISTED])
    return named if len(columns) <= _LISTED else f"{named}... ({len(columns)} columns in all)"
