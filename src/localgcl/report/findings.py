"""What a report says. `collect` fills it from a run folder, with the panels' help; `page` makes an HTML page of it."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float32, Int, Int32


@dataclasses.dataclass(frozen=True)
class Column:
    """A value for each node of the map, to colour and to filter by: the label, the cluster, the degree or a feature column."""

    name: str
    values: Float32[np.ndarray, " n"] | Int32[np.ndarray, " n"]
    """Numbers (NaN: missing), or places in `classes` (-1: missing)."""
    classes: tuple[str, ...] | None = None
    """Names of the classes; None for numbers."""


@dataclasses.dataclass(frozen=True)
class Map:
    """Nodes in the plane, and what a click on one of them shows."""

    ids: Sequence[str]
    xy: Float32[np.ndarray, "n 2"]
    layout: str
    """One sentence: how the plane was made."""
    nearest: Int32[np.ndarray, "n k"]
    """For each node the most similar others, best first; -1 where there are fewer than k."""
    similarity: Float32[np.ndarray, "n k"]
    """Cosine similarities of `nearest`."""
    nearest_note: str
    """One sentence: exact, or how they were approximated."""
    indptr: Int32[np.ndarray, " n_plus_1"]
    indices: Int32[np.ndarray, " m"]
    """Neighbours in the graph, as places in the map."""
    columns: tuple[Column, ...]
    """The first one colours the map when it opens."""
    shown: str
    """One sentence: that all nodes are shown, or how many of how many."""


@dataclasses.dataclass(frozen=True)
class Cluster:
    """A group of similar nodes and what marks it out."""

    name: str
    size: int
    marks: tuple[str, ...]
    """For people, strongest first: "colour = red: 81% here, 12% elsewhere", "income: mean 52,000 here, 31,000 elsewhere"."""
    examples: tuple[str, ...]
    """Ids of the nodes nearest to its centre."""


@dataclasses.dataclass(frozen=True)
class Score:
    """A row of the table of scores: what was scored, the metric's name, its mean and deviation over splits."""

    name: str
    metric: str
    mean: float
    deviation: float | None
    dim: int


@dataclasses.dataclass(frozen=True)
class Series:
    """A line of a chart: y over x."""

    name: str
    x: Float32[np.ndarray, " t"]
    y: Float32[np.ndarray, " t"]

    @property
    def finite(self) -> "Series":
        """The points that can be drawn."""
        return self._at(np.flatnonzero(np.isfinite(self.x) & np.isfinite(self.y)))

    def points(self, most: int) -> list[tuple[float, float]]:
        """At most so many points, evenly spaced, the first and the last among them."""
        few = self._at(np.unique(np.linspace(0, len(self.x) - 1, min(len(self.x), most)).astype(int)))
        return list(zip(few.x.tolist(), few.y.tolist(), strict=True))

    def _at(self, places: Int[np.ndarray, " p"]) -> "Series":
        return Series(self.name, self.x[places], self.y[places])


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of the page below the map, as a panel makes it.

    Args:
        title: Its heading.
        content: HTML, made by `markup.tag`; a text that is not `Markup` is escaped.
        data: What it says as plain data, for programs.
        notes: Why something is missing, by name; an empty note says nothing.
        link: What the line of links at the top of the page calls it; by default its title.
    """

    title: str
    content: str
    data: Any = None
    notes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    link: str = ""


@dataclasses.dataclass(frozen=True)
class Findings:
    """All of a report, as plain data and as sections of the page."""

    title: str
    run: str
    """The run folder, as the user named it."""
    summary: Mapping[str, str]
    """What was trained and how, in the order of reading: method, graph, nodes, edges, dimension, time, machine, date."""
    map: Map
    clusters: tuple[Cluster, ...]
    clustering: str
    """One sentence: how clusters were made."""
    sections: Mapping[str, Section]
    """What panels made, by the panel's name, in the order of reading."""

    @property
    def data(self) -> dict[str, Any]:
        """What panels say, as plain data, by the panel's name: "loss", "scores", "kernel"..."""
        return {name: section.data for name, section in self.sections.items()}

    @property
    def notes(self) -> dict[str, str]:
        """What the run does not have, by name, and why."""
        return {name: text for section in self.sections.values() for name, text in section.notes.items() if text}


def column_of_clusters(columns: Sequence[Column], clusters: Sequence[Cluster]) -> int | None:
    """The column of the map that holds these clusters; None where no column does."""
    names = {cluster.name for cluster in clusters}
    for i, column in enumerate(columns):
        if names and column.classes is not None and names <= set(column.classes):
            return i
    return None
