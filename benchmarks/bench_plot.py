"""Draws time and memory against N, d and D with fitted exponents, from the table that `python -m paper bench` writes.

python -m benchmarks.bench_plot FOLDER
"""

import argparse
import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import BENCH
from paper.bench.table import BenchRow, hardware, newest, read
from paper.plots import COLOURS, MARKERS, canvas, size_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AXES = ("N", "d", "D")
QUANTITIES = {"p50_ms": "time in ms (p20 to p80)", "peak_mib": "peak memory in MiB"}
RULE = (
    "Exponents in figures are slopes of least-squares lines in log-log axes, through the points that take more than twice as "
    "much as the smallest size (below that, fixed costs dominate); with fewer than three such points there is none."
)


@dataclasses.dataclass(frozen=True)
class Series:
    """The measurements of one provider along one axis, with the other sizes fixed."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def exponent(x: Sequence[float], y: Sequence[float]) -> float | None:
    """The slope of log y against log x by the rule above; sizes must increase.

    Example:
        >>> exponent([1, 2, 4, 8, 16], [7, 7, 20, 80, 320])
        2.0
    """
    kept = np.log([(a, b) for a, b in zip(x, y, strict=True) if b > 2 * y[0]])
    if len(kept) < 3:
        return None
    slope, _ = np.polyfit(kept[:, 0], kept[:, 1], 1)
    return round(float(slope), 3)


def series(rows: Sequence[BenchRow], axis: str, quantity: str) -> list[Series]:
    """All series of at least three sizes along `axis`, from rows of one benchmark on one machine."""
    others = [name for name in ("provider", "case", *AXES) if name != axis]
    groups: dict[tuple[str, ...], list[BenchRow]] = {}
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
"""Providers in the order of their colours; all others share the last colour."""


def plot(rows: Sequence[BenchRow], folder: Path, suffix: str = "svg") -> dict[tuple[str, str], Path]:
    """Draws a figure for each benchmark and machine with at least one series; returns paths by (benchmark, machine)."""
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
    """The file name of a figure, without suffix."""
    return re.sub(r"[^a-z0-9]+", "-", f"{benchmark} {machine}".lower()).strip("-")


def _draw(title: str, panels: list[tuple[str, str, list[Series]]], path: Path) -> None:
    columns = min(len(panels), 3)
    with canvas(path, -(-len(panels) // columns), columns, (5.2, 4.4)) as (figure, grid):
        figure.suptitle(title)
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        for axes, panel in zip(grid, panels, strict=False):
            _panel(axes, *panel)


def _panel(axes: "Axes", axis: str, quantity: str, lines: list[Series]) -> None:
    from matplotlib import ticker

    seen: dict[str, int] = {}
    for line in lines:
        slope = exponent(line.x, line.y)
        label = line.label if slope is None else f"{line.label}: {axis}$^{{{slope:.2f}}}$"
        # A provider has the same colour in all panels; its second and later series are dashed.
        provider = line.label.split(",")[0]
        seen[provider] = seen.get(provider, -1) + 1
        place = PROVIDERS.index(provider) if provider in PROVIDERS else len(COLOURS) - 1
        colour, style = COLOURS[place], "--" if seen[provider] else "-"
        axes.plot(
            line.x, line.y, marker=MARKERS[place], markersize=3.5, linewidth=1.2, label=label, color=colour, linestyle=style
        )
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.2, linewidth=0)
    axes.set(xscale="log", yscale="log", xlabel=axis, ylabel=QUANTITIES[quantity])
    # Label measured sizes, as many as fit: matplotlib's own labels overlap on axes of less than a decade.
    sizes = sorted({size for line in lines for size in line.x})
    axes.set_xticks(sizes[:: -(-len(sizes) // 7)], minor=False)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(lambda value, _: size_label(value))
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(fontsize=7, loc="best")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_plot", description=__doc__)
    parser.add_argument("folder", type=Path, help="where to write, one PNG for each benchmark and machine")
    parser.add_argument("--table", type=Path, default=BENCH, metavar="CSV", help="what python -m paper bench has measured")
    options = parser.parse_args(arguments)
    for path in plot(read(options.table), options.folder, "png").values():
        print(f"written: {path}")
    print(RULE)


if __name__ == "__main__":
    main()
