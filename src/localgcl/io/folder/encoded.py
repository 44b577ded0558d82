"""Tables of mixed columns -> ids and blocks of float32, by an encoding that is fitted to the first rows or given."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from localgcl.io.columns import check_finite, encoding_for
from localgcl.io.folder.ids import read_ids
from localgcl.io.folder.streams import Part, batches
from localgcl.io.roles import Columns

_FITTED = 1 << 20
"""Rows that an encoding is fitted to, at most: categories and medians hardly change after a million."""
_CELLS = 1 << 24
"""The same of cells, so that wide tables need not fit in memory."""


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
        """Nothing is left to refuse: blocks are checked as they are read."""

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


def _batches(part: Part) -> Iterator[list[Any]]:
    return batches(part, range(len(part.names)), [pa.string()] * len(part.names))
