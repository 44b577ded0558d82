"""Run -> a picture of its map."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from localgcl.config import suggestion
from localgcl.evaluation.nearest_rows import nearest
from localgcl.report.clusters import find_clusters
from localgcl.report.collect import MOST_NODES
from localgcl.report.describing import cluster_column, label_column
from localgcl.report.findings import Column
from localgcl.report.layout import NEIGHBOURS, Kind, lay_out
from localgcl.report.node_table import read_table
from localgcl.report.picture import draw_map
from localgcl.report.reading import Subject, read_subject
from localgcl.system.files import replacing
from localgcl.training import RunFolder


class Drawn(NamedTuple):
    """What a picture shows: the column that colours it, how many nodes, and how they were chosen and placed."""

    color: str
    nodes: int
    shown: str
    layout: str


def write_map(
    run: RunFolder,
    path: Path,
    *,
    color: str | None = None,
    clusters: int | None = None,
    layout: Kind = "auto",
    seed: int = 0,
    most: int = MOST_NODES,
) -> Drawn:
    """Draws the embeddings of a run; the extension of `path` names the format.

    Args:
        run: A run folder.
        path: The file to write.
        color: "label", "cluster", "degree" or a column of features; by default the label, or the cluster without labels.
        clusters: Number of clusters; by default the silhouette chooses it.
        layout: How nodes are placed.
        seed: Seed of the sample, the layout and the clusters.
        most: Nodes on the map; of more, a random sample is shown.

    Raises:
        ValueError: There is no such column.
    """
    subject = read_subject(run, most=most, seed=seed)
    column = _column(subject, color, clusters, seed)
    near = nearest(subject.z, min(NEIGHBOURS, len(subject.z) - 1), seed=seed)
    xy, told = lay_out(subject.z, near, kind=layout, seed=seed)
    title = f"{subject.graph.name}: {run.config.method}, {subject.part.num_nodes:,} nodes"
    with replacing(path) as temporary:
        draw_map(xy, column, title, told, temporary)
    return Drawn(column.name, len(xy), subject.told, told)


def _column(subject: Subject, name: str | None, clusters: int | None, seed: int) -> Column:
    table = read_table(subject)
    if name is None:
        name = "cluster" if table.y is None else "label"
    if name == "label" and table.y is not None:
        return label_column(table)
    if name == "cluster":
        return cluster_column(find_clusters(subject.z, clusters, seed=seed))
    if name == "degree":
        return Column("degree", table.degree.astype(np.float32))
    groups = table.groups()
    if name in groups:
        return table.column(name)
    known = ("cluster", "degree", *["label"] * (table.y is not None), *groups)
    raise ValueError(f"there is no column {name!r:.100} to colour by{suggestion(name, known[:200])}")
