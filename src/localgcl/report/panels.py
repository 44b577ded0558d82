"""The parts of the page below the map. A part that a run does not have is a heading and the note that says why."""

import datetime
import shlex
from collections.abc import Mapping

import numpy as np

from localgcl.graph.csr import CSR
from localgcl.graph.statistics import edge_homophily
from localgcl.report import charts
from localgcl.report.findings import Cluster, Findings, Series
from localgcl.report.markup import Markup, folded, joined, table, tag
from localgcl.report.reading import Subject
from localgcl.system.text import shown
from localgcl.training import RunFolder

BAR = tag("span", "As a bar", class_="unseen")
"""Heading of a column of bars, for those who hear the page."""

ROWS = 12
"""Rows of the table beside a chart, evenly spaced."""
_NOT_TERMS = ("step", "seconds", "clamped", "spread", "rank")
"""Columns that are no terms of the loss: clocks and signs of health."""
_POINTS = 1000
"""Points of a line, at most; more are not seen on a screen."""


def sections(findings: Findings) -> Markup:
    """All parts below the map, in the order of reading."""
    return joined(
        part("loss", "Loss", _losses(findings)),
        part("scores", "Scores", _scores(findings)),
        part("clusters", "Clusters", _clusters(findings)),
        part("graph", "The graph", tag("div", _degrees(findings), _homophily(findings), class_="two")),
        part("kernel", "Kernel error", _kernel(findings)),
        part("settings", "Settings", copied("settings-text", "config.toml", findings.settings)),
        part("load", "Load the result", _load(findings.load)),
    )


TITLES = {
    "map": "Map",
    "loss": "Loss",
    "scores": "Scores",
    "clusters": "Clusters",
    "graph": "Graph",
    "kernel": "Kernel error",
    "settings": "Settings",
    "load": "Load",
}
"""Parts of the page for the line of links at its top."""


def part(name: str, title: str, *content: str) -> Markup:
    """A part of the page under a heading."""
    heading = tag("h2", title, id=f"{name}-title")
    return tag("section", heading, *content, id=name, aria_labelledby=f"{name}-title")


def note(findings: Findings, field: str) -> Markup:
    """Why a part is empty."""
    return tag("p", findings.notes.get(field, "This run does not have it."), class_="empty")


def copied(name: str, title: str, text: str) -> Markup:
    """Text with a button that copies it."""
    button = tag("button", "Copy", type="button", data_copy=name, aria_label=f"Copy {title}")
    head = tag("div", tag("h3", title), button, class_="copy-head")
    return tag("div", head, tag("pre", tag("code", text, id=name), tabindex=0, aria_label=title), class_="copied")


def _losses(findings: Findings) -> Markup:
    drawn = [series for series in findings.losses if len(_known(series))]
    if not drawn:
        return note(findings, "losses")
    figures = [
        tag("figure", tag("figcaption", series.name), charts.line(series, x_name="step"), _sampled(series, "step"))
        for series in drawn
    ]
    explained = tag("p", findings.notes["losses"], class_="quiet") if "losses" in findings.notes else Markup()
    return joined(explained, tag("div", *figures, class_="charts"))


def _scores(findings: Findings) -> Markup:
    if not findings.scores:
        return note(findings, "scores")
    rows = []
    for score in findings.scores:
        largest = max(abs(other.mean) for other in findings.scores if other.metric == score.metric)
        full, digits = (1.0, 3) if largest <= 1 else (max(largest, 100.0), 2)  # a share, or per cent
        spread = "" if score.deviation is None else f" ± {score.deviation:.{digits}f}"
        mean = f"{score.mean:.{digits}f}{spread}"
        rows.append((score.name, score.metric, mean, charts.bar(score.mean / full), f"{score.dim:,}"))
    heads = ("Embedding", "Metric", "Mean ± deviation", BAR, "Dimension")
    return joined(tag("p", findings.protocol, class_="lead"), table("Scores", heads, rows, numeric=(2, 4)))


def _clusters(findings: Findings) -> Markup:
    if not findings.clusters:
        return note(findings, "clusters")
    column = cluster_column(findings)
    places = {} if column is None else {name: i for i, name in enumerate(findings.map.columns[column].classes or ())}
    wanted = {example for cluster in findings.clusters for example in cluster.examples}
    nodes = {name: i for i, name in enumerate(findings.map.ids) if name in wanted}
    most = max(cluster.size for cluster in findings.clusters)
    rows = [
        (
            _show_cluster(cluster, places),
            f"{cluster.size:,}",
            charts.bar(cluster.size / max(most, 1)),
            tag("ul", *(tag("li", mark) for mark in cluster.marks), class_="marks") if cluster.marks else "Nothing stands out.",
            joined(*(_show_node(example, nodes) for example in cluster.examples)),
        )
        for cluster in findings.clusters
    ]
    heads = ("Cluster", "Nodes", BAR, "What marks it out", "Typical nodes")
    lead = tag("p", findings.clustering, " A click on a cluster shows it in the map." if places else "", class_="lead")
    return joined(lead, table("Clusters and what marks them out", heads, rows, numeric=(1,)))


def cluster_column(findings: Findings) -> int | None:
    """The column of the map that holds the clusters of the table."""
    names = {cluster.name for cluster in findings.clusters}
    for i, column in enumerate(findings.map.columns):
        if names and column.classes is not None and names <= set(column.classes):
            return i
    return None


def _show_cluster(cluster: Cluster, places: Mapping[str, int]) -> str:
    if cluster.name not in places:
        return cluster.name
    return tag("button", cluster.name, type="button", class_="link", data_cluster=places[cluster.name])


def _show_node(name: str, nodes: Mapping[str, int]) -> Markup:
    if name not in nodes:
        return tag("span", name, class_="id chip")
    return tag("button", name, type="button", class_="id chip", data_node=nodes[name])


def _degrees(findings: Findings) -> Markup:
    title = tag("h3", "Degree")
    if not len(findings.degrees.x):
        return tag("div", title, note(findings, "degrees"))
    labels, counts = charts.doubling(findings.degrees)
    drawn = charts.histogram(labels, counts, title="Nodes by degree", x_name="degree")
    rows = [(label, charts.number(count)) for label, count in zip(labels, counts, strict=True)]
    return tag(
        "div",
        title,
        tag("figure", drawn, folded("As a table", table("Nodes by degree", ("Degree", "Nodes"), rows, numeric=(1,)))),
    )


def _homophily(findings: Findings) -> Markup:
    title = tag("h3", "Homophily")
    if not findings.homophily:
        return tag("div", title, note(findings, "homophily"))
    rows = [(name, charts.number(round(share, 4)), charts.bar(share)) for name, share in findings.homophily.items()]
    lead = tag("p", "How often an edge joins two nodes of one class.", class_="lead")
    return tag("div", title, lead, table("Homophily", ("Share", "Value", BAR), rows, numeric=(1,)))


def _kernel(findings: Findings) -> Markup:
    drawn = [series for series in findings.kernel if len(_known(series))]
    if not drawn:
        return note(findings, "kernel")
    figures = []
    for series in drawn:
        known = _known(series)
        error = np.abs(series.y[known] - series.x[known]) / np.maximum(np.abs(series.x[known]), 1e-12)
        mean, most = (charts.number(round(float(value), 4)) for value in (error.mean(), error.max()))
        said = f"Relative error: {mean} on average, {most} at most."
        figures.append(
            tag(
                "figure",
                tag("figcaption", series.name),
                charts.against(series, x_name="exact", y_name="approximated"),
                tag("p", said, class_="quiet"),
                _sampled(series, "exact"),
            )
        )
    lead = "Kernel values of pairs of nodes: approximated by random features (upwards) against exact (to the right)."
    explained = [tag("p", lead, class_="lead")]
    if "kernel" in findings.notes:
        explained.append(tag("p", findings.notes["kernel"], class_="quiet"))
    return joined(*explained, tag("div", *figures, class_="charts"))


def _load(load: Mapping[str, str]) -> Markup:
    return joined(*(copied(f"load-{i}", tool, code) for i, (tool, code) in enumerate(load.items())))


def _known(series: Series) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
    return np.flatnonzero(np.isfinite(series.x) & np.isfinite(series.y))


def _sampled(series: Series, x_name: str) -> Markup:
    """The numbers of a chart, some of them, as a table."""
    known = _known(series)
    keep = known[np.unique(np.linspace(0, len(known) - 1, min(len(known), ROWS)).astype(int))]
    rows = [(charts.number(float(series.x[i])), charts.number(float(series.y[i]))) for i in keep]
    return folded("As a table", table(series.name, (x_name, series.name), rows, numeric=(0, 1)))


def read_losses(run: RunFolder) -> tuple[tuple[Series, ...], str]:
    """The loss and its terms over steps, and why there are none, where there are none."""
    rows = run.read_metrics()
    if not rows:
        return (), "The run has no metrics.csv, or trained no step."
    every = -(-len(rows) // _POINTS)
    kept = rows[::every] if (len(rows) - 1) % every == 0 else [*rows[::every], rows[-1]]
    # The loss first, whatever the order of the columns.
    names = dict.fromkeys(["loss", *(name for row in rows for name in row if name not in _NOT_TERMS)])
    lines = []
    for name in names:
        points = [(row["step"], row[name]) for row in kept if name in row]
        x, y = np.array(points, dtype=np.float32).reshape(-1, 2).T
        lines.append(Series(name, np.ascontiguousarray(x), np.ascontiguousarray(y)))
    return tuple(lines), ""


def summary_of(subject: Subject) -> dict[str, str]:
    """What was trained and how, in the order of reading."""
    run, graph, made = subject.run, subject.graph, subject.run.made
    history = subject.model.history
    seconds = f" in {history[-1]['seconds']:,.1f} s" if history else ""
    machine = made.get("gpu") or " with ".join(
        part for part in (str(made.get("processor", "")), f"{made['threads']} threads" if "threads" in made else "") if part
    )
    told = {
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
    return {name: value for name, value in told.items() if value}


def _date(text: str) -> str:
    """The time of `system.provenance` as people write it."""
    try:
        return f"{datetime.datetime.fromisoformat(text).astimezone(datetime.UTC):%Y-%m-%d %H:%M} UTC"
    except ValueError:  # a run folder may say something else, or nothing
        return text


def degrees_of(edges: CSR) -> Series:
    """Number of nodes by degree."""
    degree, count = np.unique(edges.degree.numpy(), return_counts=True)
    return Series("nodes", degree.astype(np.float32), count.astype(np.float32))


def homophily_of(subject: Subject) -> dict[str, float]:
    """The share of edges within a class, and what it would be if ends of edges were joined at random."""
    y, edges = subject.graph.y, subject.edges
    if y is None:
        return {}
    found = edge_homophily(edges, y)
    if np.isnan(found):
        return {}
    ends = y[edges.rows]
    known = (ends >= 0) & (y[edges.indices] >= 0)
    weights = None if edges.weights is None else edges.weights[known].double().numpy()
    counts = np.bincount(ends[known].numpy(), weights)  # each edge is there in both directions
    return {"in this graph": found, "by chance": float(((counts / counts.sum()) ** 2).sum())}


def how_to_load(subject: Subject) -> dict[str, str]:
    """Code that loads the embeddings of a run, by tool."""
    path = shown(subject.run.path)
    node = shown(subject.part.node_ids[0])
    return {
        "Python": (
            f"import localgcl as lg\nfrom localgcl.training import RunFolder\n\nrun = RunFolder.open({path!r})\n"
            f"graph = {'run.graph_source.read()' if subject.run.source else '...  # the graph that you trained on'}\n"
            "z = lg.Embedder.load(run.path).transform(graph)  # row i is node graph.node_ids[i]\nnear = lg.nearest(z, 10)"
        ),
        "pandas": (
            f"import pandas as pd\n\n# localgcl embed {shlex.quote(path)} -o z.parquet\n"
            'z = pd.read_parquet("z.parquet").set_index("id")'
        ),
        "command line": (
            f"localgcl embed {shlex.quote(path)} -o z.parquet\nlocalgcl similar {shlex.quote(path)} {shlex.quote(node)}\n"
            f"localgcl cluster {shlex.quote(path)} -o clusters.csv"
        ),
    }
