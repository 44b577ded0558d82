"""A run folder -> `Findings`."""

from collections.abc import Callable

import numpy as np
import tomli_w
from jaxtyping import Int32

from localgcl.evaluation.nearest_rows import nearest
from localgcl.graph import Graph
from localgcl.report.clusters import find_clusters
from localgcl.report.describing import colours, describe
from localgcl.report.findings import Column, Findings, Map
from localgcl.report.history import read_losses
from localgcl.report.kernel import read_kernel
from localgcl.report.layout import NEIGHBOURS, Kind, lay_out
from localgcl.report.loading import how_to_load
from localgcl.report.node_table import read_table
from localgcl.report.overview import degrees_of, homophily_of, summary_of
from localgcl.report.reading import Subject, read_subject
from localgcl.report.scoring import read_scores
from localgcl.training import RunFolder

MOST_NODES = 200_000
"""Nodes on a map, at most."""
_LISTED = 10
"""Nearest nodes that a click on a node shows."""


def collect(
    run: RunFolder,
    graph: Graph | None = None,
    *,
    seed: int = 0,
    most: int = MOST_NODES,
    clusters: int | None = None,
    scores: bool = True,
    layout: Kind = "auto",
    say: Callable[[str], None] = lambda _: None,
) -> Findings:
    """All that a report says.

    Args:
        run: A run folder.
        graph: The graph to report on; by default the one that the run was trained on.
        seed: Seed of everything random: the sample, the layout, the starts of k-means, pairs of the kernel, the probe.
        most: Nodes on the map; of more, a random sample is shown.
        clusters: Number of clusters; by default the silhouette chooses it.
        scores: Score the embeddings, if there are labels.
        layout: How nodes are placed: "umap", "pca", or "auto".
        say: Takes each line about what is done next, for example `print`.
    """
    say("embedding the graph")
    subject = read_subject(run, graph, most=most, seed=seed)
    table = read_table(subject)
    say(f"clustering {subject.part.num_nodes:,} nodes")
    found = find_clusters(subject.z, clusters, seed=seed)
    described, differing = describe(subject, table, found)
    notes = {}
    losses, notes["losses"] = read_losses(run)
    kernel, notes["kernel"] = read_kernel(subject, seed=seed)
    if scores and table.y is not None:
        say("scoring")
    rows, protocol, notes["scores"] = read_scores(subject, seed=seed) if scores else ((), "", "Scores were not asked for.")
    homophily = homophily_of(subject)
    say("placing nodes in the plane")
    notes["homophily"] = "" if homophily else "The graph has no labels, or no edge between labelled nodes."
    return Findings(
        title=f"{subject.graph.name}: embeddings by {run.config.method}",
        run=str(run.path),
        summary=summary_of(subject),
        settings=tomli_w.dumps({"method": run.config.method, **run.config.flat()}),
        losses=losses,
        scores=rows,
        protocol=protocol,
        clusters=described,
        clustering=found.told,
        degrees=degrees_of(subject.edges),
        homophily=homophily,
        kernel=kernel,
        map=_map(subject, colours(table, found, differing), layout, seed),
        notes={name: note for name, note in notes.items() if note},
        load=how_to_load(subject),
    )


def _map(subject: Subject, columns: tuple[Column, ...], layout: Kind, seed: int) -> Map:
    n, csr = subject.part.num_nodes, subject.part.csr
    near = nearest(subject.z, min(NEIGHBOURS, n - 1), seed=seed)
    xy, told = lay_out(subject.z, near, kind=layout, seed=seed)
    return Map(
        ids=[str(name) for name in subject.part.node_ids.tolist()],
        xy=xy,
        layout=told,
        nearest=np.ascontiguousarray(near.rows[:, :_LISTED]),
        similarity=np.ascontiguousarray(near.similarity[:, :_LISTED]),
        nearest_note=near.note,
        indptr=_int32(csr.indptr.numpy()),
        indices=_int32(csr.indices.numpy()),
        columns=columns,
        shown=subject.told,
    )


def _int32(values: np.ndarray) -> Int32[np.ndarray, " m"]:
    return values.astype(np.int32)
