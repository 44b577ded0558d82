"""`localgcl embed`: from a run folder to a file of embeddings."""

import argparse
from pathlib import Path

from localgcl.commands.options import add_source
from localgcl.datasets.source import Source
from localgcl.io.export import WRITERS
from localgcl.io.parts import write_blocks
from localgcl.system.text import shown
from localgcl.training import Model, RunFolder

DESCRIPTION = (
    "Embed the nodes of a graph with a trained run: of the graph that it was trained on, of another data set, or of your own "
    "files. Nodes and edges may be new to it. Feature columns are matched by name."
)


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """A run, a graph and a file."""
    parser.add_argument("run", metavar="RUN", help="run folder of localgcl train")
    add_source(parser)
    *others, last = WRITERS
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help=f"{', '.join(others)} or {last}")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument(
        "--precision", choices=["float32", "float16"], default="float32", help="of .npy and .parquet (default: float32)"
    )
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")


def run(options: argparse.Namespace) -> None:
    """Embeds and writes."""
    folder = RunFolder.open(options.run)
    source = _source(options, folder)
    model, graph = Model.load(folder, options.device), source.read()
    blocks = (block.numpy() for block in model.embed_blocks(graph, cache=folder.path))
    write_blocks(
        options.output,
        blocks,
        graph.node_ids,
        overwrite=options.force,
        precision=options.precision,
    )
    if source.features is not None and graph.feature_names is None and model.feature_names is None:
        print("feature columns have no names; they are matched by position")
    print(f"{graph.num_nodes:,} embeddings in {shown(options.output)}")


def _source(options: argparse.Namespace, folder: RunFolder) -> Source:
    """The graph that was asked for; that of the run where none was."""
    dataset, files, weight = options.dataset, (options.edges, options.features, options.labels), options.weight
    if dataset is None and files == (None, None, None) and weight is None:
        return Source(**folder.source)
    if dataset is not None and options.edges is None and (options.features is not None or Path(dataset).suffix):
        dataset, files = None, (dataset, *files[1:])  # an edge file instead of a data set
    if files[0] is not None and weight is None:
        weight = folder.source.get("weight")  # the column that it was trained with
    return Source(dataset, *files, weight)
