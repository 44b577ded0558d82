"""A figure to draw on, as every plot of this package uses it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
