"""The nodes of a run: which of them are shown, what is known of each, and which are similar."""

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float32, Int
from torch import Tensor

from localgcl.evaluation.nearest_rows import nearest
from localgcl.graph import Graph
from localgcl.graph.csr import CSR, features_to_scipy
from localgcl.io.cells import BOOLEAN, CATEGORY, DATE
from localgcl.io.encode import Column as Encoded
from localgcl.io.encode import Encoding
from localgcl.report.findings import Column
from localgcl.system.text import listed, shown
from localgcl.training import Model, RunFolder

MOST_NODES = 200_000
"""Nodes on a map, at most."""
_SEEDS = 2**32
"""Seeds lie below this: UMAP uses NumPy's, of 32 bits."""
OWN = ("label", "cluster", "degree")
"""Columns that every map has, beside features."""
_EPOCH, _YEAR = 1970.0, 365.2425
_COMPARED = 200_000
"""Ids that an unknown one is compared with, at most: more would take seconds."""

Matrix = np.ndarray | sp.csr_array
Kind = Literal["number", "date"]
"""Dates are days since 1970."""


@dataclasses.dataclass(frozen=True, eq=False)
class Subject:
    """What is reported on.

    Args:
        run: The run folder.
        model: Its model.
        graph: The whole graph.
        edges: Its edges in both directions, once, without self-loops.
        nodes: Positions of the shown nodes, ascending.
        z: Their embeddings.
        part: The graph of the shown nodes, with the edges between them in both directions; the whole graph if all are shown.
    """

    run: RunFolder
    model: Model
    graph: Graph
    edges: CSR
    nodes: Int[Tensor, " n"]
    z: Float32[np.ndarray, "n d"]
    part: Graph

    @property
    def is_sample(self) -> bool:
        return self.part.num_nodes < self.graph.num_nodes

    @property
    def shown(self) -> str:
        """One sentence: how many nodes are shown."""
        if not self.is_sample:
            return f"All {self.graph.num_nodes:,} nodes are shown."
        return f"Shown are {self.part.num_nodes:,} of {self.graph.num_nodes:,} nodes, drawn at random."


def read_subject(run: RunFolder, graph: Graph | None = None, *, most: int | None = None, seed: int = 0) -> Subject:
    """Reads the graph of a run and embeds it, a block of rows at a time if it stays on disk.

    Args:
        run: A run folder.
        graph: The graph; by default the one that the run was trained on, as `localgcl embed RUN` finds it.
        most: Show at most so many nodes; all when not given.
        seed: Seed of the sample.

    Raises:
        ValueError: The run does not know its graph, and none is given; or the seed is out of range.
    """
    if not 0 <= seed < _SEEDS:
        raise ValueError(f"seed is {seed}; it must be at least 0 and at most {_SEEDS - 1}, for example 0")
    if graph is None:
        if not run.source:
            raise ValueError(
                f"{shown(run.path)} does not say which graph it was trained on; pass the graph in Python: graph=..."
            )
        graph = run.graph_source.read()
    model = Model.load(run)
    n = graph.num_nodes
    nodes = torch.arange(n)
    if most is not None and n > most:
        nodes = torch.randperm(n, generator=torch.Generator().manual_seed(seed))[:most].sort().values
    undirected = graph if graph.folder is not None else graph.symmetrized().without_loops()  # a folder's edges are so already
    part = undirected.subgraph(nodes) if len(nodes) < n else undirected
    return Subject(run, model, graph, undirected.csr, nodes, _rows(model, graph, run, nodes), part)


def _rows(model: Model, graph: Graph, run: RunFolder, nodes: Int[Tensor, " n"]) -> Float32[np.ndarray, "n d"]:
    """Embeddings of some nodes, in ascending order."""
    kept, start = [], 0
    for block in model.embed_blocks(graph, cache=run.path):
        first, last = torch.searchsorted(nodes, torch.tensor([start, start + len(block)])).tolist()
        kept.append(block[nodes[first:last] - start].numpy())
        start += len(block)
    return np.concatenate(kept)


# What is known of each node, by column


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """Columns of the shown nodes.

    Args:
        x: Features as the graph has them.
        names: Of the features, as marks call them.
        kinds: Of the features.
        encoding: How columns of a table became features; None where they were numbers.
        y: Classes of the shown nodes, -1 where unknown; None without labels.
        class_names: Names of the classes.
        degree: Neighbours of each node in the whole graph.
    """

    x: Matrix
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    encoding: Encoding | None
    y: Int[np.ndarray, " n"] | None
    class_names: tuple[str, ...]
    degree: Int[np.ndarray, " n"]

    def groups(self) -> Mapping[str, Sequence[int]]:
        """Places of features, by the column of the user's table that they encode."""
        if self.encoding is None:
            return {_apart(name): [place] for place, name in enumerate(self.names)}
        found, start = {}, 0
        for column in self.encoding.columns:
            found[_apart(column.name)] = range(start, start + len(column.features))
            start += len(column.features)
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        """What `column` knows: the label, if there are labels, the degree, and the columns of the user's table."""
        return (*["label"] * (self.y is not None), "degree", *self.groups())

    def column(self, name: str) -> Column:
        """A column to colour by: classes and categories as such, dates as years, missing numbers missing."""
        if name == "label" and self.y is not None:
            return Column(name, self.y.astype(np.int32), self.class_names)
        if name == "degree":
            return Column(name, self.degree.astype(np.float32))
        places = list(self.groups()[name])
        cells: Any = self.x[:, places]
        values = np.asarray(cells.toarray() if hasattr(cells, "toarray") else cells, dtype=np.float32)
        if self.encoding is None:
            return _plain(name, values[:, 0])
        encoded = next(column for column in self.encoding.columns if _apart(column.name) == name)
        return _decoded(dataclasses.replace(encoded, name=name), values)


def read_table(subject: Subject) -> Table:
    """The table of the shown nodes."""
    graph, nodes, x = subject.graph, subject.nodes, subject.part.x
    matrix = features_to_scipy(x) if x.layout == torch.sparse_csr else x.numpy()
    encoding = None if graph.encoding is None else Encoding.from_dict(graph.encoding)
    names = graph.feature_names or tuple(f"feature {place}" for place in range(graph.num_features))
    if encoding is not None and encoding.names != names:
        encoding = None  # features were chosen or put into another order since
    kinds: list[Kind] = ["number"] * len(names)
    if encoding is not None:
        made = [(column, feature) for column in encoding.columns for feature in column.features]
        kinds = ["date" if column.kind == DATE and feature == column.name else "number" for column, feature in made]
        names = tuple(_spoken(column, feature) for column, feature in made)
    y = None if graph.y is None or not bool((graph.y >= 0).any()) else graph.y[nodes].numpy()
    classes = graph.class_names or tuple(str(label) for label in range(graph.num_classes))
    return Table(matrix, names, tuple(kinds), encoding, y, classes, subject.edges.degree[nodes].numpy())


def _apart(name: str) -> str:
    """The name of a feature column, marked as such where every map has a column of that name."""
    return f"{name} (feature)" if name in OWN else name


def _spoken(column: Encoded, feature: str) -> str:
    """A feature's name as people write it: "colour = red" for "colour=red"."""
    return column.name if feature == column.name else f"{column.name} = {feature[len(column.name) + 1 :]}"


def _plain(name: str, values: np.ndarray) -> Column:
    if np.isin(values, (0.0, 1.0)).all():
        return Column(name, values.astype(np.int32), ("0", "1"))
    return Column(name, values)


def _decoded(column: Encoded, values: np.ndarray) -> Column:
    """The column of the user's table, from the features that encode it."""
    if column.kind == CATEGORY:
        classes = [*column.categories, *["(other)"] * column.other, *["(missing)"] * column.missing]
        place = np.where(values.any(axis=1), values.argmax(axis=1), -1).astype(np.int32)
        return Column(column.name, place, tuple(classes))
    absent = values[:, -1] == 1 if column.missing else np.zeros(len(values), dtype=bool)
    if column.kind == BOOLEAN:
        return Column(column.name, np.where(absent, -1, values[:, 0]).astype(np.int32), ("no", "yes"))
    numbers = _EPOCH + values[:, 0] / _YEAR if column.kind == DATE else values[:, 0]
    name = f"{column.name} (year)" if column.kind == DATE else column.name
    return Column(name, np.where(absent, np.nan, numbers).astype(np.float32))


# Nodes that are similar


@dataclasses.dataclass(frozen=True)
class SimilarNode:
    """A node that is similar to another one.

    Args:
        id: Its id.
        similarity: Cosine of the two embeddings.
        label: Its class; None where it has none.
        neighbour: Whether an edge joins the two.
    """

    id: str
    similarity: float
    label: str | None
    neighbour: bool


def similar_nodes(subject: Subject, ids: Sequence[str], k: int = 10) -> Mapping[str, list[SimilarNode]]:
    """The k nodes most similar to each of some nodes, best first, by the id of the node that was asked for.

    Raises:
        ValueError: There is no node of such an id; the message names close ones.
    """
    graph, csr = subject.graph, subject.edges
    places = places_of(subject, ids)
    found = nearest(subject.z, min(k, graph.num_nodes - 1), queries=places)
    names = graph.class_names
    similar: dict[str, list[SimilarNode]] = {}
    for asked, place, rows, cosines in zip(ids, places, found.rows.tolist(), found.similarity.tolist(), strict=True):
        joined = set(csr.indices[csr.indptr[place] : csr.indptr[place + 1]].tolist())
        label = {row: -1 if graph.y is None else int(graph.y[row]) for row in rows}
        similar[asked] = [
            SimilarNode(
                str(graph.node_ids[row]),
                cosine,
                None if label[row] < 0 else str(label[row]) if names is None else names[label[row]],
                row in joined,
            )
            for row, cosine in zip(rows, cosines, strict=True)
        ]
    return similar


def places_of(subject: Subject, ids: Sequence[str]) -> list[int]:
    """Positions of nodes by their ids; ValueError names close ones of one that is unknown."""
    texts = [str(name) for name in subject.graph.node_ids.tolist()]
    place = {name: position for position, name in enumerate(texts)}
    for name in ids:
        if name not in place:
            close = _close(name, texts)
            meant = f"; did you mean {', '.join(repr(one) for one in close)}?" if close else f"; it has {listed(texts[:6])}..."
            raise ValueError(f"the graph has no node {name!r:.100}{meant}")
    return [place[name] for name in ids]


def _close(name: str, texts: Sequence[str]) -> list[str]:
    """Ids that differ in upper case or spaces only, else those that begin with it, else those that are spelt alike."""
    folded = name.strip().casefold()
    same = [text for text in texts if text.strip().casefold() == folded]
    same = same or [text for text in texts if text.casefold().startswith(folded or " ")]
    if same:
        return same[:3]
    every = -(-len(texts) // _COMPARED)
    starting = [text for text in texts if text.casefold().startswith(folded[:3])]
    return difflib.get_close_matches(name, starting[:_COMPARED] or texts[::every], n=3, cutoff=0.6)
