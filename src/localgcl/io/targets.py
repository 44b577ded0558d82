"""What a file says about nodes, by node id: classes, or other targets: columns of numbers, NaN where unknown."""

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
from localgcl.io.files import label_values, read_features
from localgcl.io.formats import TABLES, id_table, kind_of
from localgcl.io.ids import Nodes, Rows, labels_by_node
from localgcl.io.labels import Labels, read_labels
from localgcl.io.roles import Columns
from localgcl.system.text import listed, shown

Array = NDArray[Any]


def read_answers(
    path: str | os.PathLike[str], nodes: Nodes, *, id: str | None = None, wanted: Sequence[str] = (), task: str = "auto"
) -> Labels | Array:
    """What a file has for each of the `nodes`: classes, or a row of other targets.

    Args:
        path: CSV, TSV or Parquet with the node id, and one column of classes, as for `read_graph`, or one or more of numbers or
            booleans; NPY or NPZ with `y`: a row for each of the nodes 0..n-1.
        nodes: The nodes, in order.
        id: The column of node ids; the first one when not given.
        wanted: The columns to take, in this order; all but the id when not given.
        task: "classes"; "auto": several columns, or one of numbers that are not whole, are other targets; anything else: they
            are other targets.

    Raises:
        ValueError: Columns are missing or hold something else; all of them are named.
    """
    path = Path(path)
    kind, place = kind_of(path), shown(path)
    if kind not in TABLES:
        if wanted:
            raise ValueError(f"{place} has no columns to name with target_columns (--target-columns); leave it out")
        y = label_values(path, kind)
        several = y.ndim == 2 and y.shape[1] > 1
        if task == "classes" or (task == "auto" and not several and not (y.dtype.kind == "f" and _fractional(y))):
            read = read_labels(y, place)
            return Labels(labels_by_node(Rows(place, None, read.numbers), nodes), read.names)
        return _targets_by_node(Rows(place, None, _matrix(y, place)), nodes)
    table = with_id_first(id_table(path, kind, pa.string(), Columns(id=id)), id, place)
    first, *names = table.column_names
    missing = [name for name in wanted if name not in names]
    if missing or not names:
        raise ValueError(f"{place} has the columns {listed(names)}, and no {listed(missing)}; name targets that it has")
    if wanted:
        table = table.select([first, *dict.fromkeys(wanted)])
    one = values(cells_of(table.column(1)), NUMBER) if table.num_columns == 2 else None
    if task == "classes" or (task == "auto" and table.num_columns == 2 and (one is None or not _fractional(one))):
        rows = labels_of(table, place, parse_ids=True)
        return Labels(labels_by_node(rows, nodes), rows.names)
    return _targets_by_node(_targets_of(table, place), nodes)


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


def _targets_of(table: Any, place: str) -> Rows:
    """The targets in a table with the node id first, a float64 column each; NaN where a cell is empty."""
    ids = unique_ids(table, place, parse=True)
    columns = {name: _numbers(cells_of(table.column(name))) for name in table.column_names[1:]}
    wrong = [name for name, found in columns.items() if found is None]
    if wrong:
        raise ValueError(
            f"{place}: targets are numbers, and these columns are not: {listed(wrong)}; name others (--target-columns), or "
            "give one column of classes"
        )
    return Rows(place, ids, np.stack([found for found in columns.values() if found is not None], axis=1), tuple(columns))


def _targets_by_node(targets: Rows, nodes: Nodes) -> Array:
    """The targets of each node, in node order; NaN for nodes that have none."""
    number = len(nodes.ids)
    if targets.ids is None:
        if len(targets.values) != number:
            raise ValueError(f"{targets.place} has {len(targets.values)} rows for {number} nodes; give one per node")
        return np.asarray(targets.values)
    found = np.full((number, targets.values.shape[1]), np.nan)
    found[nodes.positions(targets.ids, f"{targets.place}: node", "row")] = targets.values
    return found


def _fractional(found: Array) -> bool:
    return bool((found[np.isfinite(found)] % 1 != 0).any())


def _numbers(cells: Any) -> Array | None:
    found = values(cells, NUMBER)
    return values(cells, BOOLEAN) if found is None else found


def _matrix(y: Array, place: str) -> Array:
    if y.ndim not in (1, 2) or y.dtype.kind not in "biuf":
        raise ValueError(f"{place} holds no numbers with a row for each node; targets have shape (n,) or (n, targets)")
    return np.asarray(y, dtype=np.float64).reshape(len(y), -1)
