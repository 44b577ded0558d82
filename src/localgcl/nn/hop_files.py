r"""Rows of $M^k X$ on disk, for graphs that do not fit in memory: computed once, in blocks of rows, and mapped.

A file is named after what it was made of: graph, scaling, statistics, Fourier columns and channel. It appears whole or not at
all, so a run that is stopped goes on with the files that are there. Several processes may compute a file together.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from localgcl.graph.csr import as_features
from localgcl.graph.mapped import MappedGraph, blocks, shared_rows
from localgcl.graph.stored import FolderError
from localgcl.io.parts import write_rows
from localgcl.nn.columns import ColumnMap
from localgcl.ops.propagation import Averages, Numbers
from localgcl.system.team import ALONE, Team


class Rows(NamedTuple):
    """The rows of a channel, mapped, and which of them are not all zero."""

    values: Float[Tensor, "n f"]
    present: Bool[Tensor, " n"]


def channel_rows(graph: MappedGraph, matrix: str, power: int, columns: ColumnMap | None, team: Team = ALONE) -> Rows:
    """The rows of $M^k X$. They are computed on first use, from those of $M^{k-1} X$, by all processes of `team`."""
    key = _key(graph, columns)
    path = graph.cache / f"{key}-{matrix}{power}X.npy" if power else graph.cache / f"{key}-X.npy"
    if power == 0 and graph.scaling == "raw" and columns is None:
        assert graph.folder is not None
        return _open(graph.folder / "x.npy", graph.cache / f"{key}-X.present.npy", graph, team)
    if not _is_there(path, team):
        compute = _features(graph, columns) if power == 0 else _averages(graph, matrix, power, columns, team)
        width = graph.num_features if columns is None else columns.width
        _write(path, (graph.num_nodes, width), "float32", compute, team)
    return _open(path, path.with_suffix(".present.npy"), graph, team)


def _write(path: Path, shape: tuple[int, ...], kind: str, compute: Callable[[range], Numbers], team: Team) -> None:
    """Writes the rows that `compute` gives, each process its share of the blocks: the bytes do not depend on the team."""
    rows = shared_rows(shape[0], team)
    write_rows(path, shape, kind, rows, map(compute, blocks(rows)), team)


def _is_there(path: Path, team: Team) -> bool:
    """Whether the first process sees the file; if not, it makes the folder.

    The others do not look: a network file system would remember for seconds that there was none.
    """
    there = team.rank == 0 and path.is_file()
    if team.rank == 0 and not there:
        path.parent.mkdir(parents=True, exist_ok=True)
    return team.broadcast(there)


def _features(graph: MappedGraph, columns: ColumnMap | None) -> Callable[[range], Numbers]:
    def compute(rows: range) -> Numbers:
        x = graph.features(rows)
        return (x if columns is None else columns(x.to(next(columns.buffers()).device))).detach().cpu().numpy()

    return compute


def _averages(graph: MappedGraph, matrix: str, power: int, columns: ColumnMap | None, team: Team) -> Callable[[range], Numbers]:
    before = channel_rows(graph, matrix if power > 1 else "", power - 1, columns, team).values.numpy()
    averages = Averages.of(graph, float(matrix == "S"))
    return lambda rows: averages.product(before, rows)


def _open(path: Path, marks: Path, graph: MappedGraph, team: Team) -> Rows:
    values = as_features(_array(path, graph.num_nodes, mode="r"), copy=True)  # read-only, so nothing is copied
    if not _is_there(marks, team):

        def present(rows: range) -> Numbers:
            # Fourier columns come after those of X, and are never all zero.
            own: Numbers = (values[rows.start : rows.stop, : graph.num_features] != 0).any(dim=1).numpy()
            return own

        _write(marks, (graph.num_nodes,), "bool", present, team)
    return Rows(values, torch.from_numpy(_array(marks, graph.num_nodes)))


def _array(path: Path, num_rows: int, mode: Literal["r"] | None = None) -> Numbers:
    """An array with a row for each node; FolderError if the file was damaged after it was written."""
    try:
        array: Numbers = np.load(path, mmap_mode=mode, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise FolderError(f"{path} cannot be read; delete it, and it is computed again") from error
    if len(array) != num_rows:
        raise FolderError(f"{path} has {len(array)} rows for {num_rows} nodes; delete it, and it is computed again")
    return array


def _key(graph: MappedGraph, columns: ColumnMap | None) -> str:
    digest = hashlib.sha256(graph.fingerprint.encode())
    if columns is not None:
        for part in columns.buffers():
            digest.update(part.cpu().numpy().tobytes())
    return digest.hexdigest()[:16]
