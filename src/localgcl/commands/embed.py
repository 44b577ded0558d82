"""`localgcl embed`: from a run folder to a file of embeddings."""

import argparse
from pathlib import Path

from localgcl.datasets.source import Source
from localgcl.io.export import WRITERS, write_embeddings
from localgcl.training import Model, RunFolder

DESCRIPTION = "Embed the nodes of a graph with a trained run. Nodes and edges may be new to it."


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """A run, a graph and a file."""
    parser.add_argument("run", metavar="RUN", help="run folder of localgcl train")
    parser.add_argument("graph", nargs="?", metavar="GRAPH", help="data set or edge file (default: the graph of the run)")
    parser.add_argument("--features", metavar="F", help="feature file that goes with an edge file")
    *others, last = WRITERS
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help=f"{', '.join(others)} or {last}")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")


def run(options: argparse.Namespace) -> None:
    """Embeds and writes."""
    folder = RunFolder.open(options.run)
    if options.graph is None:
        source = Source(**folder.source)
    elif options.features is not None or Path(options.graph).suffix:
        source = Source(edges=options.graph, features=options.features)
    else:
        source = Source(dataset=options.graph)
    model, graph = Model.load(folder, options.device), source.read()
    write_embeddings(options.output, model.embed(graph).numpy(), graph.node_ids, overwrite=options.force)
    print(f"{graph.num_nodes:,} embeddings in {options.output}")
