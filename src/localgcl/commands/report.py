"""`localgcl report`: from a run folder to one HTML page."""

import argparse
from pathlib import Path

from localgcl.commands.output import Result, sayer
from localgcl.report.map import LAYOUTS
from localgcl.report.writing import report_path, write_report
from localgcl.system.text import shown
from localgcl.training import RunFolder

DESCRIPTION = (
    "Write a report on a run: one HTML page that opens from disk without a network. It has a map of the embeddings to explore, "
    "clusters and what marks them out, the loss, scores beside random-init and raw features, degrees and homophily, the "
    "settings, and how to load the result."
)


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """A run and a file."""
    parser.add_argument("run", metavar="RUN", help="run folder of localgcl train")
    parser.add_argument("-o", "--output", metavar="FILE", help="page to write, .html (default: RUN/report.html)")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument(
        "--clusters", type=int, metavar="K", help="number of clusters (default: from 2 to 20, by the largest silhouette)"
    )
    parser.add_argument("--scores", action=argparse.BooleanOptionalAction, default=True, help="score the embeddings by labels")
    add_layout(parser)


def add_layout(parser: argparse.ArgumentParser) -> None:
    """Adds options of the layout."""
    parser.add_argument(
        "--layout", choices=LAYOUTS, default="auto", help="how nodes are placed (default: umap where it is installed, else pca)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of layout and clusters (default: 0)")


def run(options: argparse.Namespace) -> Result:
    """Writes the page and says what is in it."""
    folder, say = RunFolder.open(options.run), sayer(options)
    path = report_path(folder, options.output, overwrite=options.force)
    found = write_report(
        folder,
        path,
        overwrite=options.force,
        clusters=options.clusters,
        scores=options.scores,
        layout=options.layout,
        seed=options.seed,
        say=say,
    )
    size = Path(path).stat().st_size
    say(found.map.shown)
    for sentence in (found.map.layout, found.map.nearest_note, found.clustering):
        say(sentence)
    scores = found.sections["scores"].data["rows"] if "scores" in found.sections else ()
    for score in scores:
        deviation = "" if score.deviation is None else f" ± {score.deviation:.2f}"
        say(f"{score.name}: {score.mean:.2f}{deviation} ({score.metric})")
    for part, note in found.notes.items():
        say(f"{part}: {shown(note)}")
    say(f"{shown(path)} ({size / 1e6:.1f} MB): open it in a browser")
    return {
        "output": path,
        "bytes": size,
        "nodes": len(found.map.ids),
        "layout": found.map.layout,
        "clusters": found.clusters,
        "scores": scores,
        "notes": found.notes,
    }
