r"""Rows of $M^k X$ on disk, for graphs that do not fit in memory: computed once, in blocks of rows, and mapped.

A file is named after what it was made of: graph, scaling, statistics, Fourier columns and channel. It appears whole or not at
all, so a run that is stopped goes on with the files that are there.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from localgcl.graph.csr import as_features
from localgcl.graph.mapped import MappedGraph, blocks, inverse_roots
from localgcl.io.parts import write_npy
from localgcl.nn.fourier import FourierColumns
from localgcl.ops.cpu.averaging import average_rows
from localgcl.system.files import replacing


class Rows(NamedTuple):
    """The rows of a channel, mapped, and which of them are not all zero."""

    values: Float[Tensor, "n f"]
    present: Bool[Tensor, " n"]


def channel_rows(graph: MappedGraph, matrix: str, power: int, widen: FourierColumns | None) -> Rows:
    """The rows of $M^k X$. They are computed on first use, from those of $M^{k-1} X$."""
    key = _key(graph, widen)
    path = graph.cache / f"{key}-{matrix}{power}X.npy" if power else graph.cache / f"{key}-X.npy"
    if power == 0 and graph.scaling == "raw" and widen is None:
        assert graph.folder is not None
        return _open(graph.folder / "x.npy", graph.cache / f"{key}-X.present.npy", graph)
    if not path.is_file():
        graph.cache.mkdir(parents=True, exist_ok=True)
        _write(path, graph, _features(graph, widen) if power == 0 else _averages(graph, matrix, power, widen))
    return _open(path, path.with_suffix(".present.npy"), graph)


def _features(graph: MappedGraph, widen: FourierColumns | None) -> Callable[[range], NDArray[Any]]:
    def compute(rows: range) -> NDArray[Any]:
        x = graph.features(rows)
        return (x if widen is None else widen(x.to(widen.phases.device))).detach().cpu().numpy()

    return compute


def _averages(graph: MappedGraph, matrix: str, power: int, widen: FourierColumns | None) -> Callable[[range], NDArray[Any]]:
    before = channel_rows(graph, matrix if power > 1 else "", power - 1, widen).values.numpy()
    self_loops = float(matrix == "S")
    weights = None if graph.weights is None else graph.weights.numpy()
    parts = graph.indptr.numpy(), graph.indices.numpy(), weights, inverse_roots(graph, self_loops)
    return lambda rows: average_rows(*parts, before, rows, self_loops)


def _write(path: Path, graph: MappedGraph, compute: Callable[[range], NDArray[Any]]) -> None:
    """Writes an (n, f) array from front to back."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        write_npy(file, map(compute, blocks(graph.num_nodes)), graph.num_nodes)


def _open(path: Path, marks: Path, graph: MappedGraph) -> Rows:
    values = as_features(np.load(path, mmap_mode="r", allow_pickle=False), copy=True)  # read-only, so nothing is copied
    if not marks.is_file():
        marks.parent.mkdir(parents=True, exist_ok=True)
        # Fourier columns come after those of X, and are never all zero.
        own = values[:, : graph.num_features]
        present = np.concatenate([(own[rows.start : rows.stop] != 0).any(dim=1).numpy() for rows in blocks(graph.num_nodes)])
        with replacing(marks) as temporary, temporary.open("wb") as file:
            np.save(file, present)
    return Rows(values, torch.from_numpy(np.load(marks, allow_pickle=False)))


def _key(graph: MappedGraph, widen: FourierColumns | None) -> str:
    digest = hashlib.sha256(graph.fingerprint.encode())
    if widen is not None:
        for part in (widen.frequencies, widen.phases):
            digest.update(part.cpu().numpy().tobytes())
    return digest.hexdigest()[:16]
