"""Graph folders: opened as a graph, for some of their rows, or prepared, with arrays that stay on disk."""

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from localgcl.config import Preparation, Scaling
from localgcl.graph import Graph, Split
from localgcl.graph.arrays import text_ids
from localgcl.graph.csr import CSR, as_features
from localgcl.graph.prepare import ColumnStatistics, scale
from localgcl.graph.stored import SPARSE, FolderError, Header, open_array, read_header
from localgcl.system.team import Team, share

_AGAIN = "run localgcl convert again"
_MOST_READ = 2**26
"""Edges of larger graphs stay on disk, too, in the integers of the folder."""


def open_graph(folder: str | os.PathLike[str]) -> Graph:
    """The graph in a folder that `localgcl convert` made. O(|E|) for up to 67 million edges; features are mapped, not read.

    Raises:
        FolderError: A file is missing, cut, changed or damaged; the message names it.
    """
    folder = Path(folder)
    header = read_header(folder)
    csr = _edges(folder, header)
    if header.edges <= _MOST_READ:
        csr = CSR(csr.indptr, csr.indices.long(), weights=csr.weights, simple=True)
    x = _features(folder, header)
    y = _array(folder, "y.npy", (header.nodes,), np.int64) if "y.npy" in header.files else None
    return Graph(
        csr.indptr,
        csr.indices,
        x if isinstance(x, Tensor) else x.to_torch(),
        None if y is None else _tensor(y),
        splits=_splits(folder, header),
        node_ids=_node_ids(folder, header),
        name=header.name,
        structure=csr,
        feature_names=header.feature_names,
        weights=csr.weights,
        folder=folder,
        class_names=header.classes,
        encoding=header.encoding,
        structural=header.structural,
        trusted=True,
    )


class StoredRows(NamedTuple):
    """The edges and features of a graph folder, mapped: only the rows that are asked for are read."""

    header: Header
    edges: CSR
    x: Tensor | CSR

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> "StoredRows":
        """Maps the arrays; FolderError as for `open_graph`."""
        folder, header = Path(folder), read_header(folder)
        return cls(header, _edges(folder, header), _features(folder, header))

    def features(self, nodes: Int[Tensor, " b"]) -> Tensor:
        """Features of some nodes, as they are stored."""
        return self.x[nodes] if isinstance(self.x, Tensor) else self.x.take(nodes).to_torch()


def _edges(folder: Path, header: Header) -> CSR:
    indptr = _array(folder, "indptr.npy", (header.nodes + 1,), np.int64)
    if int(indptr[-1]) != header.edges:
        raise FolderError(f"{folder / 'indptr.npy'} ends at {int(indptr[-1]):,} and not at {header.edges:,} edges; {_AGAIN}")
    indices = _array(folder, "indices.npy", (header.edges,), np.int32, np.int64)
    weights = _array(folder, "weights.npy", (header.edges,), np.float32) if "weights.npy" in header.files else None
    return CSR(_tensor(indptr), _tensor(indices), weights=None if weights is None else _tensor(weights), simple=True)


def _features(folder: Path, header: Header) -> Tensor | CSR:
    """Features as they are stored: a dense array, or rows of entries whose weights are the values."""
    if "x.npy" in header.files:
        dense = _array(folder, "x.npy", (header.nodes, header.features), np.float32)
        return as_features(dense, copy=True)  # mapped read-only, so nothing is copied
    pointers = _array(folder, SPARSE[0], (header.nodes + 1,), np.int64)
    stored = (int(pointers[-1]),)
    columns, values = _array(folder, SPARSE[1], stored, np.int32, np.int64), _array(folder, SPARSE[2], stored, np.float32)
    return CSR(_tensor(pointers), _tensor(columns), header.features, weights=_tensor(values))


def _splits(folder: Path, header: Header) -> tuple[Split, ...]:
    if "splits.npy" not in header.files:
        return ()
    table = open_array(folder, "splits.npy")
    if table.ndim != 2 or len(table) != header.nodes:
        raise FolderError(f"{folder / 'splits.npy'} has shape {table.shape}, but there are {header.nodes} nodes; {_AGAIN}")
    columns = ([torch.from_numpy(np.flatnonzero(column == part)) for part in (1, 2, 3)] for column in table.T)
    return tuple(Split(train, val, test, f"split-{number}") for number, (train, val, test) in enumerate(columns))


def _node_ids(folder: Path, header: Header) -> NDArray[Any]:
    if "ids.parquet" not in header.files:
        return np.arange(header.nodes)
    import pyarrow.parquet

    names = pyarrow.parquet.read_table(folder / "ids.parquet", columns=["id"]).column(0)
    if len(names) != header.nodes:
        raise FolderError(f"{folder / 'ids.parquet'} has {len(names)} ids for {header.nodes} nodes; {_AGAIN}")
    array: NDArray[Any] = names.to_numpy()
    return array if array.dtype == np.int64 else text_ids(array)


def _array(folder: Path, name: str, shape: tuple[int, ...], *types: Any) -> NDArray[Any]:
    """A mapped array of the shape that the header declares."""
    array = open_array(folder, name)
    if array.shape != shape or array.dtype not in types:
        kind = np.dtype(types[0])
        raise FolderError(f"{folder / name} has shape {array.shape} of {array.dtype} and not {shape} of {kind}; {_AGAIN}")
    return array


def _tensor(array: NDArray[Any]) -> Tensor:
    """The array as a tensor that shares its memory; nobody writes to a Graph."""
    return torch.from_numpy(np.asarray(array))


BLOCK = 2**16
"""Rows that are read at a time."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class MappedGraph(Graph):
    """The graph of a folder, prepared.

    Args:
        scaling: How features are scaled.
        statistics: Column statistics of the training graph, for scaling="standard".
        cache: Folder of the rows that are computed from this graph.
    """

    scaling: Scaling = "raw"
    statistics: ColumnStatistics = dataclasses.field(default_factory=dict)
    cache: Path = Path()

    @property
    def on_disk(self) -> "MappedGraph":
        return self

    def features(self, nodes: Int[Tensor, " b"] | range) -> Tensor:
        """Features of some nodes, scaled here; sparse ones stay sparse."""
        return scale(super().features(nodes), self.scaling, self.statistics)

    def to(self, device: torch.device | str) -> "MappedGraph":  # noqa: ARG002
        """This graph: it stays on disk, and its rows are sent where they are needed."""
        return self

    @property
    def fingerprint(self) -> str:
        """A hash of all that features and edges are made of."""
        assert self.folder is not None
        files = {name: kept["sha256"] for name, kept in read_header(self.folder).files.items()}
        digest = hashlib.sha256(json.dumps([files, self.scaling], sort_keys=True).encode())
        for name in sorted(self.statistics):
            digest.update(self.statistics[name].cpu().numpy().tobytes())
        return digest.hexdigest()[:16]


def mapped(graph: Graph, preparation: Preparation, statistics: ColumnStatistics, cache: Path) -> MappedGraph:
    """The prepared graph of a folder, which is not read: its edges are undirected, without repeats and loops, already."""
    for name, needed in (("symmetrise", True), ("drop_loops", True), ("parallel_edges", "drop")):
        if getattr(preparation, name) != needed:
            raise ValueError(
                f"{name} is {getattr(preparation, name)!r}, but edges of a graph folder are undirected and simple; "
                "leave it out, or train on the files themselves"
            )
    parts = {field.name: getattr(graph, field.name) for field in dataclasses.fields(Graph)}
    return MappedGraph(**parts, trusted=True, scaling=preparation.scaling, statistics=statistics, cache=cache)


def mapped_statistics(graph: Graph, scaling: Scaling) -> ColumnStatistics:
    """`column_statistics`, a block of rows at a time: means first, then deviations from them."""
    if scaling != "standard":
        return {}
    if graph.x.layout == torch.sparse_csr:
        raise ValueError("scaling is standard, which fills every entry of sparse features; take raw, binary, l1 or l2")
    n = graph.num_nodes
    mean, variance = torch.zeros(2, graph.num_features, dtype=torch.float64)
    for rows in blocks(n):
        mean += graph.x[rows.start : rows.stop].double().sum(dim=0)
    mean /= n
    for rows in blocks(n):
        variance += (graph.x[rows.start : rows.stop].double() - mean).square().sum(dim=0)
    deviation = (variance / n).sqrt()
    return {"mean": mean.float(), "deviation": torch.where(deviation > 0, deviation, 1.0).float()}


def blocks(rows: int | range, size: int | None = None) -> Iterator[range]:
    """Ranges of at most `size` rows, by default `BLOCK`, that make up `rows`: so many, or a range."""
    rows, size = range(rows) if isinstance(rows, int) else rows, size or BLOCK
    return (range(start, min(start + size, rows.stop)) for start in range(rows.start, rows.stop, size))


def shared_rows(num_rows: int, team: Team) -> range:
    """This process's share of the rows, in whole blocks: what is computed in blocks does not depend on the team."""
    ends = [0, *(block.stop for block in blocks(num_rows))]
    own = share(len(ends) - 1, team)
    return range(ends[own.start], ends[own.stop])


def cache_folder(folder: Path, otherwise: Path | None) -> Path:
    """Where rows of a graph folder are kept: in it, or in `otherwise` where it cannot be written to."""
    if os.access(folder, os.W_OK) or otherwise is None:
        return folder / "hops"
    return otherwise / "hops"
