"""Clusters for people, and the columns that colour a map."""

import numpy as np

from localgcl.report.clusters import Clustering
from localgcl.report.findings import Cluster, Column
from localgcl.report.marks import Contrast, marks_of
from localgcl.report.node_table import Table
from localgcl.report.reading import Subject

_COLUMNS, _CHOSEN, _VALUES = 64, 24, 2_000_000
"""Columns that are all offered, those that are chosen of more, and values of columns that keep the page small."""
_EXAMPLES = 5


def describe(subject: Subject, table: Table, found: Clustering) -> tuple[tuple[Cluster, ...], Contrast]:
    """The clusters with what marks them out, and how all columns differ between them."""
    differing, names, kinds = table.contrast(found.member, found.num_clusters)
    clusters = []
    for number in range(found.num_clusters):
        nodes = np.flatnonzero(found.member == number)
        central = nodes[np.argsort(-found.closeness[nodes], kind="stable")[:_EXAMPLES]]
        examples = tuple(str(name) for name in subject.part.node_ids[central])
        clusters.append(Cluster(cluster_name(number), len(nodes), marks_of(differing, number, names, kinds), examples))
    return tuple(clusters), differing


def cluster_name(number: int) -> str:
    """What the cluster of this number, from 0, is called."""
    return f"cluster {number + 1}"


def colours(table: Table, found: Clustering, differing: Contrast) -> tuple[Column, ...]:
    """Columns to colour by: the label, the cluster, the degree, and the columns of features that differ most."""
    columns = [] if table.y is None else [label_column(table)]
    columns.append(cluster_column(found))
    columns.append(Column("degree", table.degree.astype(np.float32)))
    groups = table.groups()
    strongest = np.abs(differing.effect).max(axis=0, initial=0.0)
    strength = {name: float(strongest[list(places)].max(initial=0.0)) for name, places in groups.items()}
    room = max(4, _VALUES // max(1, len(table.degree)))
    chosen = set(groups)
    if len(groups) > min(_COLUMNS, room):
        chosen = set(sorted(groups, key=lambda name: -strength[name])[: min(_CHOSEN, room)])
    others = [table.column(name) for name in groups if name in chosen]
    return (*columns, *(column for column in others if (column.values != column.values[0]).any()))  # of constants none is seen


def label_column(table: Table) -> Column:
    """The label of each node, if there are labels."""
    assert table.y is not None
    return Column("label", table.y.astype(np.int32), table.class_names)


def cluster_column(found: Clustering) -> Column:
    """The cluster of each node."""
    return Column("cluster", found.member, tuple(cluster_name(number) for number in range(found.num_clusters)))
