"""Targets that are no classes: one or more columns of numbers, by node id. NaN is unknown."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

from localgcl.io.cells import BOOLEAN, NUMBER, cells_of, values
from localgcl.io.columns import labels_of, unique_ids, with_id_first
from localgcl.io.files import read_classes, read_features
from localgcl.io.formats import TABLES, id_table, kind_of, read_arrays
from localgcl.io.ids import Nodes, Rows, labels_by_node
from localgcl.io.labels import Labels
from localgcl.io.roles import Columns
from localgcl.system.text import listed, shown

Array = NDArray[Any]


def read_targets(path: str | os.PathLike[str], *, id: str | None = None, wanted: Sequence[str] = ()) -> Rows:
    """Targets in a file, a float64 column each; NaN where a cell is empty.

    Args:
        path: CSV, TSV or Parquet with the node id and one or more columns of numbers or booleans; NPY or NPZ with `y`: a row
            for each of the nodes 0..n-1.
        id: The column of node ids; the first one when not given.
        wanted: The columns to take, in this order; all but the id when not given.

    Raises:
        ValueError: Columns are missing or hold something else; all of them are named.
    """
    path = Path(path)
    kind, place = kind_of(path), shown(path)
    if kind not in TABLES:
        if wanted:
            raise ValueError(f"{place} has no columns to name with target_columns (--target-columns); leave it out")
        return Rows(place, None, _matrix(read_arrays(path, kind, ("y",))["y"], place))
    table = _table(path, id)
    ids = unique_ids(table, place, parse=True)
    names = _chosen(table.column_names[1:], wanted, place)
    columns = {name: _numbers(cells_of(table.column(name))) for name in names}
    wrong = [name for name, found in columns.items() if found is None]
    if wrong:
        raise ValueError(
            f"{place}: targets are numbers, and these columns are not: {listed(wrong)}; name others (--target-columns), or "
            "give one column of classes"
        )
    return Rows(place, ids, np.stack([found for found in columns.values() if found is not None], axis=1), tuple(names))


def read_answers(
    path: str | os.PathLike[str], nodes: Nodes, *, id: str | None = None, wanted: Sequence[str] = (), task: str = "auto"
) -> Labels | Array:
    """What a file has for each of the `nodes`: classes, or a row of other targets.

    Args:
        path: As for `read_targets`; or one column of classes, as for `read_graph`.
        nodes: The nodes, in order.
        id: The column of node ids; the first one when not given.
        wanted: The columns to take; all but the id when not given.
        task: "classes"; "auto": several columns, or one of numbers that are not whole, are other targets; anything else: they
            are other targets.
    """
    path = Path(path)
    if task == "classes" or (task == "auto" and not _holds_targets(path, id, wanted)):
        rows = _classes(path, id, wanted)
        return Labels(labels_by_node(rows, nodes), rows.names)
    return targets_by_node(read_targets(path, id=id, wanted=wanted), nodes)


def read_labelled_embeddings(
    embeddings: str | os.PathLike[str], labels: str | os.PathLike[str], **answers: Any
) -> tuple[Array, Labels | Array]:
    """Reads embeddings, shape (n, d), and what is known of each row, matched by node id.

    Args:
        embeddings: CSV, TSV or Parquet with the id first; NPY or NPZ with `x` for the nodes 0..n-1.
        labels: As for `read_answers`.
        **answers: `id`, `wanted` and `task` of `read_answers`.
    """
    rows = read_features(Path(embeddings))
    if sp.issparse(rows.values):
        raise ValueError(f"{shown(embeddings)} is a sparse matrix; give one dense row per node")
    return rows.values, read_answers(labels, Nodes.of_rows(rows), **answers)


def _classes(path: Path, id: str | None, wanted: Sequence[str]) -> Rows:
    if not wanted:
        return read_classes(path, Columns(id=id))
    place = shown(path)
    table = _table(path, id)
    names = _chosen(table.column_names[1:], wanted, place)
    return labels_of(table.select([table.column_names[0], *names]), place, parse_ids=True)


def _holds_targets(path: Path, id: str | None, wanted: Sequence[str]) -> bool:
    """Whether a file has several columns of targets, or one of numbers that are not whole."""
    kind = kind_of(path)
    if kind not in TABLES:
        y = read_arrays(path, kind, ("y",))["y"]
        found = y if getattr(y, "dtype", np.dtype(object)).kind == "f" else None
        return (getattr(y, "ndim", 1) == 2 and y.shape[1] > 1) or _fractional(found)
    table = _table(path, id)
    names = _chosen(table.column_names[1:], wanted, shown(path))
    return len(names) > 1 or _fractional(values(cells_of(table.column(names[0])), NUMBER))


def _fractional(found: Array | None) -> bool:
    return found is not None and bool((found[np.isfinite(found)] % 1 != 0).any())


def _table(path: Path, id: str | None) -> Any:
    """The table in a file, the node id first."""
    return with_id_first(id_table(path, kind_of(path), pa.string(), Columns(id=id)), id, shown(path))


def targets_by_node(targets: Rows, nodes: Nodes) -> Array:
    """The targets of each node, in node order; NaN for nodes that have none."""
    number = len(nodes.ids)
    if targets.ids is None:
        if len(targets.values) != number:
            raise ValueError(f"{targets.place} has {len(targets.values)} rows for {number} nodes; give one per node")
        return np.asarray(targets.values)
    found = np.full((number, targets.values.shape[1]), np.nan)
    found[nodes.positions(targets.ids, f"{targets.place}: node", "row")] = targets.values
    return found


def _chosen(names: Sequence[str], wanted: Sequence[str], place: str) -> list[str]:
    missing = [name for name in wanted if name not in names]
    if missing or not names:
        raise ValueError(f"{place} has the columns {listed(names)}, and no {listed(missing)}; name targets that it has")
    return list(wanted or names)


def _numbers(cells: Any) -> Array | None:
    found = values(cells, NUMBER)
    return values(cells, BOOLEAN) if found is None else found


def _matrix(y: Any, place: str) -> Array:
    if getattr(y, "ndim", 0) not in (1, 2) or y.dtype.kind not in "biuf":
        raise ValueError(f"{place} holds no numbers with a row for each node; targets have shape (n,) or (n, targets)")
    return np.asarray(y, dtype=np.float64).reshape(len(y), -1)
