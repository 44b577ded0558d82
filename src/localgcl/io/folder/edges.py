"""Edges by node row -> CSR: both directions, without loops and repeats, weights merged.

`map_edges` looks up the rows of both ends of every edge. `write_edges` has DuckDB sort both directions, and merges repeats as
the sorted edges come by. Merging follows `Graph.symmetrized`.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from localgcl.config import LocalGCLWarning
from localgcl.graph.stored import open_array
from localgcl.io.columns import edge_of
from localgcl.io.folder.engine import parquet
from localgcl.io.folder.streams import id_type
from localgcl.io.folder.work import Facts, Job, blocks
from localgcl.io.numpy_files import ArrayWriter, new_array

MAPPED = "mapped.parquet"
_BLOCK = 1 << 22
# As in graph/merging.py: weights of two directions that differ by less are one number, computed twice.
_ROUNDING = 1e-5

Array = NDArray[Any]


class EdgeRun(NamedTuple):
    """Consecutive edges of a sorted list."""

    source: Array
    target: Array
    direction: Array | None = None
    """Where edges have weights: 0 as the user has the edge, 1 reversed."""
    weights: Array | None = None

    def part(self, where: slice) -> "EdgeRun":
        columns: list[Any] = [None if column is None else column[where] for column in self]
        return EdgeRun(*columns)

    def followed_by(self, other: "EdgeRun") -> "EdgeRun":
        columns: list[Any] = [None if a is None else np.concatenate([a, b]) for a, b in zip(self, other, strict=True)]
        return EdgeRun(*columns)


def map_edges(job: Job, facts: Facts) -> Facts:
    """Writes mapped.parquet: the rows of both ends of each edge (s, t) and its weight (w)."""
    kind = "INTEGER" if index_type(facts["nodes"]) is np.int32 else "BIGINT"
    weight = ", e.w" if job.edges.weighted else ""
    rows = _EdgeStream(job)
    with job.stage("edges", job.edges.count) as done:
        nodes = job.nodes(facts)
        query = (
            f"SELECT a.row::{kind} AS s, b.row::{kind} AS t{weight} FROM edge_rows e "
            f"JOIN {nodes} a ON a.id = e.source JOIN {nodes} b ON b.id = e.target"
        )
        found = job.engine.write(query, job.folder / MAPPED, edge_rows=rows.stream(done))
    if found < rows.count:
        # Sources first, then targets.
        ids = "SELECT unnest([source, target]) AS id, unnest([0, 1]) AS place FROM edge_rows"
        again = _EdgeStream(job).stream(lambda _: None)
        job.refuse_unknown(facts, ids, f"{job.inputs.edges.place}: node", "edges", edge_rows=again)
    if rows.count == 0 and rows.zeros == 0:
        raise ValueError(f"{job.inputs.edges.place} has a header but no rows; write it again")
    if rows.zeros:
        warnings.warn(f"{rows.zeros:,} edges of weight 0 are left out (first {rows.first_zero})", LocalGCLWarning, stacklevel=2)
    ((loops,),) = job.engine.rows(f"SELECT count(*) FROM {parquet(job.folder / MAPPED)} WHERE s = t")
    # Weights that are all 1 are no weights: repeats are then merged, not summed.
    return {"rows": rows.count, "loops": loops, "weighted": rows.differ, "files": []}


def write_edges(job: Job, facts: Facts) -> Facts:
    """Writes indptr.npy, indices.npy and weights.npy."""
    n, weighted = facts["nodes"], facts["weighted"]
    mapped = f"{parquet(job.folder / MAPPED)} WHERE s <> t"
    there, back = ("s, t, 0 AS d, w", "t, s, 1, w") if weighted else ("s, t", "t, s")
    order = "s, t, d, w" if weighted else "s, t"
    query = f"SELECT * FROM (SELECT {there} FROM {mapped} UNION ALL SELECT {back} FROM {mapped}) ORDER BY {order}"
    indptr = new_array(job.folder / "indptr.npy", (n + 1,), np.int64)
    merging = Merging(weighted=weighted)
    sums = job.folder / "sums.npy"
    with (
        job.stage("sorting", 2 * (facts["rows"] - facts["loops"])) as done,
        contextlib.closing(ArrayWriter(job.folder / "indices.npy", index_type(n))) as indices,
        contextlib.closing(ArrayWriter(sums, np.float64)) as weights,
    ):
        for part in merging.merged(_counted(job.engine.batches(query), done)):
            indices.append(part.target)
            if part.weights is not None:
                weights.append(part.weights)
            first = int(part.source[0])
            counts = np.bincount(part.source - first)
            indptr[first + 1 : first + 1 + len(counts)] += counts
    total = 0
    for block in blocks(n + 1, _BLOCK):
        indptr[block] = total + np.cumsum(indptr[block])
        total = int(indptr[block.stop - 1])
    indptr.flush()  # type: ignore[attr-defined]  # a mapped array
    kept = weighted and _write_weights(job, undirected=merging.undirected)
    sums.unlink()
    files = ["indptr.npy", "indices.npy", *(["weights.npy"] if kept else [])]
    return {"edges": indices.count, "files": files}


def _counted(batches: Iterator[Any], done: Callable[[int], object]) -> Iterator[EdgeRun]:
    for batch in batches:
        columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        done(len(columns[0]))
        yield EdgeRun(*columns)


def _write_weights(job: Job, *, undirected: bool) -> bool:
    """Writes weights.npy from the sums of both directions, in single precision; False, and no file, if all weights are 1."""
    sums, path = open_array(job.folder, "sums.npy"), job.folder / "weights.npy"
    ones = True
    with contextlib.closing(ArrayWriter(path, np.float32)) as out:
        for block in blocks(len(sums), _BLOCK):
            with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite
                weights = (sums[block] / 2 if undirected else sums[block]).astype(np.float32)
            if not np.isfinite(weights).all():
                raise ValueError(
                    f"{job.inputs.edges.place}: the weights of parallel edges sum to more than "
                    f"{np.finfo(np.float32).max:.1e}; rescale them"
                )
            ones = ones and bool((weights == 1).all())
            out.append(weights)
    if ones:
        path.unlink()
    return not ones


class _EdgeStream:
    """Streams the edges to DuckDB, and counts edges and weights of 0 on the way."""

    def __init__(self, job: Job) -> None:
        self.count = self.zeros = 0
        self.first_zero = ""
        self.differ = False
        """Whether a weight is other than 1."""
        self._job = job

    def stream(self, done: Callable[[int], object]) -> tuple[Any, Iterator[Any]]:
        """Schema and batches: source, target and w."""
        kind = id_type(self._job.integers)
        fields = [("source", kind), ("target", kind), ("w", pa.float32())]
        schema = pa.schema(fields if self._job.edges.weighted else fields[:2])
        return schema, self._batches(schema, done)

    def _batches(self, schema: Any, done: Callable[[int], object]) -> Iterator[Any]:
        for source, target, weights in self._job.edges.batches(integers=self._job.integers):
            done(len(source))
            columns = [source, target]
            if weights is not None:
                w = weights.to_numpy()
                zeros = np.flatnonzero(w == 0)
                if zeros.size and not self.zeros:
                    self.first_zero = edge_of(source, target)(int(zeros[0]))
                self.zeros += zeros.size
                self.differ = self.differ or bool((w[w > 0] != 1).any())
                columns = [source, target, weights]
                if zeros.size:
                    columns = [column.filter(pa.array(w > 0)) for column in columns]
            self.count += len(columns[0])
            yield pa.record_batch(columns, schema=schema)


class Merging:
    """Merges edges that come sorted by source, target, direction and weight.

    Args:
        weighted: Whether there are weights. The weight of an edge is then $w_{ij} + w_{ji}$, in double precision.
    """

    def __init__(self, *, weighted: bool) -> None:
        self.undirected = weighted
        """Whether each edge so far has the same weight in both directions, up to rounding; their sum then counts it twice."""

    def merged(self, runs: Iterable[EdgeRun]) -> Iterator[EdgeRun]:
        """The edges without repeats; no run is empty."""
        held: EdgeRun | None = None
        for run in runs:
            whole = run if held is None else held.followed_by(run)
            starts = np.flatnonzero(_is_first(whole))
            if len(starts) > 1:  # the last edge may go on in the next run
                yield self._merge(whole.part(slice(starts[-1])), starts[:-1])
            held = whole.part(slice(starts[-1], None)) if len(starts) else None
        if held is not None:
            yield self._merge(held, np.zeros(1, dtype=np.int64))

    def _merge(self, run: EdgeRun, starts: Array) -> EdgeRun:
        source, target = run.source[starts], run.target[starts]
        if run.weights is None or run.direction is None:
            return EdgeRun(source, target)
        weights, turned = run.weights.astype(np.float64), run.direction == 1
        # Repeats of one direction are summed to single precision first, as a Graph stores them.
        with np.errstate(over="ignore"):
            there, back = (
                np.add.reduceat(np.where(turned == way, weights, 0.0), starts).astype(np.float32) for way in (False, True)
            )
            least = _ROUNDING * np.minimum(there, back)
            self.undirected = self.undirected and bool((np.abs(there.astype(np.float64) - back) <= least).all())
        return EdgeRun(source, target, weights=there.astype(np.float64) + back)


def _is_first(run: EdgeRun) -> NDArray[np.bool_]:
    """Which entries differ from the one before in an end."""
    first = np.ones(len(run.source), dtype=np.bool_)
    first[1:] = (run.source[1:] != run.source[:-1]) | (run.target[1:] != run.target[:-1])
    return first


def index_type(count: int) -> type[np.int32] | type[np.int64]:
    """The smallest type of indices below `count`."""
    return np.int32 if count < 2**31 else np.int64
