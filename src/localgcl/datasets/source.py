"""Where a graph comes from; a run folder stores it, and reads the graph again from it."""

import dataclasses
import os
from typing import Any

from localgcl.datasets.loading import load
from localgcl.graph import Graph
from localgcl.io.files import graph_name, read_graph


@dataclasses.dataclass(frozen=True)
class Source:
    """A data set by name, or your own files: give exactly one of `dataset` and `edges`. `weight` is as for `read_graph`."""

    dataset: str | None = None
    edges: str | None = None
    features: str | None = None
    labels: str | None = None
    weight: str | None = None

    def __post_init__(self) -> None:
        if (self.dataset is None) == (self.edges is None):
            given = "both" if self.dataset else "neither"
            raise ValueError(f"name a data set or give an edge file, not {given} (localgcl datasets lists names)")
        if self.dataset is not None and (self.features or self.labels or self.weight is not None):
            raise ValueError(
                f"data set {self.dataset!r} has its own edges, features and labels; give files and the column of weights only "
                "with an edge file"
            )

    def read(self) -> Graph:
        """Loads the graph."""
        if self.dataset is not None:
            return load(self.dataset)
        assert self.edges is not None
        return read_graph(self.edges, features=self.features, labels=self.labels, weight=self.weight)

    @property
    def name(self) -> str:
        return self.dataset if self.dataset is not None else graph_name(str(self.edges))

    def to_dict(self) -> dict[str, Any]:
        """The given fields; file names are made absolute, so that the run folder works from any working directory."""
        parts = {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
        return {name: value if name in ("dataset", "weight") else os.path.abspath(value) for name, value in parts.items()}
