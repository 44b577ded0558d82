"""Tables -> batches: of edges, ids and weights; of features, ids and float32; of labels, ids and class numbers.

They can be read repeatedly. Columns of features are read as numbers, or encoded.
"""

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from localgcl.io.columns import (
    as_floats,
    check_finite,
    column_weights,
    encoding_for,
    features_of,
    first_text,
    label_array,
    labels_of,
)
from localgcl.io.encode import Encoding
from localgcl.io.files import label_values, read_edges
from localgcl.io.folder.inputs import Table
from localgcl.io.folder.streams import (
    Part,
    batches,
    edge_parts,
    empty_table,
    id_head,
    id_parts,
    id_type,
    node_batches,
    read_ids,
)
from localgcl.io.ids import Edges
from localgcl.io.labels import class_names, label_texts, read_labels
from localgcl.io.roles import DEFAULT, Columns, warn_of_unused, weight_name
from localgcl.system.text import listed, shown

_LISTED = 6
_FITTED = 1 << 20
"""Rows that an encoding is fitted to, at most: categories and medians hardly change after a million."""
_CELLS = 1 << 24
"""Cells that an encoding is fitted to, at most, so that wide tables need not fit in memory."""


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
            first = next(batches(part, columns), [])
            heads += [(column, f"{part.place}, {end}") for column, end in zip(first, self._names, strict=False)]
        return heads

    def batches(self, *, integers: bool) -> Iterator[tuple[Any, Any, Any]]:
        """All edges: the ids of both ends, as for `read_ids`, and the weights, checked, or None where there are none."""
        if self._whole is not None:
            whole = self._whole
            source, target = (read_ids(ids, whole.place, integers=integers) for ids in (whole.source, whole.target))
            yield source, target, None if whole.weights is None else pa.array(whole.weights.numpy())
        for part, columns in self._parts:
            before = 0
            for found in batches(part, columns):
                source, target = (
                    read_ids(column, f"{part.place}, {end}", integers=integers, before=before)
                    for column, end in zip(found, self._names, strict=False)
                )
                weights = pa.array(column_weights(found[2], source, target, part.place).numpy()) if self.weighted else None
                yield source, target, weights
                before += len(source)


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


class LabelRows:
    """The labels of a table, which can be read repeatedly."""

    def __init__(self, table: Table, id: str | None = None) -> None:
        self.table = table
        self.array: NDArray[np.int64] | None = None
        """One class number a node, where the file has no ids."""
        self._names: tuple[str, ...] | None = None
        self._parts: list[Part] = []
        if not table.is_array:
            self._parts = id_parts(table, id)
            first = self._parts[0]
            if len(first.names) != 2:
                raise ValueError(f"{first.place} has the columns {listed(first.names)}; labels need two: id and label")
            return
        y = label_values(table.paths[0], table.kinds[0])
        self.array, self._names = read_labels(y, table.place)

    @property
    def num_nodes(self) -> int | None:
        return None if self.array is None else len(self.array)

    @functools.cached_property
    def names(self) -> tuple[str, ...] | None:
        """Names of the classes, if the labels have any. One pass over the labels of a table."""
        if self.array is not None:
            return self._names
        texts: set[str] = set()
        for part in self._parts:
            for (column,) in batches(part, [1]):
                labels = label_array(column, part.place)
                if labels.dtype.kind in "iuf":
                    return None
                texts.update(label_texts(labels).tolist())
        return class_names(texts) or None

    def head(self) -> list[tuple[Any, str]]:
        """The ids in the first rows, with their place."""
        return [head for part in self._parts[:1] for head in id_head(part)]

    def stream(self, *, integers: bool) -> tuple[Any, Iterator[Any]]:
        """Schema and batches: id and label."""
        schema = pa.schema([("id", id_type(integers)), ("label", pa.int64())])
        return schema, self._batches(schema, integers=integers)

    def _batches(self, schema: Any, *, integers: bool) -> Iterator[Any]:
        for part in self._parts:
            for ids, (labels,) in node_batches(part, [1], integers=integers):
                numbers = labels_of(pa.table({"id": ids, "label": labels}), part.place, names=self.names or ()).values
                yield pa.record_batch([ids, pa.array(numbers)], schema=schema)
