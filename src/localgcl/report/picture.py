"""The map of a run as a picture, PNG, SVG or PDF, and the colours of all maps."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float32

from localgcl.config import suggestion
from localgcl.evaluation.nearest_rows import nearest
from localgcl.report.clusters import cluster_column, find_clusters
from localgcl.report.findings import Column
from localgcl.report.layout import NEIGHBOURS, Kind, lay_out
from localgcl.report.node_table import read_table
from localgcl.report.reading import MOST_NODES, Subject, read_subject
from localgcl.system.files import replacing
from localgcl.system.text import shown
from localgcl.training import RunFolder

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg", ".pdf")
_LETTERS = 160
"""Letters of a text in the picture, at most."""
_POINTS = 20_000
"""Above this number of points, SVG and PDF hold them as an image: browsers and printers are slow with more shapes."""

CATEGORIES = (
    "#2f78c4",
    "#ef8a17",
    "#1fa187",
    "#b5174b",
    "#e490fc",
    "#54e484",
    "#78309c",
    "#9c6c00",
    "#f06078",
    "#006c6c",
    "#9084fc",
    "#d8c000",
    "#b448a8",
    "#6cc0c0",
    "#903c00",
    "#c084b4",
    "#4848c0",
    "#b4a860",
    "#fc90a8",
    "#0ca8d8",
)
"""Colours of classes, the largest class first, readable on white and on black. Each is as far as possible from those before it,
as people with each kind of colour blindness see them (OKLab distance; tests simulate them). Nobody can tell more than twenty
colours apart: further classes are `OTHER`."""

OTHER = "#8b8f96"
"""Classes beyond `CATEGORIES`."""

MISSING = "#b9bcc2"
"""Nodes without a value."""

SEQUENCE = ("#46327e", "#2f6b9a", "#1f9e89", "#7cc552", "#f4d03f")
"""Numbers, from low to high: lightness rises evenly, so that the order survives a grey printer."""


def check_picture(path: Path) -> None:
    """Raises ValueError or ImportError, before anything is computed, if no picture can be written to `path`."""
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{shown(path)} has the extension {path.suffix!r}; a picture is one of {', '.join(SUFFIXES)}")
    _pyplot()


def draw_map(xy: Float32[np.ndarray, "n 2"], column: Column, title: str, note: str, path: Path) -> None:
    """Draws nodes as points, coloured by a column, with a legend; the format is that of the extension of `path`."""
    plt = _pyplot()
    # A fixed salt and no date make the same map the same file.
    with plt.rc_context({"svg.hashsalt": "localgcl", "font.size": 9, "font.family": "sans-serif"}):
        figure, axes = plt.subplots(figsize=(8.6, 6.4), layout="constrained")
        try:
            axes.set_aspect("equal", "datalim")
            axes.set_axis_off()
            axes.margins(0.02)
            axes.set_title(_plain(title), loc="left", fontsize=12, fontweight="bold")
            size = float(np.clip(30_000 / len(xy), 0.6, 18.0))
            style: Any = {
                "s": size,
                "linewidths": 0,
                "alpha": 0.85 if len(xy) < _POINTS else 0.6,
                "rasterized": len(xy) > _POINTS,
            }
            (_draw_numbers if column.classes is None else _draw_classes)(axes, xy, column, style)
            figure.supxlabel(_plain(note), fontsize=7, color="#6b6f76", x=0.01, ha="left", wrap=True)
            kind = path.suffix.lower()
            dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind[1:])
            figure.savefig(path, dpi=160, metadata=dated, facecolor="white")
        finally:
            plt.close(figure)


def _draw_classes(axes: "Axes", xy: Float32[np.ndarray, "n 2"], column: Column, style: Any) -> None:
    from matplotlib.lines import Line2D

    assert column.classes is not None
    sizes = np.bincount(column.values[column.values >= 0], minlength=len(column.classes))
    order = np.argsort(-sizes, kind="stable")  # the largest classes have the colours that differ most
    colours = np.full(len(column.classes) + 1, OTHER, dtype=object)
    colours[-1] = MISSING  # the place of -1
    named = [place for place in order[: len(CATEGORIES)] if sizes[place]]
    colours[named] = CATEGORIES[: len(named)]
    # In random order, so that no class lies on top of the others; those without a value lie below.
    drawn = np.random.default_rng(0).permutation(len(xy))
    drawn = drawn[np.argsort(column.values[drawn] >= 0, kind="stable")]
    axes.scatter(xy[drawn, 0], xy[drawn, 1], c=colours[column.values[drawn]].tolist(), **style)
    legend = [(f"{_plain(column.classes[place])} ({sizes[place]:,})", CATEGORIES[rank]) for rank, place in enumerate(named)]
    rest, missing = int(sizes.sum() - sizes[named].sum()), int((column.values < 0).sum())
    legend += [(f"{int((sizes > 0).sum()) - len(named)} other classes ({rest:,})", OTHER)] * (rest > 0)
    legend += [(f"none ({missing:,})", MISSING)] * (missing > 0)
    dots = [Line2D([], [], marker="o", linestyle="", markersize=5, color=colour, label=text) for text, colour in legend]
    axes.legend(
        handles=dots, title=_plain(column.name), loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, alignment="left"
    )


def _draw_numbers(axes: "Axes", xy: Float32[np.ndarray, "n 2"], column: Column, style: Any) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    known = np.isfinite(column.values)
    axes.scatter(xy[~known, 0], xy[~known, 1], c=MISSING, **style)
    if not known.any():
        return
    # The extremes share a colour, so that one large number does not leave a single colour for all others.
    low, high = np.quantile(column.values[known], [0.01, 0.99])
    ramp = LinearSegmentedColormap.from_list("localgcl", list(SEQUENCE))
    points = axes.scatter(
        xy[known, 0], xy[known, 1], c=column.values[known], cmap=ramp, vmin=low, vmax=max(high, low + 1e-9), **style
    )
    bar = axes.figure.colorbar(points, ax=axes, shrink=0.5, aspect=22, pad=0.01, extend="both")
    bar.set_label(_plain(column.name))
    bar.outline.set_visible(False)
    assert bar.solids is not None
    bar.solids.set_alpha(1)


def _plain(text: str) -> str:
    """Text with dollar signs escaped, which start a formula in matplotlib."""
    short = text if len(text) <= _LETTERS else f"{text[:_LETTERS]}..."
    return shown(short).replace("$", r"\$")


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("drawing a map needs matplotlib: pip install 'localgcl[viz]'") from error
    matplotlib.use("Agg")  # files only: no window, also where there is a screen
    import matplotlib.pyplot as plt

    return plt


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
    xy, how = lay_out(subject.z, near, kind=layout, seed=seed)
    title = f"{subject.graph.name}: {run.config.method}, {subject.part.num_nodes:,} nodes"
    with replacing(path) as temporary:
        draw_map(xy, column, title, how, temporary)
    return Drawn(column.name, len(xy), subject.shown, how)


def _column(subject: Subject, name: str | None, clusters: int | None, seed: int) -> Column:
    table = read_table(subject)
    if name is None:
        name = "cluster" if table.y is None else "label"
    if name == "cluster":
        return cluster_column(find_clusters(subject.z, clusters, seed=seed))
    if name in table.columns:
        return table.column(name)
    raise ValueError(f"there is no column {name!r:.100} to colour by{suggestion(name, ('cluster', *table.columns)[:200])}")
