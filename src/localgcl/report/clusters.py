"""Groups of similar nodes, found by k-means on unit rows; how columns differ between them, and so what marks each out."""

import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Bool, Float32, Float64, Int32
from torch import Tensor

from localgcl.evaluation.nearest_rows import COMPONENTS, in_components
from localgcl.evaluation.task import normalised_rows
from localgcl.ops.rows import kmeans
from localgcl.report.findings import Cluster, Column
from localgcl.report.nodes import Kind, Matrix, Subject, Table

MOST = 20
"""Largest number of clusters that is tried: colours tell no more apart."""
_SAMPLE = 2000
"""Nodes that the silhouette is computed on, at most."""
_FITTED = 20_000
"""Nodes that k-means runs on while the number of clusters is chosen, at most."""
_RUNS = 5
"""Random starts of k-means; the one of lowest inertia is kept."""
_COLUMNS, _CHOSEN, _VALUES = 64, 24, 2_000_000
"""A map offers up to 64 columns of features, or the 24 that differ most, and about 2,000,000 values: the page stays small."""
_EXAMPLES = 5
LEAST = 0.2
"""Effects below this are small by custom (Cohen), and are left out."""
MARKS = 5
"""Marks of a cluster, at most."""
_ROWS = 8192


class Clustering(NamedTuple):
    """Clusters of nodes."""

    member: Int32[np.ndarray, " n"]
    """The cluster of each node, numbered from 0 by falling size."""
    num_clusters: int
    closeness: Float32[np.ndarray, " n"]
    """The cosine of each node with the centre of its cluster."""
    how: str
    """One sentence: how they were found."""


def find_clusters(z: Float32[np.ndarray, "n d"], count: int | None = None, *, seed: int = 0) -> Clustering:
    """k-means on unit rows, of many columns in 64 principal components. O(n k) an iteration.

    Args:
        z: Embeddings.
        count: Number of clusters; by default the one from 2 to 20 of the largest mean silhouette. No label is read.
        seed: Seed of the starts and of the sample.

    Raises:
        ValueError: There are fewer nodes than clusters.
    """
    n = len(z)
    if count is not None and not 1 <= count <= n:
        raise ValueError(f"clusters is {count}; there are {n:,} nodes, so choose from 1 to {n:,}")
    rows = normalised_rows(torch.from_numpy(np.ascontiguousarray(z)))
    assert isinstance(rows, Tensor)
    unit = in_components(rows, seed)
    how = "Clusters by k-means on unit rows" + f" in {COMPONENTS} principal components" * (unit.shape[1] < rows.shape[1])
    if count is None:
        count, score = _chosen(unit, seed)
        how += f"; {count} of them, because " + _reason(n, count, score) + ". Labels were not used."
    else:
        how += f"; their number, {count}, was asked for. Labels were not used."
    member, centres = _best(unit, count, seed)
    order = torch.bincount(member, minlength=count).argsort(descending=True, stable=True)
    member = order.argsort()[member]
    closeness = torch.linalg.vecdot(unit, centres[order][member])
    return Clustering(member.int().numpy(), count, closeness.numpy(), how)


def _reason(n: int, count: int, score: float) -> str:
    if n < 3:
        return "2 nodes allow no more" if n == 2 else "1 node allows no more"
    if count == 1:
        return "no larger number has a silhouette above 0"
    if n == 3:
        return f"3 nodes allow no more (mean silhouette {score:.2f} of 1)"
    return f"of 2 to {min(MOST, n - 1)} this number has the largest mean silhouette ({score:.2f} of 1)"


def _chosen(unit: Tensor, seed: int) -> tuple[int, float]:
    """The number of clusters of the largest mean silhouette over a sample, and that silhouette; 1 where there are too few."""
    from sklearn.metrics import silhouette_score

    generator = torch.Generator().manual_seed(seed)
    some = unit[torch.randperm(len(unit), generator=generator)[:_FITTED]]
    scores = {1: 0.0}
    for count in range(2, min(MOST, len(some) - 1) + 1):
        member = _best(some, count, seed)[0][:_SAMPLE].numpy()
        if 2 <= len(np.unique(member)) < len(member):
            scores[count] = float(silhouette_score(some[:_SAMPLE].numpy(), member))
    best = max(scores, key=lambda count: scores[count])
    return best, scores[best]


def _best(unit: Tensor, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """The cluster of each row, and unit centres, of the start of k-means with the lowest inertia."""
    generator = torch.Generator().manual_seed(seed)
    found: list[tuple[float, Tensor, Tensor]] = []
    for member in kmeans(unit, count, generator=generator, runs=_RUNS):
        sums = unit.new_zeros(count, unit.shape[1]).index_add_(0, member, unit)
        sizes = torch.bincount(member, minlength=count).clamp(min=1)
        # The sum of squared distances is that of squared lengths less sum_c |sum of c|^2 / size of c.
        found.append((float((sums.square().sum(1) / sizes).sum()), member, torch.nn.functional.normalize(sums)))
    _, member, centres = max(found, key=lambda one: one[0])
    return member, centres


def describe(subject: Subject, table: Table, found: Clustering) -> "tuple[tuple[Cluster, ...], Contrast]":
    """The clusters with what marks them out, and how all columns differ between them."""
    differing, names, kinds = contrasted(table, found.member, found.num_clusters)
    clusters = []
    for number in range(found.num_clusters):
        nodes = np.flatnonzero(found.member == number)
        central = nodes[np.argsort(-found.closeness[nodes], kind="stable")[:_EXAMPLES]]
        examples = tuple(str(name) for name in subject.part.node_ids[central])
        clusters.append(Cluster(cluster_name(number), len(nodes), marks_of(differing, number, names, kinds), examples))
    return tuple(clusters), differing


def cluster_name(number: int) -> str:
    """The name of cluster `number`, counted from 0."""
    return f"cluster {number + 1}"


def colours(table: Table, found: Clustering, differing: "Contrast") -> tuple[Column, ...]:
    """Columns to colour by: the label, the cluster, the degree, and the columns of features that differ most."""
    columns = [] if table.y is None else [table.column("label")]
    columns += [cluster_column(found), table.column("degree")]
    groups = table.groups()
    strongest = np.abs(differing.effect).max(axis=0, initial=0.0)
    strength = {name: float(strongest[list(places)].max(initial=0.0)) for name, places in groups.items()}
    room = max(4, _VALUES // max(1, len(table.degree)))
    chosen = set(groups)
    if len(groups) > min(_COLUMNS, room):
        chosen = set(sorted(groups, key=lambda name: -strength[name])[: min(_CHOSEN, room)])
    others = [table.column(name) for name in groups if name in chosen]
    return (*columns, *(column for column in others if (column.values != column.values[0]).any()))  # a constant colours nothing


def cluster_column(found: Clustering) -> Column:
    """The cluster of each node."""
    return Column("cluster", found.member, tuple(cluster_name(number) for number in range(found.num_clusters)))


# How columns differ between clusters


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


def contrasted(table: Table, member: Int32[np.ndarray, " n"], count: int) -> tuple[Contrast, tuple[str, ...], tuple[Kind, ...]]:
    """What differs between clusters: features first, then classes among labelled nodes, then the degree; with names."""
    degree = contrast(table.degree[:, None].astype(np.float64), member, count)
    parts, names, kinds = [contrast(table.x, member, count), degree], [*table.names, "degree"], [*table.kinds, "number"]
    if table.y is not None:
        known = np.flatnonzero(table.y >= 0)
        cells = (np.ones(len(known), dtype=np.float32), (np.arange(len(known)), table.y[known]))
        one_hot = sp.csr_array(cells, shape=(len(known), len(table.class_names)))
        parts.append(contrast(one_hot, member[known], count))
        of = "" if len(known) == len(table.y) else " (of labelled nodes)"
        names += [f"label = {name}{of}" for name in table.class_names]
        kinds += ["number"] * len(table.class_names)
    return joined(parts), tuple(names), tuple(kinds)


def joined(parts: Sequence[Contrast]) -> Contrast:
    """The columns of several tables side by side."""
    return Contrast(*(np.concatenate([part[field] for part in parts], axis=-1) for field in range(4)))


def marks_of(found: Contrast, cluster: int, names: Sequence[str], kinds: Sequence[Kind]) -> tuple[str, ...]:
    """The strongest marks of a cluster, for people."""
    strength = np.abs(found.effect[cluster])
    order = np.argsort(-strength, kind="stable")[:MARKS]
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
