"""Pictures of the table: time and memory against N, d and D, with fitted exponents."""

import contextlib
import dataclasses
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from localgcl.experiments.bench.table import Row, hardware, newest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AXES = ("N", "d", "D")
QUANTITIES = {"p50_ms": "time in ms (p20 to p80)", "peak_mib": "peak memory in MiB"}
RULE = (
    "Exponents are slopes of least-squares lines in log-log axes, through the points that take more than twice as much as "
    "the smallest size of their series (below that, fixed costs rule); with fewer than three such points there is none."
)


@dataclasses.dataclass(frozen=True)
class Series:
    """One provider along one axis, the other sizes fixed."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def exponent(x: Sequence[float], y: Sequence[float]) -> float | None:
    """The slope of log y against log x, sizes in increasing order, by the rule above.

    Example:
        >>> exponent([1, 2, 4, 8, 16], [7, 7, 20, 80, 320])
        2.0
    """
    kept = np.log([(a, b) for a, b in zip(x, y, strict=True) if b > 2 * y[0]])
    if len(kept) < 3:
        return None
    slope, _ = np.polyfit(kept[:, 0], kept[:, 1], 1)
    return round(float(slope), 3)


def series(rows: Sequence[Row], axis: str, quantity: str) -> list[Series]:
    """All series of at least three sizes along `axis`, from rows of one benchmark on one machine."""
    others = [name for name in ("provider", "case", *AXES) if name != axis]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row[quantity] and row[axis]:
            groups.setdefault(tuple(row[name] for name in others), []).append(row)
    found = []
    for key, group in groups.items():
        group = sorted(group, key=lambda row: float(row[axis]))
        if len({row[axis] for row in group}) >= 3:
            fixed = dict(zip(others, key, strict=True))
            sizes = ", ".join(f"{name}={int(fixed[name]):,}" for name in AXES if fixed.get(name))
            label = ", ".join(filter(None, (fixed["provider"], fixed["case"], sizes)))
            bounds = ("p20_ms", "p80_ms") if quantity == "p50_ms" else (quantity, quantity)
            columns = (tuple(float(row[name]) for row in group) for name in (axis, quantity, *bounds))
            found.append(Series(label, *columns))
    return found


PROVIDERS = ("ours", "ours-exact", "ours-orf", "ours-rff", "dense-rff", "dense-exact", "checkpointed-exact", "gather", "plain")
"""In the order of their colours; others share the last one."""


def plot(rows: Sequence[Row], folder: Path, suffix: str = "svg") -> dict[tuple[str, str], Path]:
    """One picture for each benchmark and machine that has something to show; where it went, by (benchmark, machine)."""
    rows = newest(rows)
    groups = dict.fromkeys((row["benchmark"], hardware(row)) for row in rows)
    written = {}
    for benchmark, machine in groups:
        mine = [row for row in rows if (row["benchmark"], hardware(row)) == (benchmark, machine)]
        panels = [(axis, quantity, series(mine, axis, quantity)) for quantity in QUANTITIES for axis in AXES]
        panels = [panel for panel in panels if panel[2]]
        if panels:
            path = folder / f"{picture_name(benchmark, machine)}.{suffix}"
            folder.mkdir(parents=True, exist_ok=True)
            _draw(f"{benchmark} on {machine}", panels, path)
            written[benchmark, machine] = path
    return written


def picture_name(benchmark: str, machine: str) -> str:
    """A file name for the pair."""
    return re.sub(r"[^a-z0-9]+", "-", f"{benchmark} {machine}".lower()).strip("-")


def _draw(title: str, panels: list[tuple[str, str, list[Series]]], path: Path) -> None:
    columns = min(len(panels), 3)
    with canvas(path, -(-len(panels) // columns), columns, (5.2, 4.4)) as (figure, grid):
        figure.suptitle(title)
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        for axes, panel in zip(grid, panels, strict=False):
            _panel(axes, *panel)


@contextlib.contextmanager
def canvas(path: Path, lines: int, columns: int, size: tuple[float, float]) -> Iterator[tuple["Figure", list["Axes"]]]:
    """Panels of `size` inches to draw on, row by row, written to `path` at the end: SVG or PNG, by its suffix."""
    plt = _pyplot()
    # A fixed salt and no date make the same numbers the same file.
    with plt.rc_context({"svg.hashsalt": "localgcl", "font.size": 9}):
        width, height = size
        figure, grid = plt.subplots(
            lines, columns, figsize=(width * columns, height * lines), squeeze=False, layout="constrained"
        )
        try:
            yield figure, list(grid.flat)
            figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)
        finally:
            plt.close(figure)


def _panel(axes: "Axes", axis: str, quantity: str, lines: list[Series]) -> None:
    from matplotlib import ticker

    seen: dict[str, int] = {}
    for line in lines:
        slope = exponent(line.x, line.y)
        label = line.label if slope is None else f"{line.label}: {axis}$^{{{slope:.2f}}}$"
        # A provider has one colour in all panels; its further series are dashed.
        provider = line.label.split(",")[0]
        seen[provider] = seen.get(provider, -1) + 1
        colour = f"C{PROVIDERS.index(provider) if provider in PROVIDERS else 9}"
        style = "--" if seen[provider] else "-"
        axes.plot(line.x, line.y, marker="o", markersize=3.5, linewidth=1.2, label=label, color=colour, linestyle=style)
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.2, linewidth=0)
    axes.set(xscale="log", yscale="log", xlabel=axis, ylabel=QUANTITIES[quantity])
    # Measured sizes are labelled, as many as fit: matplotlib's own labels overlap on axes of less than a decade.
    sizes = sorted({size for line in lines for size in line.x})
    axes.set_xticks(sizes[:: -(-len(sizes) // 7)], minor=False)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(lambda value, _: size_label(value))
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(fontsize=7, loc="best")


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
