"""Drawing: a figure as every plot here uses it, and the paper's two figures.

These are accuracy against training time, and against the dimensions d and D.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from paper.lines import Experiment

# Okabe and Ito's colours, which colour-blind readers can tell apart, without yellow, which is too faint on white; then three of
# Tol's that differ from them in lightness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#882255", "#999933", "#888888")
MARKERS = "osD^vPX<>*"
"""A line has a colour and a marker of the same number, so that it is known without the colour, too."""


@contextlib.contextmanager
def canvas(path: Path, lines: int, columns: int, size: tuple[float, float]) -> Iterator[tuple["Figure", list["Axes"]]]:
    """Panels of `size` inches to draw on, row by row, written to `path` at the end: SVG or PNG, by its suffix."""
    plt = _pyplot()
    # A fixed salt and no date make the same numbers the same file.
    style = {"svg.hashsalt": "localgcl", "font.size": 9, "axes.prop_cycle": plt.cycler(color=COLOURS)}
    with plt.rc_context(style):
        width, height = size
        figure, grid = plt.subplots(
            lines, columns, figsize=(width * columns, height * lines), squeeze=False, layout="constrained"
        )
        try:
            yield figure, list(grid.flat)
            figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)
        finally:
            plt.close(figure)


def size_label(value: float) -> str:
    """1024 as 1,024, but 4,194,304 as 4.19M: short enough for neighbouring powers of two."""
    for least, unit, name in ((1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if value >= least:
            return f"{value / unit:.3g}{name}"
    return f"{value:,.0f}"


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("matplotlib is not installed; pip install 'localgcl[viz]'") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


PlotRow = Mapping[str, Any]
Points = dict[float, list[tuple[float, float]]]
"""Of one line: by x or by number of steps, the (x, accuracy) of each seed."""

SYMBOLS = {"dim": "d", "num_features": "D"}


def curve(rows: Sequence[PlotRow], experiment: "Experiment", path: Path) -> bool:
    """Draws the points of an experiment that is a curve (see `lookup.points`); False where there is nothing to draw."""
    if experiment.layout != "curve" or not rows:
        return False
    if experiment.timed:
        scale(rows, path)
    else:
        sensitivity(rows, path, option="dim" if experiment.axis == "d" else "num_features")
    return True


def scale(rows: Sequence[PlotRow], path: Path) -> None:
    """Accuracy against training time, one line a method with its name at the end; times on a logarithmic axis.

    A point is the mean over seeds, with the standard deviation of accuracy as a bar.

    Args:
        rows: Each with `row` (the line it belongs to), `seconds` of training and `test` accuracy in percent, or
            `validation` where there is no `test`. Rows of a line that share a `value` (a number of steps) are seeds of one
            point; without one, each row is a point.
        path: Where to write; SVG, or PNG by its suffix.
    """
    scored = [row for row in rows if _given(row, "test") or _given(row, "validation")]
    quantity = "test" if all(_given(row, "test") for row in scored) else "validation"
    lines: dict[str, Points] = {}
    for number, row in enumerate(_complete(rows, ("row", "seconds", quantity))):
        point = float(row["value"]) if _given(row, "value") else float(number)
        lines.setdefault(row["row"], {}).setdefault(point, []).append((float(row["seconds"]), float(row[quantity])))
    with canvas(path, 1, 1, (7.0, 4.2)) as (_, (axes,)):
        ends = {}
        for name, style in _styles(lines).items():
            x, y, deviation = _summary(lines[name])
            axes.errorbar(x, y, yerr=deviation, capsize=2, elinewidth=0.8, **style)
            ends[name] = (x[-1], y[-1], style["color"])
        axes.set(xscale="log", xlabel="training time in seconds", ylabel=f"{quantity} accuracy in %")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        _plain(axes)
        _labels_at_the_end(axes, ends)


def sensitivity(rows: Sequence[PlotRow], path: Path, option: Literal["dim", "num_features"] | None = None) -> None:
    """Accuracy against the embedding dimension d or the number of frequencies D: a panel a graph, a line a method.

    Lines are means over seeds, bands one standard deviation. All panels span the same number of points of accuracy, so that
    slopes compare.

    Args:
        rows: Each with `graph`, `row` (the line it belongs to), `seed`, `test` accuracy in percent, and `settings`: a mapping,
            or its JSON.
        path: Where to write; SVG, or PNG by its suffix.
        option: The setting on the x axis; where it is not given, the one of the two that varies.
    """
    kept = [(row, _settings(row)) for row in _complete(rows, ("graph", "row", "seed", "test", "settings"))]
    option = option or _varying(kept)
    graphs: dict[str, dict[str, Points]] = {}
    averaged: dict[tuple[str, str, float], Mapping[str, Any]] = {}
    for row, settings in kept:
        x = float(settings[option])
        if averaged.setdefault((row["graph"], row["row"], x), settings) != settings:
            raise ValueError(
                f"{row['row']} on {row['graph']} at {option} = {x:g} has rows of different settings; pass one sort"
            )
        graphs.setdefault(row["graph"], {}).setdefault(row["row"], {}).setdefault(x, []).append((x, float(row["test"])))
    styles = _styles(dict.fromkeys(name for lines in graphs.values() for name in lines))
    columns = min(len(graphs), 4)
    with canvas(path, -(-len(graphs) // columns), columns, (3.4, 3.2)) as (figure, grid):
        for axes in grid[len(graphs) :]:
            axes.set_visible(False)
        used = grid[: len(graphs)]
        for axes, (graph, lines) in zip(used, graphs.items(), strict=True):
            for name in (name for name in styles if name in lines):
                x, y, deviation = _summary(lines[name])
                axes.plot(x, y, label=name, **styles[name])
                axes.fill_between(x, y - deviation, y + deviation, color=styles[name]["color"], alpha=0.18, linewidth=0)
            axes.set_title(graph)
            axes.set_xscale("log", base=2)
            axes.set_xlabel(SYMBOLS[option])
            sizes = sorted({x for points in lines.values() for x in points})
            axes.set_xticks(sizes[:: -(-len(sizes) // 7)], minor=False)
            axes.xaxis.set_major_formatter(lambda value, _: size_label(value))
            _plain(axes)
        for axes in used[::columns]:
            axes.set_ylabel("test accuracy in %")
        _same_span(used)
        if len(styles) > 1:
            handles = {h.get_label(): h for axes in used for h in axes.get_lines()}
            figure.legend([handles[name] for name in styles], list(styles), loc="outside lower center", ncols=4, frameon=False)


def _styles(names: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """How each line is drawn: local-gcl first and thickest, then the others; dashed when colours repeat."""
    ordered = sorted(names, key=lambda name: name != "local-gcl")
    first = ordered[:1] == ["local-gcl"]
    styles = {}
    for place, name in enumerate(ordered):
        place += not first  # the first colour is local-gcl's in every figure
        turn, colour = divmod(place, len(COLOURS))
        styles[name] = {
            "color": COLOURS[colour],
            "marker": MARKERS[colour],
            "markersize": 4,
            "linewidth": 2.0 if name == "local-gcl" else 1.2,
            "linestyle": ("-", "--", ":")[turn % 3],
        }
    return styles


def _summary(points: Points) -> tuple[Any, Any, Any]:
    """Mean x, mean accuracy and its standard deviation (0 for one seed) of each point, by increasing x."""
    summary = []
    for values in points.values():
        x, y = np.transpose(values)
        summary.append((x.mean(), y.mean(), y.std(ddof=1) if len(y) > 1 else 0.0))
    return tuple(np.transpose(sorted(summary)))


def _labels_at_the_end(axes: "Axes", ends: Mapping[str, tuple[float, float, str]]) -> None:
    """Names to the right of the axes, each with a leader to the last point of its line, without overlaps."""
    axes.figure.canvas.draw()  # sets the limits of the axes
    low, high = axes.get_ylim()
    height = 0.052 * (high - low)  # of a line of text, in units of the y axis
    names = sorted(ends, key=lambda name: ends[name][1])
    heights: list[float] = []
    for name in names:
        heights.append(max(ends[name][1], heights[-1] + height) if heights else ends[name][1])
    # Names pushed above the top come down again and push those below them.
    ceiling = high
    for place in reversed(range(len(names))):
        heights[place] = min(heights[place], ceiling)
        ceiling = heights[place] - height
    for name, y in zip(names, heights, strict=True):
        x, value, colour = ends[name]
        axes.annotate(
            name,
            (x, value),
            (1.03, y),
            textcoords=axes.get_yaxis_transform(),
            verticalalignment="center",
            # Dotted, so that it does not look like part of the curve.
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8, "linestyle": ":", "shrinkA": 1, "shrinkB": 3},
        )


def _same_span(panels: Sequence["Axes"]) -> None:
    limits = [axes.get_ylim() for axes in panels]
    half = max(high - low for low, high in limits) / 2
    for axes, (low, high) in zip(panels, limits, strict=True):
        axes.set_ylim((low + high) / 2 - half, (low + high) / 2 + half)


def _plain(axes: "Axes") -> None:
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _given(row: PlotRow, name: str) -> bool:
    return row.get(name) not in (None, "")


def _complete(rows: Sequence[PlotRow], names: Sequence[str]) -> list[PlotRow]:
    """The rows that have all of `names`; a row that ran out of memory has no accuracy."""
    kept = [row for row in rows if all(_given(row, name) for name in names)]
    if not kept:
        raise ValueError(f"none of {len(rows)} rows holds all of {', '.join(names)}; there is nothing to draw")
    return kept


def _settings(row: PlotRow) -> Mapping[str, Any]:
    settings: Mapping[str, Any] = json.loads(row["settings"]) if isinstance(row["settings"], str) else row["settings"]
    return settings


def _varying(rows: Sequence[tuple[PlotRow, Mapping[str, Any]]]) -> Literal["dim", "num_features"]:
    """Which of d and D takes several values within a line."""
    values: dict[tuple[str, str, str], set[Any]] = {}
    for row, settings in rows:
        for option in SYMBOLS:
            values.setdefault((option, row["graph"], row["row"]), set()).add(settings.get(option))
    found = {option for (option, *_), several in values.items() if len(several) > 1}
    if found == {"dim"}:
        return "dim"
    if found == {"num_features"}:
        return "num_features"
    which = "both dim and num_features vary" if found else "neither dim nor num_features varies"
    raise ValueError(f"{which} in these rows; say which is meant, for example option='dim'")
