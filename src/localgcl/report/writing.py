"""Run -> report.html."""

import os
from collections.abc import Callable
from pathlib import Path

from localgcl.graph import Graph
from localgcl.io.export import check_new
from localgcl.report.collect import MOST_NODES, collect
from localgcl.report.findings import Findings
from localgcl.report.layout import Kind
from localgcl.report.page import page
from localgcl.system.files import replacing
from localgcl.system.text import shown
from localgcl.training import RunFolder

FILE = "report.html"
"""The report in a run folder."""


def write_report(
    run: str | os.PathLike[str] | RunFolder,
    path: str | os.PathLike[str] | None = None,
    *,
    graph: Graph | None = None,
    overwrite: bool = False,
    clusters: int | None = None,
    scores: bool = True,
    layout: Kind = "auto",
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
        seed: Seed of everything random.
        most: Nodes on the map; of more, a random sample is shown.
        say: Takes each line about what is done next, for example `print`.

    Returns:
        What the page says, as plain data.
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
