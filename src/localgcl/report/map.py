"""The map: embeddings in the plane, by UMAP where it is installed, else by two principal components; and a picture of it."""

import typing
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float32, Int32

from localgcl.config import suggestion
from localgcl.evaluation.nearest_rows import Nearest, nearest
from localgcl.ops.rows import principal_directions
from localgcl.report.clusters import cluster_column, find_clusters
from localgcl.report.findings import Column
from localgcl.report.nodes import MOST_NODES, Subject, read_subject, read_table
from localgcl.system.files import replacing
from localgcl.system.text import shown
from localgcl.training import RunFolder

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Layout = Literal["auto", "umap", "pca"]
LAYOUTS: tuple[Layout, ...] = typing.get_args(Layout)
NEIGHBOURS = 15
"""Nearest nodes that UMAP reads."""
_LEAST = 5
"""Nodes that UMAP needs at least."""

SUFFIXES = (".png", ".svg", ".pdf")
_LETTERS = 160
"""Letters of a text in the picture, at most."""
_POINTS = 20_000
"""Above this number of points, SVG and PDF hold them as an image: browsers and printers are slow with more shapes."""

CATEGORIES = (
    *("#2f78c4", "#ef8a17", "#1fa187", "#b5174b", "#e490fc"),
    *("#54e484", "#78309c", "#9c6c00", "#f06078", "#006c6c"),
    *("#9084fc", "#d8c000", "#b448a8", "#6cc0c0", "#903c00"),
    *("#c084b4", "#4848c0", "#b4a860", "#fc90a8", "#0ca8d8"),
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


def lay_out(
    z: Float32[np.ndarray, "n d"], near: Nearest, *, kind: Layout = "auto", seed: int = 0
) -> tuple[Float32[np.ndarray, "n 2"], str]:
    """Positions of nodes in the plane, and how they were found, in one sentence.

    UMAP starts from the two principal components and takes `near` instead of searching again; the same seed gives the same map.

    Args:
        z: Embeddings.
        near: Their nearest nodes.
        kind: "umap" (extra `viz`), "pca", or "auto": UMAP if it is installed.
        seed: Seed of UMAP.

    Raises:
        ImportError: UMAP was asked for and is not installed.
    """
    flat = principal(z, seed)
    if kind == "pca" or len(z) < _LEAST:
        return flat, "Two principal components of the unit rows."
    try:
        return _umap(flat, z, near, seed), (
            f"UMAP of {near.rows.shape[1]} nearest nodes by cosine (seed {seed}). Nodes side by side are alike; far-off "
            "groups are drawn nearer, so distances between groups mean little."
        )
    except ImportError as error:
        if kind == "umap":
            raise ImportError("a layout by UMAP needs: pip install 'localgcl[viz]'") from error
        return flat, "Two principal components of the unit rows: UMAP is not installed (pip install 'localgcl[viz]')."


def principal(z: Float32[np.ndarray, "n d"], seed: int) -> Float32[np.ndarray, "n 2"]:
    """The first two principal components of the unit rows."""
    unit = torch.nn.functional.normalize(torch.from_numpy(np.ascontiguousarray(z)))
    unit -= unit.mean(dim=0)
    two = principal_directions(unit, 2, generator=torch.Generator().manual_seed(seed))
    # Two nodes, or embeddings of one number, have fewer directions.
    two = torch.nn.functional.pad(two, (0, 2 - two.shape[1]))
    xy: Float32[np.ndarray, "n 2"] = (unit @ two).numpy()
    return xy


def _umap(
    flat: Float32[np.ndarray, "n 2"], z: Float32[np.ndarray, "n d"], near: Nearest, seed: int
) -> Float32[np.ndarray, "n 2"]:
    import umap  # type: ignore[import-untyped,unused-ignore]  # it ships no types

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a seed means one thread, and that new rows cannot be added: both are meant
        # Where fewer were found, the node itself stands in, at distance 0.
        own = np.arange(len(z), dtype=np.int32)[:, None]
        rows: Int32[np.ndarray, "n k"] = np.where(near.rows < 0, own, near.rows)
        distance = np.where(near.rows < 0, 0.0, 1.0 - near.similarity).astype(np.float32)
        places = np.concatenate([own, rows], axis=1)  # UMAP counts a node as its own nearest
        lengths = np.concatenate([np.zeros_like(own, dtype=np.float32), distance], axis=1)
        reducer = umap.UMAP(
            n_neighbors=places.shape[1],
            min_dist=0.25,  # nodes of a group lie side by side, and can be told apart
            metric="cosine",
            init=_spread(flat, seed),
            random_state=seed,
            precomputed_knn=(places, lengths),
            force_approximation_algorithm=True,  # below 4,096 rows UMAP would look for neighbours again
        )
        found: Float32[np.ndarray, "n 2"] = np.asarray(reducer.fit_transform(z), dtype=np.float32)
    # UMAP leaves out nodes that it cannot connect: they stay where they started.
    lost = ~np.isfinite(found).all(axis=1)
    found[lost] = _spread(flat, seed)[lost]
    return gathered(found)


def gathered(xy: Float32[np.ndarray, "n 2"]) -> Float32[np.ndarray, "n 2"]:
    """Pulls outliers in: beyond the 95% quantile, a distance from the median grows as its logarithm.

    UMAP pushes small components ever further away, and a picture that shows them all would show little of the rest.
    """
    middle = np.median(xy, axis=0)
    away = np.linalg.norm(xy - middle, axis=1, keepdims=True)
    usual = float(np.quantile(away, 0.95))
    if usual == 0:
        return xy
    factor = np.where(away > usual, usual * (1 + 0.5 * np.log(np.maximum(away, usual) / usual)) / np.maximum(away, usual), 1.0)
    nearer: Float32[np.ndarray, "n 2"] = (middle + (xy - middle) * factor).astype(np.float32)
    return nearer


def _spread(flat: Float32[np.ndarray, "n 2"], seed: int) -> Float32[np.ndarray, "n 2"]:
    """Initial positions for UMAP, at most 10 from the origin; a little noise separates nodes that coincide."""
    largest = float(np.abs(flat).max())
    scaled = 10.0 * flat / (largest or 1.0)
    noise = np.random.default_rng(seed).normal(scale=1e-4, size=flat.shape)
    start: Float32[np.ndarray, "n 2"] = (scaled + noise).astype(np.float32)
    return start


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
    layout: Layout = "auto",
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
