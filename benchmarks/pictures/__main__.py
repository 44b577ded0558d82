"""Draws the diagrams of the documentation: docs/_static/diagrams.

python -m benchmarks.pictures
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import ROOT
from benchmarks.files import write
from benchmarks.pictures import boxes, nodes
from benchmarks.pictures.drawing import Drawing

PICTURES: dict[str, Callable[[], Drawing]] = {
    "flow": boxes.flow,
    "tables": boxes.tables,
    "loss": nodes.loss,
    "channels": boxes.channels,
    "kernel": nodes.kernel,
    "ranks": boxes.ranks,
    "batches": nodes.batches,
    "new-nodes": nodes.new_nodes,
    "splits": boxes.splits,
    "search": boxes.search,
    "pages": boxes.pages,
    "views": nodes.views,
}
"""By the name of the file."""


def write_pictures(folder: Path) -> list[Path]:
    """Writes all of them; returns the paths."""
    return [write(folder / f"{name}.svg", draw().svg()) for name, draw in PICTURES.items()]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs" / "_static" / "diagrams", help="where to write")
    for path in write_pictures(parser.parse_args(arguments).folder):
        print(f"written: {path}")


if __name__ == "__main__":
    main()
