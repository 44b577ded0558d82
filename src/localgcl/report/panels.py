"""Panels: the parts of a report below the map. A panel is one function, from what it reads of a run to a `Section` of the page.

`PANELS["ties"] = ties` adds one, also from outside this package.
"""

import dataclasses
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import tomli_w

from localgcl.report import charts
from localgcl.report.findings import Cluster, Column, Score, Section, Series, column_of_clusters
from localgcl.report.markup import Markup, copied, empty, folded, joined, table, tag
from localgcl.report.measures import degrees_of, homophily_of, read_kernel, read_losses, read_scores
from localgcl.report.nodes import Subject
from localgcl.system.text import shown

BAR = tag("span", "As a bar", class_="unseen")
"""Heading of a column of bars, for those who hear the page."""
ROWS = 12
"""Rows of the table beside a chart, evenly spaced."""


@dataclasses.dataclass(frozen=True, eq=False)
class Reading:
    """What a panel reads.

    Args:
        subject: The run, its model and graph, and the embeddings of the nodes that the map shows.
        clusters: Groups of similar nodes.
        clustering: How they were found, in one sentence.
        columns: What colours the map.
        seed: Seed of everything random.
        scores: Whether to score the embeddings.
        say: Takes a line about what is done next.
    """

    subject: Subject
    clusters: tuple[Cluster, ...] = ()
    clustering: str = ""
    columns: tuple[Column, ...] = ()
    seed: int = 0
    scores: bool = True
    say: Callable[[str], None] = lambda _: None


Panel: TypeAlias = Callable[[Reading], Section | None]
"""None where a run has nothing to show. A section may also hold a note that says why something is missing."""


# The loss over steps


def losses(reading: Reading) -> Section:
    """The loss and its terms."""
    return show_losses(*read_losses(reading.subject.run))


def show_losses(lines: Sequence[Series], note: str = "") -> Section:
    """A chart a line."""
    drawn = [series.finite for series in lines]
    figures = [_figure(series, "step", charts.line(series, x_name="step")) for series in drawn if len(series.x)]
    content = _charts(figures, tag("p", note, class_="quiet") if note else Markup(), note)
    return Section("Loss", content, tuple(lines), {"losses": note})


# Scores beside those of baselines


def scores(reading: Reading) -> Section:
    """Scores of the run, of its encoder before training, and of the raw features."""
    if not reading.scores:
        return show_scores((), "", "Scores were not asked for.")
    y = reading.subject.graph.y
    if y is not None and bool((y >= 0).any()):
        reading.say("scoring")
    return show_scores(*read_scores(reading.subject, seed=reading.seed))


def show_scores(found: Sequence[Score], protocol: str, note: str = "") -> Section:
    """A table with a row for each embedding."""
    rows = []
    for score in found:
        largest = max(abs(other.mean) for other in found if other.metric == score.metric)
        full, digits = (1.0, 3) if largest <= 1 else (max(largest, 100.0), 2)  # a share, or per cent
        spread = "" if score.deviation is None else f" ± {score.deviation:.{digits}f}"
        mean = f"{score.mean:.{digits}f}{spread}"
        rows.append((score.name, score.metric, mean, charts.bar(score.mean / full), f"{score.dim:,}"))
    heads = ("Embedding", "Metric", "Mean ± deviation", BAR, "Dimension")
    drawn = joined(tag("p", protocol, class_="lead"), table("Scores", heads, rows, numeric=(2, 4)))
    said = {"rows": tuple(found), "protocol": protocol}
    return Section("Scores", drawn if rows else empty(note), said, {"scores": note})


# Clusters and what marks them out


def clusters(reading: Reading) -> Section:
    """Groups of similar nodes."""
    ids = [str(name) for name in reading.subject.part.node_ids.tolist()]
    return show_clusters(reading.clusters, reading.clustering, ids, reading.columns)


def show_clusters(
    found: Sequence[Cluster], clustering: str, ids: Sequence[str], columns: Sequence[Column], note: str = ""
) -> Section:
    """A table with a row for each cluster, whose buttons show it and its typical nodes in the map."""
    if not found:
        return Section("Clusters", empty(note), (), {"clusters": note})
    column = column_of_clusters(columns, found)
    places = {} if column is None else {name: i for i, name in enumerate(columns[column].classes or ())}
    wanted = {example for cluster in found for example in cluster.examples}
    nodes = {name: i for i, name in enumerate(ids) if name in wanted}
    most = max(cluster.size for cluster in found)
    rows = [
        (
            _show_cluster(cluster, places),
            f"{cluster.size:,}",
            charts.bar(cluster.size / max(most, 1)),
            tag("ul", *(tag("li", mark) for mark in cluster.marks), class_="marks") if cluster.marks else "Nothing stands out.",
            joined(*(_show_node(example, nodes) for example in cluster.examples)),
        )
        for cluster in found
    ]
    heads = ("Cluster", "Nodes", BAR, "What marks it out", "Typical nodes")
    lead = tag("p", clustering, " A click on a cluster shows it in the map." if places else "", class_="lead")
    return Section("Clusters", joined(lead, table("Clusters and what marks them out", heads, rows, numeric=(1,))), tuple(found))


def _show_cluster(cluster: Cluster, places: Mapping[str, int]) -> str:
    if cluster.name not in places:
        return cluster.name
    return tag("button", cluster.name, type="button", class_="link", data_cluster=places[cluster.name])


def _show_node(name: str, nodes: Mapping[str, int]) -> Markup:
    if name not in nodes:
        return tag("span", name, class_="id chip")
    return tag("button", name, type="button", class_="id chip", data_node=nodes[name])


# Degrees and homophily


def graph(reading: Reading) -> Section:
    """How many neighbours nodes have, and how often neighbours are of one class."""
    homophily = homophily_of(reading.subject)
    missing = "" if homophily else "The graph has no labels, or no edge between labelled nodes."
    return show_graph(degrees_of(reading.subject.edges), homophily, {"homophily": missing})


def show_graph(degrees: Series, homophily: Mapping[str, float], notes: Mapping[str, str]) -> Section:
    """A histogram of degrees beside a table of homophily."""
    if len(degrees.x):
        labels, counts = charts.doubling(degrees)
        rows = [(label, charts.number(count)) for label, count in zip(labels, counts, strict=True)]
        numbers = folded("As a table", table("Nodes by degree", ("Degree", "Nodes"), rows, numeric=(1,)))
        drawn = tag("figure", charts.histogram(labels, counts, title="Nodes by degree", x_name="degree"), numbers)
    else:
        drawn = empty(notes.get("degrees", ""))
    if homophily:
        values = [(name, charts.number(round(share, 4)), charts.bar(share)) for name, share in homophily.items()]
        lead = tag("p", "How often an edge joins two nodes of one class.", class_="lead")
        shares = joined(lead, table("Homophily", ("Share", "Value", BAR), values, numeric=(1,)))
    else:
        shares = empty(notes.get("homophily", ""))
    two = tag("div", tag("div", tag("h3", "Degree"), drawn), tag("div", tag("h3", "Homophily"), shares), class_="two")
    return Section("The graph", two, {"degrees": degrees, "homophily": homophily}, notes, link="Graph")


# How well random features estimate the kernel


def kernel(reading: Reading) -> Section:
    """Estimated against exact kernel values."""
    return show_kernel(*read_kernel(reading.subject, seed=reading.seed))


def show_kernel(found: Sequence[Series], note: str = "") -> Section:
    """A chart a series, with its relative error in words."""
    figures = []
    for series in (each.finite for each in found):
        if len(series.x):
            error = np.abs(series.y - series.x) / np.maximum(np.abs(series.x), 1e-12)
            mean, most = (charts.number(round(float(value), 4)) for value in (error.mean(), error.max()))
            told = tag("p", f"Relative error: {mean} on average, {most} at most.", class_="quiet")
            figures.append(_figure(series, "exact", charts.against(series, x_name="exact", y_name="approximated"), told))
    lead = "Kernel values of pairs of nodes: approximated by random features (upwards) against exact (to the right)."
    explained = joined(tag("p", lead, class_="lead"), tag("p", note, class_="quiet") if note else "")
    return Section("Kernel error", _charts(figures, explained, note), tuple(found), {"kernel": note})


# Text to copy


def settings(reading: Reading) -> Section:
    """The settings of config.toml."""
    config = reading.subject.run.config
    return show_settings(tomli_w.dumps({"method": config.method, **config.flat()}))


def show_settings(text: str) -> Section:
    """The settings with a button that copies them."""
    return Section("Settings", copied("settings-text", "config.toml", text), text)


def load(reading: Reading) -> Section:
    """Code that loads the embeddings of the run, by tool."""
    subject = reading.subject
    path, node = shown(subject.run.path), shown(subject.part.node_ids[0])
    return show_load(
        {
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
    )


def show_load(code: Mapping[str, str]) -> Section:
    """The code for each tool with a button that copies it."""
    content = joined(*(copied(f"load-{i}", tool, text) for i, (tool, text) in enumerate(code.items())))
    return Section("Load the result", content, code, link="Load")


PANELS: dict[str, Panel] = {
    "loss": losses,
    "scores": scores,
    "clusters": clusters,
    "graph": graph,
    "kernel": kernel,
    "settings": settings,
    "load": load,
}
"""Panels by name, in the order of reading; the name is the section's anchor in the page."""


def _charts(figures: Sequence[Markup], explained: Markup, note: str) -> Markup:
    return joined(explained, tag("div", *figures, class_="charts")) if figures else empty(note)


def _figure(series: Series, x_name: str, chart: Markup, *told: Markup) -> Markup:
    """A chart under its name, and some of its numbers as a table."""
    rows = [(charts.number(x), charts.number(y)) for x, y in series.points(ROWS)]
    numbers = folded("As a table", table(series.name, (x_name, series.name), rows, numeric=(0, 1)))
    return tag("figure", tag("figcaption", series.name), chart, *told, numbers)
