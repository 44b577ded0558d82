r"""Structural features of a graph that need not fit in memory: those of `structural_features`, some columns at a time.

Columns of $P^k R$ do not depend on each other. So memory holds as many columns as fit, the edges are read from disk once a
hop, and each group of columns goes to a file of its own. A last pass puts the groups side by side.
"""

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from localgcl.config import LocalGCLWarning
from localgcl.graph.prepare import hashed_signs, standardised, structural_columns
from localgcl.graph.stored import open_array
from localgcl.io.folder.edges import MAPPED
from localgcl.io.folder.engine import parquet
from localgcl.io.folder.work import Facts, Job, blocks
from localgcl.io.ids import ids_to_numpy
from localgcl.io.numpy_files import ArrayWriter, write_array

HOPS = 3
_ROWS, _EDGES = 1 << 16, 1 << 22
_COPIES = 8 + 8 + 8 + 4  # bytes of a number: before a step, after it, and while it is standardised
Array = NDArray[Any]


def write_structural(job: Job, facts: Facts) -> Facts:
    """Writes x.npy where no features were given, with a warning; otherwise nothing."""
    if job.inputs.features is not None:
        return {"files": []}
    columns = structural_columns(facts["nodes"])
    width, extra = divmod(columns - 1, HOPS)
    widths = [width + (hop < extra) for hop in range(HOPS)]
    walks = _Walks(job, facts)
    at_once = max(1, min(widths[0], job.memory // 2 // (_COPIES * facts["nodes"])))
    groups = [slice(start, min(widths[0], start + at_once)) for start in range(0, widths[0], at_once)]
    with job.stage("structural features", len(groups) * HOPS, "passes") as done:
        write_array(job.folder / "column-0.npy", standardised(np.log1p(walks.degree, dtype=np.float64)[:, None]))
        for number, group in enumerate(groups):
            signal = walks.signs(group)
            for hop in range(HOPS):
                signal = walks.step(signal)
                kept = signal[:, : max(0, widths[hop] - group.start)]
                write_array(job.folder / f"walk-{hop}-{number}.npy", standardised(kept))
                done(1)
    names = ["column-0.npy", *(f"walk-{hop}-{number}.npy" for hop in range(HOPS) for number in range(len(groups)))]
    _join(job, names, facts["nodes"])
    warnings.warn(
        f"no features given: using {columns} structural features computed from the edges alone (log degree and hashed random "
        "walks); give --features if the nodes have any",
        LocalGCLWarning,
        stacklevel=2,
    )
    # Features without names that have a type: so it is known that new edges would change them.
    return {"features": columns, "files": ["x.npy"], "column_types": {"structural features": "float"}}


class _Walks:
    """The matrix $P = D^{-1} A$, read from disk block by block. Self-loops count, as for a graph that is read as it is."""

    def __init__(self, job: Job, facts: Facts) -> None:
        self._job, self._facts = job, facts
        self._indptr, self._indices = open_array(job.folder, "indptr.npy"), open_array(job.folder, "indices.npy")
        self._weights = open_array(job.folder, "weights.npy") if (job.folder / "weights.npy").exists() else None
        weight = "sum(w::DOUBLE)" if facts["weighted"] else "1.0"
        loops = f"SELECT s, {weight} FROM {parquet(job.folder / MAPPED)} WHERE s = t GROUP BY s ORDER BY s"
        found = job.engine.rows(loops)
        self._loops = np.array([node for node, _ in found], dtype=np.int64)
        self._loop_weights = np.array([weight for _, weight in found], dtype=np.float32)
        self.degree = np.concatenate([np.asarray(rows.sum(axis=1)).ravel() for rows in self._blocks()])
        self._inverse = 1 / np.where(self.degree > 0, self.degree, 1)

    def step(self, signal: Array) -> Array:
        """$P$ times a signal."""
        averaged, start = np.empty_like(signal), 0
        for rows in self._blocks():
            stop = start + rows.shape[0]
            averaged[start:stop] = (sp.diags_array(self._inverse[start:stop]) @ rows) @ signal
            start = stop
        return averaged

    def signs(self, columns: slice) -> Array:
        """Some columns of R, a sign for each node and column."""
        signs = np.empty((self._facts["nodes"], columns.stop - columns.start))
        start = 0
        for ids in self._ids():
            signs[start : start + len(ids)] = hashed_signs(ids, columns.stop)[:, columns]
            start += len(ids)
        return signs

    def _ids(self) -> Iterator[Array]:
        if self._facts["numbered"]:
            yield from (np.arange(rows.start, rows.stop) for rows in blocks(self._facts["nodes"], _ROWS))
            return
        query = f"SELECT id FROM {parquet(self._job.folder / 'ids.parquet')} ORDER BY file_row_number"
        for batch in self._job.engine.batches(query):
            yield ids_to_numpy(batch.column(0))

    def _blocks(self) -> Iterator[Any]:
        """Blocks of rows of the adjacency matrix, of `_EDGES` edges at most, or of one row."""
        n, start = self._facts["nodes"], 0
        while start < n:
            limit = int(self._indptr[start]) + _EDGES
            stop = max(start + 1, int(np.searchsorted(self._indptr, limit, side="right")) - 1)
            first, last = int(self._indptr[start]), int(self._indptr[stop])
            ones = np.ones(last - first, dtype=np.float32)
            values = ones if self._weights is None else np.asarray(self._weights[first:last])
            parts = values, np.asarray(self._indices[first:last]), np.asarray(self._indptr[start : stop + 1]) - first
            yield sp.csr_array(parts, shape=(stop - start, n)) + self._diagonal(start, stop)
            start = stop

    def _diagonal(self, start: int, stop: int) -> Any:
        """The self-loops of some rows."""
        here = slice(*np.searchsorted(self._loops, [start, stop]).tolist())
        nodes, weights = self._loops[here], self._loop_weights[here]
        return sp.csr_array((weights, (nodes - start, nodes)), shape=(stop - start, self._facts["nodes"]))


def _join(job: Job, names: list[str], nodes: int) -> None:
    """Puts columns side by side in x.npy, and removes their files."""
    parts = [open_array(job.folder, name) for name in names]
    with contextlib.closing(ArrayWriter(job.folder / "x.npy", np.float32, sum(part.shape[1] for part in parts))) as x:
        for rows in blocks(nodes, _ROWS):
            x.append(np.concatenate([part[rows] for part in parts], axis=1))
    del parts
    for name in names:
        (job.folder / name).unlink()
