"""What a report says, as plain data. `collect` fills it from a run folder; `page` turns it into HTML."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float32, Int32


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


@dataclasses.dataclass(frozen=True)
class Findings:
    """All of a report. What a run does not have is empty, and `notes` says why."""

    title: str
    run: str
    """The run folder, as the user named it."""
    summary: Mapping[str, str]
    """What was trained and how, in the order of reading: method, graph, nodes, edges, dimension, time, machine, date."""
    settings: str
    """config.toml's settings, to copy."""
    losses: tuple[Series, ...]
    """The loss and its terms over steps."""
    scores: tuple[Score, ...]
    protocol: str
    """One sentence: how scores were made."""
    clusters: tuple[Cluster, ...]
    clustering: str
    """One sentence: how clusters were made."""
    degrees: Series
    """Number of nodes (y) by degree (x)."""
    homophily: Mapping[str, float]
    """Shares of edges within a class, of the graph and by chance; empty without labels."""
    kernel: tuple[Series, ...]
    """Approximated against exact kernel values; empty where the loss was exact."""
    map: Map
    notes: Mapping[str, str]
    """For a part that is empty, why: by the name of the field."""
    load: Mapping[str, str]
    """Code to load the result, by tool (Python, pandas, command line)."""
