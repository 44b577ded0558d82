"""Labels by node id -> y.npy, one class number a node."""

import itertools

import numpy as np

from localgcl.io.folder.arrays import new_array, write_array
from localgcl.io.folder.job import Facts, Job
from localgcl.io.folder.label_rows import LabelRows


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
    _, batches = rows.stream(integers=job.integers)
    times = sum(itertools.chain.from_iterable((name == node for name in batch.column(0).to_pylist()) for batch in batches))
    raise ValueError(f"{rows.table.place}: node {node!r:.80} has {times} rows; keep one row per node")
