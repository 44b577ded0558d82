"""The first stage: which nodes there are, in which order, and their features."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse as sp

from localgcl.io.columns import features_of
from localgcl.io.damage import decoding
from localgcl.io.files import read_features
from localgcl.io.folder.engine import parquet
from localgcl.io.folder.features import EncodedBlocks, FeatureBlocks
from localgcl.io.folder.inputs import Table
from localgcl.io.folder.labels import LabelRows
from localgcl.io.folder.streams import batches, empty_table, id_parts, id_type
from localgcl.io.folder.work import Facts, Job, blocks
from localgcl.io.numpy_files import write_array, writing
from localgcl.io.roles import DEFAULT

IDS = "ids.parquet"
_BLOCK = 1 << 22  # numbers of an array at a time
_GROUP = 1 << 20  # rows of a row group: the same whatever the size of the batches


def write_nodes(job: Job, _: Facts) -> Facts:
    """Nodes in the order of the features' rows, or of their sorted ids. Writes ids.parquet, and x if features are given."""
    table = job.inputs.features
    if table is None:
        return _without_features(job)
    return _array_features(job, table) if table.is_array else _table_features(job, table)


def feature_head(table: Table | None, id: str | None) -> list[tuple[Any, str]]:
    """The ids in the first rows of a table of features, with their place."""
    if table is None or table.is_array:
        return []
    part = id_parts(table, id)[0]
    first = next(batches(part, [0], [pa.string()]), None)
    return [] if first is None else [(first[0], f"{part.place}, id column {part.names[0]!r:.80}")]


def _table_features(job: Job, table: Table) -> Facts:
    columns = job.inputs.columns
    parts = id_parts(table, columns.id)
    head = empty_table(parts[0], pa.float32())
    found: FeatureBlocks | EncodedBlocks
    if columns.encode is not None:
        found = EncodedBlocks(parts, table.place, columns)
    else:
        for part in parts:
            features_of(empty_table(part, pa.float32()), part.place, columns=DEFAULT._replace(drop=columns.drop))
        found = FeatureBlocks(parts, table.place, columns.drop or ())
    names = found.names
    with (
        job.progress.stage("features", table.size.rows, "nodes") as done,
        writing(job.folder / "x.npy", np.float32, len(names)) as x,
        writing_ids(job.folder / IDS, integers=job.integers) as ids,
    ):
        for nodes, values in found.read(integers=job.integers):
            ids.write(nodes)
            x.append(values)
            done(len(nodes))
    found.check()
    if ids.count == 0:
        raise ValueError(f"{table.place} has a header but no rows; write it again")
    _refuse_repeats(job, table, numbered=ids.numbered)
    types = {field.name: str(field.type) for field in head.schema}
    known: dict[str, Any] = {"feature_names": list(names), "column_types": types}
    known["encoding"] = found.encoding.to_dict() if isinstance(found, EncodedBlocks) else None
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
    if job.inputs.columns.encode is not None or job.inputs.columns.drop:
        read_features(path, job.inputs.columns)  # refuses them
    if kind == ".npz":
        x: Any = read_features(path).values
    else:
        with decoding(table.place):
            x = np.load(path, mmap_mode="r", allow_pickle=False)
        if x.dtype.kind not in "biuf" or x.ndim not in (1, 2) or 0 in x.shape:
            raise ValueError(f"{table.place} has shape {x.shape} and type {x.dtype}; features are numbers, one row per node")
        x = x[:, None] if x.ndim == 1 else x
    if isinstance(x, sp.csr_array):
        return _facts(job, x.shape[0], True, x.shape[1], _write_sparse(job, x), rows_are_nodes=True)
    rows = max(1, _BLOCK // x.shape[1])
    with (
        job.progress.stage("features", len(x), "nodes") as done,
        writing(job.folder / "x.npy", np.float32, x.shape[1]) as out,
    ):
        for block in blocks(len(x), rows):
            with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite
                values = np.asarray(x[block]).astype(np.float32)
            wrong = np.flatnonzero(~np.isfinite(values).all(axis=1))
            if wrong.size:
                node = block.start + int(wrong[0])
                raise ValueError(f"{table.place}: node {node} has a feature that is NaN or infinite; fill or drop it")
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
    labels = None if job.inputs.labels is None else LabelRows(job.inputs.labels, job.inputs.columns.id)
    given = job.edges.num_nodes if job.edges.num_nodes is not None or labels is None else labels.num_nodes
    if given is not None:
        return _facts(job, given, True, 0, [], rows_are_nodes=True)
    with (
        job.progress.stage("node ids", job.edges.count) as done,
        writing_ids(job.folder / IDS, integers=job.integers) as ids,
    ):
        query = "SELECT unnest([source, target]) AS id FROM edge_rows"
        streams: dict[str, Any] = {"edge_rows": (_ends_schema(job), _ends(job, done))}
        if labels is not None:
            query += " UNION ALL SELECT id FROM label_rows"
            streams["label_rows"] = labels.stream(integers=job.integers)
        for batch in job.engine.batches(f"SELECT DISTINCT id FROM ({query}) ORDER BY id", **streams):
            ids.write(batch.column(0).cast(id_type(job.integers)))
    if ids.count == 0:
        raise ValueError(f"{job.inputs.edges.place} has a header but no rows; write it again")
    return _facts(job, ids.count, ids.numbered, 0, [])


def _ends_schema(job: Job) -> Any:
    return pa.schema([("source", id_type(job.integers)), ("target", id_type(job.integers))])


def _ends(job: Job, done: Any) -> Iterator[Any]:
    for batch in job.edges.batches(integers=job.integers):
        yield pa.record_batch([batch.source, batch.target], schema=_ends_schema(job))
        done(len(batch.source))


def _facts(job: Job, nodes: int, numbered: bool, features: int, files: list[str], **known: Any) -> Facts:
    """The results of the stage. Ids 0, 1, 2... are not stored."""
    if numbered:
        (job.folder / IDS).unlink(missing_ok=True)
    files = files if numbered else [*files, IDS]
    return {"nodes": nodes, "numbered": numbered, "features": features, "files": files, "rows_are_nodes": False, **known}


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


@contextlib.contextmanager
def writing_ids(path: Path, *, integers: bool) -> Iterator[IdWriter]:
    """An IdWriter that is closed at the end."""
    writer = IdWriter(path, integers=integers)
    try:
        yield writer
    finally:
        writer.close()
