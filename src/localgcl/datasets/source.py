"""Where a graph comes from; a run folder stores it, and reads the graph again from it."""

import dataclasses
import os
from pathlib import Path
from typing import Any

from localgcl.datasets.loading import load
from localgcl.graph import Graph
from localgcl.io.files import read_graph


@dataclasses.dataclass(frozen=True)
class Source:
    """A data set by name, or your own files: give exactly one of `dataset` and `edges`."""

    dataset: str | None = None
    edges: str | None = None
    features: str | None = None
    labels: str | None = None

    def __post_init__(self) -> None:
        if (self.dataset is None) == (self.edges is None):
            given = "both" if self.dataset else "neither"
            raise ValueError(f"name a data set or give an edge file, not {given} (localgcl datasets lists names)")
        if self.dataset is not None and (self.features or self.labels):
            raise ValueError(
                f"data set {self.dataset!r} has its own features and labels; give such files only with an edge file"
            )

    def read(self) -> Graph:
        """Loads the graph."""
        if self.dataset is not None:
            return load(self.dataset)
        assert self.edges is not None
        return read_graph(self.edges, features=self.features, labels=self.labels)

    @property
    def name(self) -> str:
        return self.dataset if self.dataset is not None else Path(str(self.edges)).name.split(".")[0]

    def to_dict(self) -> dict[str, Any]:
        """The given fields; file names are made absolute, so that the run folder works from any working directory."""
        parts = {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
        return {name: value if name == "dataset" else os.path.abspath(value) for name, value in parts.items()}
