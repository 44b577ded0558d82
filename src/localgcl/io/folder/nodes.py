"""Stages that write nodes: which there are, in which order, and their features; and their labels."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse as sp

from localgcl.io.damage import decoding
from localgcl.io.files import as_matrix, finite_floats, read_features
from localgcl.io.folder.engine import literal, parquet
from localgcl.io.folder.inputs import Table
from localgcl.io.folder.rows import FeatureBlocks
from localgcl.io.folder.streams import empty_table, id_parts, id_type
from localgcl.io.folder.work import Facts, Job, blocks
from localgcl.io.ids import check_labels
from localgcl.io.numpy_files import ArrayWriter, new_array, write_array

IDS = "ids.parquet"
_BLOCK = 1 << 22  # numbers of an array at a time
_GROUP = 1 << 20  # rows of a row group: the same whatever the size of the batches


def write_nodes(job: Job, _: Facts) -> Facts:
    """Nodes in the order of the features' rows, or of their sorted ids. Writes ids.parquet, and x if features are given."""
    table = job.inputs.features
    if table is None:
        return _without_features(job)
    return _array_features(job, table) if table.is_array else _table_features(job, table)


def _table_features(job: Job, table: Table) -> Facts:
    parts = id_parts(table, job.inputs.columns.id)
    found = FeatureBlocks(parts, table.place, job.inputs.columns)
    names = found.names
    with (
        job.stage("features", table.size.rows, "nodes") as done,
        contextlib.closing(ArrayWriter(job.folder / "x.npy", np.float32, len(names))) as x,
        contextlib.closing(IdWriter(job.folder / IDS, integers=job.integers)) as ids,
    ):
        for nodes, values in found.read(integers=job.integers):
            ids.write(nodes)
            x.append(values)
            done(len(nodes))
    found.check()
    if ids.count == 0:
        raise ValueError(f"{table.place} has a header but no rows; write it again")
    _refuse_repeats(job, table, numbered=ids.numbered)
    types = {field.name: str(field.type) for field in empty_table(parts[0], pa.float32()).schema}
    known: dict[str, Any] = {"feature_names": list(names), "column_types": types}
    known["encoding"] = None if found.encoding is None else found.encoding.to_dict()
    return _facts(job, ids.count, ids.numbered, len(names), ["x.npy"], **known)


def _refuse_repeats(job: Job, table: Table, *, numbered: bool) -> None:
    if numbered:
        return
    repeated = f"SELECT id, count(*) AS times, min(file_row_number) AS first FROM {parquet(job.folder / IDS)} GROUP BY id"
    found = job.engine.rows(f"SELECT id, times FROM ({repeated}) WHERE times > 1 ORDER BY first LIMIT 1")
    if found:
        ((node, times),) = found
        raise ValueError(f"{table.place}: node {node!r:.80} has {times} rows; keep one row per node")


def _array_features(job: Job, table: Table) -> Facts:
    """Row i of a NumPy file is node i."""
    path, kind = table.paths[0], table.kinds[0]
    if kind == ".npz" or job.inputs.columns.encode is not None or job.inputs.columns.drop:
        x: Any = read_features(path, job.inputs.columns).values  # refuses columns to encode or drop
    else:
        with decoding(table.place):
            x = np.load(path, mmap_mode="r", allow_pickle=False)
        x = as_matrix(x, table.place)
    if isinstance(x, sp.csr_array):
        return _facts(job, x.shape[0], True, x.shape[1], _write_sparse(job, x), rows_are_nodes=True)
    rows = max(1, _BLOCK // x.shape[1])
    with (
        job.stage("features", len(x), "nodes") as done,
        contextlib.closing(ArrayWriter(job.folder / "x.npy", np.float32, x.shape[1])) as out,
    ):
        for block in blocks(len(x), rows):
            values = finite_floats(x[block], table.place, block.start)
            out.append(values)
            done(len(values))
    return _facts(job, len(x), True, x.shape[1], ["x.npy"], rows_are_nodes=True)


def _write_sparse(job: Job, x: Any) -> list[str]:
    x.sum_duplicates()
    arrays = {
        "x-indptr.npy": x.indptr.astype(np.int64),
        "x-indices.npy": x.indices.astype(np.int64),  # as torch wants them beside pointers, so that they stay on disk
        "x-values.npy": x.data.astype(np.float32),
    }
    for name, values in arrays.items():
        write_array(job.folder / name, values)
    return list(arrays)


def _without_features(job: Job) -> Facts:
    """All ids that edges and labels name, sorted; 0..n-1 where an adjacency matrix or labels without ids give n."""
    labels = job.labels
    given = job.edges.num_nodes if job.edges.num_nodes is not None or labels is None else labels.num_nodes
    if given is not None:
        return _facts(job, given, True, 0, [], rows_are_nodes=True)
    with (
        job.stage("node ids", job.edges.count) as done,
        contextlib.closing(IdWriter(job.folder / IDS, integers=job.integers)) as ids,
    ):
        query = "SELECT unnest([source, target]) AS id FROM edge_rows"
        schema = pa.schema([(end, id_type(job.integers)) for end in ("source", "target")])
        streams: dict[str, Any] = {"edge_rows": (schema, _ends(job, schema, done))}
        if labels is not None:
            query += " UNION ALL SELECT id FROM label_rows"
            streams["label_rows"] = labels.stream(integers=job.integers)
        for batch in job.engine.batches(f"SELECT DISTINCT id FROM ({query}) ORDER BY id", **streams):
            ids.write(batch.column(0).cast(id_type(job.integers)))
    if ids.count == 0:
        raise ValueError(f"{job.inputs.edges.place} has a header but no rows; write it again")
    return _facts(job, ids.count, ids.numbered, 0, [])


def _ends(job: Job, schema: Any, done: Any) -> Iterator[Any]:
    for source, target, _ in job.edges.batches(integers=job.integers):
        yield pa.record_batch([source, target], schema=schema)
        done(len(source))


def _facts(job: Job, nodes: int, numbered: bool, features: int, files: list[str], **known: Any) -> Facts:
    """The results of the stage. Ids 0, 1, 2... are not stored."""
    if numbered:
        (job.folder / IDS).unlink(missing_ok=True)
    files = files if numbered else [*files, IDS]
    return {"nodes": nodes, "numbered": numbered, "features": features, "files": files, "rows_are_nodes": False, **known}


def write_labels(job: Job, facts: Facts) -> Facts:
    """Writes y.npy, -1 where a node has no label; nothing where there are no labels."""
    rows, n = job.labels, facts["nodes"]
    if rows is None:
        return {"files": []}
    known = {"files": ["y.npy"], "classes": rows.names}
    if rows.array is not None:
        check_labels(rows.table.place, len(rows.array), n)
        write_array(job.folder / "y.npy", rows.array)
        return known
    y = new_array(job.folder / "y.npy", (n,), np.int64)
    y[:] = -1
    joined = f"label_rows l LEFT JOIN {job.nodes(facts)} n ON n.id = l.id"
    query = f"SELECT n.row, l.label, l.id FROM {joined} ORDER BY n.row NULLS FIRST"
    before, unknown, twice = -1, False, None
    with job.stage("labels", rows.table.size.rows, "nodes") as done:
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
    again = {"label_rows": rows.stream(integers=job.integers)}
    if unknown:
        ids = "SELECT id, 0 AS place FROM label_rows"
        job.refuse_unknown(facts, ids, f"{rows.table.place}: labelled node", "label", **again)
    if twice is not None:
        ((times,),) = job.engine.rows(f"SELECT count(*) FROM label_rows WHERE id = {literal(twice)}", **again)
        raise ValueError(f"{rows.table.place}: node {twice!r:.80} has {times} rows; keep one row per node")
    y.flush()  # type: ignore[attr-defined]  # a mapped array
    return known


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
