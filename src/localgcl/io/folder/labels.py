"""Labels by node id -> y.npy, one class number a node."""

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

from localgcl.io.columns import label_array, labels_of
from localgcl.io.folder.inputs import Table
from localgcl.io.folder.streams import Part, batches, id_parts, id_type, read_ids
from localgcl.io.folder.work import Facts, Job
from localgcl.io.formats import read_arrays
from localgcl.io.labels import class_names, label_texts, read_labels
from localgcl.io.numpy_files import new_array, write_array
from localgcl.system.text import listed


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
        y = read_arrays(table.paths[0], table.kinds[0], ("y",))["y"]
        if isinstance(y, sp.csr_array):
            raise ValueError(f"{table.place} is a sparse matrix of shape {y.shape}; labels need shape (n,), one class per node")
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
            for (column,) in batches(part, [1], [pa.string()]):
                labels = label_array(column, part.place)
                if labels.dtype.kind in "iuf":
                    return None
                texts.update(label_texts(labels).tolist())
        return class_names(texts) or None

    def head(self) -> list[tuple[Any, str]]:
        """The ids in the first rows, with their place."""
        first = [next(batches(part, [0], [pa.string()]), None) for part in self._parts[:1]]
        return [(found[0], self.table.place) for found in first if found is not None]

    def stream(self, *, integers: bool) -> tuple[Any, Iterator[Any]]:
        """Schema and batches: id and label."""
        schema = pa.schema([("id", id_type(integers)), ("label", pa.int64())])
        return schema, self._batches(schema, integers=integers)

    def _batches(self, schema: Any, *, integers: bool) -> Iterator[Any]:
        for part in self._parts:
            before = 0
            for first, second in batches(part, [0, 1], [pa.string()] * 2):
                ids = read_ids(first, f"{part.place}, id column {part.names[0]!r:.80}", integers=integers, before=before)
                numbers = labels_of(pa.table({"id": ids, "label": second}), part.place, names=self.names or ()).values
                yield pa.record_batch([ids, pa.array(numbers)], schema=schema)
                before += len(ids)


def write_labels(job: Job, facts: Facts) -> Facts:
    """Writes y.npy, -1 where a node has no label; nothing where there are no labels."""
    if job.inputs.labels is None:
        return {"files": []}
    rows, n = LabelRows(job.inputs.labels, job.inputs.columns.id), facts["nodes"]
    if rows.array is not None:
        if len(rows.array) != n:
            raise ValueError(
                f"{rows.table.place} has {len(rows.array)} labels for {n} nodes; give one per node, -1 where unknown"
            )
        write_array(job.folder / "y.npy", rows.array)
        return _facts(rows)
    y = new_array(job.folder / "y.npy", (n,), np.int64)
    y[:] = -1
    joined = f"label_rows l LEFT JOIN {job.nodes(facts)} n ON n.id = l.id"
    query = f"SELECT n.row, l.label, l.id FROM {joined} ORDER BY n.row NULLS FIRST"
    before, unknown, twice = -1, False, None
    with job.progress.stage("labels", rows.table.size.rows, "nodes") as done:
        for batch in job.engine.batches(query, label_rows=rows.stream(integers=job.integers)):
            unknown = batch.column(0).null_count > 0
            if unknown:
                break
            nodes = batch.column(0).to_numpy()
            repeat = np.flatnonzero(np.diff(nodes, prepend=before) == 0)
            if repeat.size:
                twice = batch.column(2)[int(repeat[0])].as_py()
                break
            y[nodes] = batch.column(1).to_numpy()
            before = int(nodes[-1])
            done(len(nodes))
    if unknown:
        _refuse_unknown(job, facts, rows)
    if twice is not None:
        _refuse_repeat(job, rows, twice)
    y.flush()  # type: ignore[attr-defined]  # a mapped array
    return _facts(rows)


def _facts(rows: LabelRows) -> Facts:
    return {"files": ["y.npy"], "classes": rows.names}


def _refuse_unknown(job: Job, facts: Facts, rows: LabelRows) -> None:
    query = f"SELECT DISTINCT id FROM label_rows l WHERE NOT EXISTS (SELECT 1 FROM {job.nodes(facts)} n WHERE n.id = l.id)"
    count, first = job.engine.rows(f"SELECT count(*), min(id) FROM ({query})", label_rows=rows.stream(integers=job.integers))[0]
    more = f" (and {count - 1} more)" if count > 1 else ""
    unknown = f"{rows.table.place}: labelled node {first!r:.80}{more}"
    raise ValueError(f"{unknown} has no row in {job.missing(facts)}; add its row or drop its label")


def _refuse_repeat(job: Job, rows: LabelRows, node: object) -> None:
    _, streamed = rows.stream(integers=job.integers)
    times = sum(itertools.chain.from_iterable((name == node for name in batch.column(0).to_pylist()) for batch in streamed))
    raise ValueError(f"{rows.table.place}: node {node!r:.80} has {times} rows; keep one row per node")
