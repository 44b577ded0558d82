"""A run folder -> `Findings`, and from them report.html."""

import datetime
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from localgcl.evaluation.nearest_rows import nearest
from localgcl.graph import Graph
from localgcl.io.export import check_new
from localgcl.report.clusters import colours, describe, find_clusters
from localgcl.report.findings import Column, Findings, Map
from localgcl.report.map import NEIGHBOURS, Layout, lay_out
from localgcl.report.nodes import MOST_NODES, Subject, read_subject, read_table
from localgcl.report.page import page
from localgcl.report.panels import PANELS, Reading
from localgcl.system.files import replacing
from localgcl.system.text import shown
from localgcl.training import RunFolder

FILE = "report.html"
"""The report in a run folder."""
_LISTED = 10
"""Nearest nodes that a click on a node shows."""


def write_report(
    run: str | os.PathLike[str] | RunFolder,
    path: str | os.PathLike[str] | None = None,
    *,
    graph: Graph | None = None,
    overwrite: bool = False,
    clusters: int | None = None,
    scores: bool = True,
    layout: Layout = "auto",
    seed: int = 0,
    most: int = MOST_NODES,
    say: Callable[[str], None] = lambda _: None,
) -> Findings:
    """Writes a report on a run: one HTML page that opens from disk, with a map of the embeddings to explore.

    Args:
        run: A run folder.
        path: The file to write; by default report.html in the run folder.
        graph: The graph to report on; by default the one that the run was trained on.
        overwrite: Replace the file if it exists.
        clusters: Number of clusters; by default the one from 2 to 20 of the largest silhouette.
        scores: Score the embeddings beside random-init and raw features, if there are labels.
        layout: How nodes are placed: "umap" (extra `viz`), "pca", or "auto": UMAP if it is installed.
        seed: Seed of everything random: the sample, the layout, the starts of k-means, pairs of the kernel, the probe.
        most: Nodes on the map; of more, a random sample is shown.
        say: Takes each line about what is done next, for example `print`.

    Returns:
        What the page says: the map, the clusters, and in `data` what each panel found, as plain values by its name.
    """
    folder = run if isinstance(run, RunFolder) else RunFolder.open(run)
    target = report_path(folder, path, overwrite=overwrite)
    findings = collect(folder, graph, seed=seed, most=most, clusters=clusters, scores=scores, layout=layout, say=say)
    with replacing(target) as temporary:
        temporary.write_text(page(findings), encoding="utf-8")
    return findings


def report_path(run: RunFolder, path: str | os.PathLike[str] | None, *, overwrite: bool) -> Path:
    """Where the report goes; raises what is wrong with that before anything is computed."""
    target = run.path / FILE if path is None else Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{shown(target)} has the extension {target.suffix!r}; a report is a page, so name it .html")
    check_new(target, overwrite=overwrite)
    return target


def collect(
    run: RunFolder,
    graph: Graph | None = None,
    *,
    seed: int = 0,
    most: int = MOST_NODES,
    clusters: int | None = None,
    scores: bool = True,
    layout: Layout = "auto",
    say: Callable[[str], None] = lambda _: None,
) -> Findings:
    """What a report says; arguments are those of `write_report`."""
    say("embedding the graph")
    subject = read_subject(run, graph, most=most, seed=seed)
    table = read_table(subject)
    say(f"clustering {subject.part.num_nodes:,} nodes")
    found = find_clusters(subject.z, clusters, seed=seed)
    described, differing = describe(subject, table, found)
    columns = colours(table, found, differing)
    reading = Reading(subject, described, found.how, columns, seed, scores, say)
    made = {name: panel(reading) for name, panel in PANELS.items()}
    say("placing nodes in the plane")
    return Findings(
        title=f"{subject.graph.name}: embeddings by {run.config.method}",
        run=str(run.path),
        summary=summary_of(subject),
        map=_map(subject, columns, layout, seed),
        clusters=described,
        clustering=found.how,
        sections={name: section for name, section in made.items() if section is not None},
    )


def summary_of(subject: Subject) -> dict[str, str]:
    """What was trained and how, in the order of reading."""
    run, graph, made = subject.run, subject.graph, subject.run.made
    history = subject.model.history
    seconds = f" in {history[-1]['seconds']:,.1f} s" if history else ""
    machine = made.get("gpu") or " with ".join(
        part for part in (str(made.get("processor", "")), f"{made['threads']} threads" if "threads" in made else "") if part
    )
    facts = {
        "method": run.config.method,
        "graph": graph.name,
        "nodes": f"{graph.num_nodes:,}",
        "edges": f"{subject.edges.num_entries // 2:,}, undirected",
        "features": f"{graph.num_features:,}",
        "dimension": f"{subject.z.shape[1]:,}",
        "training": f"{subject.model.step:,} steps{seconds}",
        "machine": machine,
        "date": _date(str(made.get("date", ""))),
    }
    return {name: value for name, value in facts.items() if value}


def _date(text: str) -> str:
    """The time of `system.provenance` as people write it."""
    try:
        return f"{datetime.datetime.fromisoformat(text).astimezone(datetime.UTC):%Y-%m-%d %H:%M} UTC"
    except ValueError:  # a run folder may say something else, or nothing
        return text


def _map(subject: Subject, columns: tuple[Column, ...], layout: Layout, seed: int) -> Map:
    n, csr = subject.part.num_nodes, subject.part.csr
    near = nearest(subject.z, min(NEIGHBOURS, n - 1), seed=seed)
    xy, how = lay_out(subject.z, near, kind=layout, seed=seed)
    return Map(
        ids=[str(name) for name in subject.part.node_ids.tolist()],
        xy=xy,
        layout=how,
        nearest=np.ascontiguousarray(near.rows[:, :_LISTED]),
        similarity=np.ascontiguousarray(near.similarity[:, :_LISTED]),
        nearest_note=near.note,
        indptr=csr.indptr.numpy().astype(np.int32),
        indices=csr.indices.numpy().astype(np.int32),
        columns=columns,
        shown=subject.shown,
    )
