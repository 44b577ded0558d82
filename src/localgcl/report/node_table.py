"""What is known of each node, by column: features in the units of the user's table, the label, the degree; and how columns
differ between clusters."""

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Bool, Float64, Int, Int32

from localgcl.graph.csr import features_to_scipy
from localgcl.io.cells import BOOLEAN, CATEGORY, DATE
from localgcl.io.encode import Column as Encoded
from localgcl.io.encode import Encoding
from localgcl.report.findings import Column
from localgcl.report.reading import Subject

OWN = ("label", "cluster", "degree")
"""Columns that every map has, beside features."""
_EPOCH, _YEAR = 1970.0, 365.2425

Matrix = np.ndarray | sp.csr_array
Kind = Literal["number", "date"]
"""Dates are days since 1970."""

LEAST = 0.2
"""Effects below this are small by custom (Cohen), and are left out."""
MOST = 5
"""Marks of a cluster."""
_ROWS = 8192


class Contrast(NamedTuple):
    r"""Each column within each cluster and elsewhere.

    The effect is the difference of means over the pooled deviation, $(\bar x_c - \bar x_{\bar c}) / s$ (Cohen's d).
    """

    effect: Float64[np.ndarray, "c f"]
    here: Float64[np.ndarray, "c f"]
    elsewhere: Float64[np.ndarray, "c f"]
    shares: Bool[np.ndarray, " f"]
    """Columns of zeros and ones, whose means are shares."""


def contrast(x: Matrix, member: Int32[np.ndarray, " n"], count: int) -> Contrast:
    """Means and effects of all columns in all of `count` clusters. O(n f), sparse columns in O(stored values)."""
    # Columns are centred first: squares of large numbers that differ little would cancel.
    centre = np.zeros(x.shape[1]) if sp.issparse(x) else np.asarray(x.mean(axis=0, dtype=np.float64))
    sums, squares, shares = np.zeros((count, x.shape[1])), np.zeros((count, x.shape[1])), np.ones(x.shape[1], dtype=bool)
    for start in range(0, x.shape[0], _ROWS):
        rows, own = x[start : start + _ROWS], member[start : start + _ROWS]
        pick: Any = sp.csr_array((np.ones(len(own)), (own, np.arange(len(own)))), shape=(count, len(own)))
        moved = rows.astype(np.float64) - (0 if sp.issparse(rows) else centre)
        sums += _dense(pick @ moved)
        squares += _dense(pick @ (moved * moved if isinstance(moved, np.ndarray) else moved.power(2)))
        wrong: Any = (rows != 0) & (rows != 1) if isinstance(rows, np.ndarray) else rows.power(2) != rows
        shares &= np.asarray(wrong.sum(axis=0)).ravel() == 0
    sizes = np.bincount(member, minlength=count)[:, None].astype(np.float64)
    others = sizes.sum() - sizes
    with np.errstate(divide="ignore", invalid="ignore"):
        here, elsewhere = sums / sizes, (sums.sum(axis=0) - sums) / others
        spread = squares - sizes * here**2 + (squares.sum(axis=0) - squares) - others * elsewhere**2
        effect = (here - elsewhere) / np.sqrt(np.maximum(spread, 0) / np.maximum(sizes.sum() - 2, 1))
        effect = np.where(here == elsewhere, 0.0, effect)  # a constant column has no deviation
    # An empty cluster, and all nodes in one, have nothing to be compared with.
    return Contrast(np.where((sizes > 0) & (others > 0), effect, 0.0), here + centre, elsewhere + centre, shares)


def joined(parts: Sequence[Contrast]) -> Contrast:
    """The columns of several tables side by side."""
    return Contrast(*(np.concatenate([part[field] for part in parts], axis=-1) for field in range(4)))


def marks_of(found: Contrast, cluster: int, names: Sequence[str], kinds: Sequence[Kind]) -> tuple[str, ...]:
    """The strongest marks of a cluster, for people."""
    strength = np.abs(found.effect[cluster])
    order = np.argsort(-strength, kind="stable")[:MOST]
    return tuple(
        f"{names[place]}: {_compared(found, cluster, int(place), kinds[place])}" for place in order if strength[place] >= LEAST
    )


def _compared(found: Contrast, cluster: int, place: int, kind: Kind) -> str:
    here, elsewhere = float(found.here[cluster, place]), float(found.elsewhere[cluster, place])
    if found.shares[place]:
        return f"{_percent(here)} here, {_percent(elsewhere)} elsewhere"
    written = _date if kind == "date" else _number
    return f"mean {written(here)} here, {written(elsewhere)} elsewhere"


def _percent(share: float) -> str:
    """A share in per cent; near 0% and 100% with a digit more, so that few do not read as none."""
    share = abs(round(share, 9))  # means of centred columns are off by rounding
    return f"{share:.1%}" if 0 < share < 0.01 or 0.99 < share < 1 else f"{share:.0%}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _date(days: float) -> str:
    try:
        return (datetime.date(1970, 1, 1) + datetime.timedelta(days=round(days))).isoformat()
    except OverflowError:  # beyond the year 9999
        return f"day {_number(days)}"


def _dense(x: Matrix) -> Float64[np.ndarray, "c f"]:
    return x.toarray() if sp.issparse(x) else np.asarray(x)


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
    """The name of a feature column, marked as such where every map has a column of that name."""
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
