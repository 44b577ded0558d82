"""Charts as inline SVG. Each has a title and a description, and the page puts a table of the same numbers beside it."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from localgcl.report.findings import Series
from localgcl.report.markup import Markup, joined, tag

WIDTH, HEIGHT = 360, 210
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 12, 30
"""Margins of the drawing, which hold the tick labels."""
DRAWN = 500
"""Points of a line, at most: more than the chart has pixels."""


def number(value: float) -> str:
    """At most four digits, with thousands separated.

    >>> number(0.84251), number(1234567), number(3.0), number(-0.00001234)
    ('0.8425', '1,234,567', '3', '-1.234e-05')
    """
    if not math.isfinite(value):
        return "-"
    if value == int(value) or abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def line(series: Series, *, x_name: str) -> Markup:
    """y over x, as a line."""
    finite = series.finite
    axes, points = _Axes(finite.x, finite.y), finite.points(DRAWN)
    path = " ".join(f"{axes.left(x)},{axes.top(y)}" for x, y in points)
    first, last = points[0], points[-1]
    end = tag("circle", class_="end", cx=axes.left(last[0]), cy=axes.top(last[1]), r=3)
    said = f"{series.name}: from {number(first[1])} at {x_name} {number(first[0])} to {number(last[1])}"
    return _svg(series.name, said, axes.drawn(x_name), tag("polyline", class_="line", points=path), end)


def against(series: Series, *, x_name: str, y_name: str) -> Markup:
    """y against x, as points, with the diagonal on which they would agree."""
    finite = series.finite
    both = np.concatenate([finite.x, finite.y])
    axes = _Axes(both, both)
    low, high = float(both.min()), float(both.max())
    diagonal = tag("line", class_="even", x1=axes.left(low), y1=axes.top(low), x2=axes.left(high), y2=axes.top(high))
    dots = (tag("circle", class_="dot", cx=axes.left(x), cy=axes.top(y), r=2.6) for x, y in finite.points(DRAWN))
    said = f"{series.name}: {y_name} against {x_name}; points on the diagonal agree"
    return _svg(series.name, said, axes.drawn(x_name), diagonal, *dots)


def histogram(labels: Sequence[str], counts: Sequence[float], *, title: str, x_name: str) -> Markup:
    """A bar for each label."""
    axes = _Axes(np.array([0.0, max(len(counts), 1)]), np.array([0.0, max([*counts, 1.0])]))
    every = math.ceil(len(labels) / 9)  # more names than nine would touch each other
    bars = []
    for i, (label, count) in enumerate(zip(labels, counts, strict=True)):
        left, right, top = axes.left(i + 0.1), axes.left(i + 0.9), axes.top(count)
        bars.append(
            tag("rect", class_="bar", x=left, y=top, width=round(right - left, 2), height=round(HEIGHT - BOTTOM - top, 2), rx=1)
        )
        if i % every == 0:
            bars.append(tag("text", label, class_="tick", x=axes.left(i + 0.5), y=HEIGHT - BOTTOM + 13, text_anchor="middle"))
    said = f"{title}: " + ", ".join(f"{label}: {number(count)}" for label, count in zip(labels, counts, strict=True))
    return _svg(title, said, axes.drawn(x_name, x_ticks=False), *bars)


def bar(share: float) -> Markup:
    """A small bar of a table's row; the number stands beside it."""
    length = round(100 * min(max(share, 0.0), 1.0), 2)
    track = tag("rect", class_="track", width=100, height=8, rx=1.5)
    fill = tag("rect", class_="bar", width=length, height=8, rx=1.5)
    return tag("svg", track, fill, class_="small", viewBox="0 0 100 8", preserveAspectRatio="none", aria_hidden="true")


def doubling(series: Series) -> tuple[list[str], list[float]]:
    """Counts in bins that double: 0, 1, 2, 3-4, 5-8... In equal bins, a few hubs would squeeze all other nodes into one bar."""
    top = max(int(series.x.max()), 1)
    edges = [0, *itertools.takewhile(lambda edge: edge < 2 * top, (2**i for i in range(40)))]
    labels, counts = [], []
    for below, edge in zip([-1, *edges], edges, strict=False):
        low = below + 1
        labels.append(f"{edge:,}" if low == edge else f"{low:,}-{edge:,}")
        counts.append(float(series.y[(series.x >= low) & (series.x <= edge)].sum()))
    return labels, counts


class _Axes:
    """Positions of numbers in the drawing."""

    def __init__(self, x: Float[np.ndarray, " a"], y: Float[np.ndarray, " b"]) -> None:
        self.x, self.y = _range(x), _range(y)

    def left(self, x: float) -> float:
        return round(LEFT + (float(x) - self.x[0]) / (self.x[1] - self.x[0]) * (WIDTH - LEFT - RIGHT), 2)

    def top(self, y: float) -> float:
        return round(HEIGHT - BOTTOM - (float(y) - self.y[0]) / (self.y[1] - self.y[0]) * (HEIGHT - TOP - BOTTOM), 2)

    def drawn(self, x_name: str, *, x_ticks: bool = True) -> Markup:
        parts = []
        for value in _ticks(*self.y):
            parts.append(tag("line", class_="grid", x1=LEFT, x2=WIDTH - RIGHT, y1=self.top(value), y2=self.top(value)))
            parts.append(tag("text", number(value), class_="tick", x=LEFT - 6, y=self.top(value) + 3.5, text_anchor="end"))
        parts += [
            tag("text", number(value), class_="tick", x=self.left(value), y=HEIGHT - BOTTOM + 14, text_anchor="middle")
            for value in (_ticks(*self.x) if x_ticks else ())
        ]
        parts.append(tag("text", x_name, class_="name", x=WIDTH - RIGHT, y=HEIGHT - 4, text_anchor="end"))
        return joined(*parts)


def _range(values: Float[np.ndarray, " a"]) -> tuple[float, float]:
    """The smallest and largest value, or a wider range: ticks must differ in the four digits that `number` shows."""
    low, high = float(values.min()), float(values.max())
    if high == low:
        return low - (abs(low) or 1) * 0.5, high + (abs(high) or 1) * 0.5
    least = 0.005 * 10.0 ** math.floor(math.log10(1.1 * max(abs(low), abs(high))))
    room = max(least - (high - low), 0) / 2
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    """Three to six round numbers between low and high."""
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if (high - low) / (power * m) <= 5)
    first = math.ceil(low / step - 1e-9)
    return [round(step * i, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _svg(title: str, said: str, *parts: Markup) -> Markup:
    return tag(
        "svg", tag("title", title), tag("desc", said), *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", class_="chart"
    )
