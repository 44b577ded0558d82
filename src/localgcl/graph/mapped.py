"""A prepared graph whose arrays stay on disk: features are scaled as they are read, a block of rows at a time."""

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from localgcl.config import Preparation, Scaling
from localgcl.graph import Graph
from localgcl.graph.prepare import ColumnStatistics, scale
from localgcl.graph.stored import read_header
from localgcl.system.team import Team, share

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
        files = {name: told["sha256"] for name, told in read_header(self.folder).files.items()}
        digest = hashlib.sha256(json.dumps([files, self.scaling], sort_keys=True).encode())
        for name in sorted(self.statistics):
            digest.update(self.statistics[name].cpu().numpy().tobytes())
        return digest.hexdigest()[:16]


def mapped(graph: Graph, preparation: Preparation, statistics: ColumnStatistics, cache: Path) -> MappedGraph:
    """Prepares the graph of a folder without reading it. Its edges are undirected, without repeats and loops, already."""
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
    nothing = torch.zeros(graph.num_features, dtype=torch.float64)
    mean = sum((_doubles(graph, rows).sum(dim=0) for rows in blocks(n)), nothing) / n
    deviation = (sum(((_doubles(graph, rows) - mean).square().sum(dim=0) for rows in blocks(n)), nothing) / n).sqrt()
    return {"mean": mean.float(), "deviation": torch.where(deviation > 0, deviation, 1.0).float()}


def _doubles(graph: Graph, rows: range) -> Float[Tensor, "b f"]:
    return graph.x[rows.start : rows.stop].double()


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
