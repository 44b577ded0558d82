"""`localgcl map`: the embeddings of a run as a picture."""

import argparse
from pathlib import Path

from localgcl.commands.output import Result, sayer
from localgcl.commands.report import add_layout
from localgcl.io.export import check_new
from localgcl.report.map import SUFFIXES, check_picture, write_map
from localgcl.system.text import shown
from localgcl.training import RunFolder

DESCRIPTION = (
    "Draw the embeddings of a run in the plane, coloured by the label, the cluster, the degree or a column of features."
)


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """A run, a file and a column."""
    *others, last = SUFFIXES
    parser.add_argument("run", metavar="RUN", help="run folder of localgcl train")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help=f"{', '.join(others)} or {last}")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument(
        "--color",
        "--colour",
        metavar="COLUMN",
        help="label, cluster, degree, or the name of a feature column (default: label, or cluster without labels)",
    )
    parser.add_argument("--clusters", type=int, metavar="K", help="number of clusters (default: by the largest silhouette)")
    add_layout(parser)


def run(options: argparse.Namespace) -> Result:
    """Draws and says how."""
    folder, path, say = RunFolder.open(options.run), Path(options.output), sayer(options)
    check_picture(path)
    check_new(path, overwrite=options.force)
    drawn = write_map(folder, path, color=options.color, clusters=options.clusters, layout=options.layout, seed=options.seed)
    for sentence in (drawn.shown, drawn.layout):
        say(sentence)
    say(f"coloured by {shown(drawn.color)}: {shown(path)}")
    return {"output": path, "color": drawn.color, "nodes": drawn.nodes, "layout": drawn.layout}
