"""What is known of each node: features under the names and in the units of the user's table, the label and the degree."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Int, Int32

from localgcl.graph.csr import features_to_scipy
from localgcl.io.cells import BOOLEAN, CATEGORY, DATE
from localgcl.io.encode import Column as Encoded
from localgcl.io.encode import Encoding
from localgcl.report.findings import Column
from localgcl.report.marks import Contrast, Kind, Matrix, contrast, joined
from localgcl.report.reading import Subject

OWN = ("label", "cluster", "degree")
"""Columns that are no features."""
_EPOCH, _YEAR = 1970.0, 365.2425


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """Columns of the shown nodes.

    Args:
        x: Features as the graph has them.
        names: Of the features, as marks call them.
        kinds: Of the features.
        encoding: How features were made of the columns of a table; None where they were numbers.
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

    def contrast(self, member: Int32[np.ndarray, " n"], count: int) -> tuple[Contrast, tuple[str, ...], tuple[Kind, ...]]:
        """What differs between clusters: features first, then classes among labelled nodes, then the degree; with names."""
        degree = contrast(self.degree[:, None].astype(np.float64), member, count)
        parts, names, kinds = [contrast(self.x, member, count), degree], [*self.names, "degree"], [*self.kinds, "number"]
        if self.y is not None:
            known = np.flatnonzero(self.y >= 0)
            cells = (np.ones(len(known), dtype=np.float32), (np.arange(len(known)), self.y[known]))
            one_hot = sp.csr_array(cells, shape=(len(known), len(self.class_names)))
            parts.append(contrast(one_hot, member[known], count))
            of = "" if len(known) == len(self.y) else " (of labelled nodes)"
            names += [f"label = {name}{of}" for name in self.class_names]
            kinds += ["number"] * len(self.class_names)
        return joined(parts), tuple(names), tuple(kinds)

    def groups(self) -> Mapping[str, Sequence[int]]:
        """Features by the column of the user's table that they were made of."""
        if self.encoding is None:
            return {_apart(name): [place] for place, name in enumerate(self.names)}
        found, start = {}, 0
        for column in self.encoding.columns:
            found[_apart(column.name)] = range(start, start + len(column.features))
            start += len(column.features)
        return found

    def column(self, name: str) -> Column:
        """A column of the user's table, to colour by: categories as such, dates as years, missing numbers missing."""
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
    kinds = tuple(_kind(is_date=False) for _ in names)
    if encoding is not None:
        made = [(column, feature) for column in encoding.columns for feature in column.features]
        dates = [column.kind == DATE and feature == column.name for column, feature in made]
        kinds = tuple(_kind(is_date=is_date) for is_date in dates)
        names = tuple(_spoken(column, feature) for column, feature in made)
    y = None if graph.y is None or not bool((graph.y >= 0).any()) else graph.y[nodes].numpy()
    classes = graph.class_names or tuple(str(label) for label in range(graph.num_classes))
    return Table(matrix, names, kinds, encoding, y, classes, subject.edges.degree[nodes].numpy())


def _apart(name: str) -> str:
    """The name of a column of features, other than those of columns that every map has."""
    return f"{name} (feature)" if name in OWN else name


def _kind(*, is_date: bool) -> Kind:
    return "date" if is_date else "number"


def _spoken(column: Encoded, feature: str) -> str:
    """A feature's name as people write it: "colour = red" for "colour=red"."""
    return column.name if feature == column.name else f"{column.name} = {feature[len(column.name) + 1 :]}"


def _plain(name: str, values: np.ndarray) -> Column:
    if np.isin(values, (0.0, 1.0)).all():
        return Column(name, values.astype(np.int32), ("0", "1"))
    return Column(name, values)


def _decoded(column: Encoded, values: np.ndarray) -> Column:
    """The column that its features were made of."""
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
