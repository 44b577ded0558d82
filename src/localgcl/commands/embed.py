"""`localgcl embed`: from a run folder to a file of embeddings."""

import argparse
import json
from pathlib import Path

from localgcl.commands.options import add_engine, add_source, read_columns, read_engine
from localgcl.commands.output import Result, sayer
from localgcl.datasets.source import COLUMNS, Source
from localgcl.io.encode import as_encoding
from localgcl.io.export import WRITERS, check_output, write_blocks
from localgcl.system.progress import counted
from localgcl.system.text import shown
from localgcl.training import Model, RunFolder
from localgcl.training.embedding import DONE, Parts
from localgcl.training.new_nodes import embed_added

DESCRIPTION = (
    "Embed the nodes of a graph with a trained run: of the graph that it was trained on, of another data set, or of your own "
    "files. Nodes and edges may be new to it. Feature columns are matched by name. With --add-edges and --add-features, new "
    "nodes and edges are joined to the graph; written are the embeddings of new nodes, and of those that new edges change."
)


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """A run, a graph and a file."""
    parser.add_argument("run", metavar="RUN", help="run folder of localgcl train")
    add_source(parser)
    *others, last = WRITERS
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help=f"{', '.join(others)} or {last}; a folder for ranks and workers"
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument(
        "--precision", choices=["float32", "float16"], default="float32", help="of .npy and .parquet (default: float32)"
    )
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    add_engine(parser)
    added = parser.add_argument_group("new nodes and edges")
    added.add_argument("--add-edges", metavar="F", help="edges to join to the graph, between nodes that it has or new ones")
    added.add_argument("--add-features", metavar="F", help="features of the new nodes; ids in the first column or in --id")
    added.add_argument(
        "--only-new", action="store_true", help="write new nodes only (default: also nodes whose embeddings change)"
    )


def run(options: argparse.Namespace) -> Result | None:
    """Embeds and writes. Of a team of torchrun or of a cluster, each process writes some rows to a file of its own."""
    engine = read_engine(options)
    with engine.joined():
        if engine.size is None:
            return _run_alone(options)
        if options.add_edges is not None or options.add_features is not None or options.only_new:
            raise ValueError(
                f"new nodes are embedded by one process, and there are {engine.size}; leave torchrun and --engine out"
            )
        run = RunFolder.open(options.run)
        changes = {"overwrite": options.force, "precision": options.precision, "device": options.device}
        engine.run(Parts(options.output, options.run, _source(options, run), **changes), sayer(options))
        if not engine.first:
            return None
        written = json.loads((Path(options.output) / DONE).read_text("utf-8"))
        sayer(options)(f"{written['rows']:,} embeddings in {engine.size} files in {shown(options.output)}")
        return {"output": options.output, "rows": written["rows"], "files": engine.size}


def _run_alone(options: argparse.Namespace) -> Result:
    folder = RunFolder.open(options.run)
    check_output(options.output, overwrite=options.force, precision=options.precision)
    if options.add_edges is not None or options.add_features is not None:
        return _run_added(options, folder)
    if options.only_new:
        raise ValueError("only-new is for new nodes, and none are given; give --add-edges and --add-features")
    source, say = _source(options, folder), sayer(options)
    model, graph = Model.load(folder, options.device), source.read()
    rows = (block.numpy() for block in model.embed_blocks(graph, cache=folder.path))
    blocks = counted(rows, graph.num_nodes, "nodes", title="embedding", shown=not options.quiet)
    write_blocks(
        options.output,
        blocks,
        graph.node_ids,
        overwrite=options.force,
        precision=options.precision,
    )
    if source.features is not None and graph.feature_names is None and model.feature_names is None:
        say("feature columns have no names; they are matched by position")
    say(f"{graph.num_nodes:,} embeddings in {shown(options.output)}")
    return {"output": options.output, "rows": graph.num_nodes}


def _run_added(options: argparse.Namespace, folder: RunFolder) -> Result:
    """Embeds new nodes, and the nodes whose embeddings they change."""
    own = options.dataset is None and (options.edges, options.features, options.labels) == (None, None, None)
    # Without other files, the names of columns are those of the added files.
    source, columns = folder.graph_source if own else _source(options, folder), read_columns(options)
    if columns.encode is None:  # new nodes are encoded as those of the run
        columns = columns._replace(encode=as_encoding(folder.encoding_file))
    found = embed_added(
        Model.load(folder, options.device),
        source,
        options.add_edges,
        options.add_features,
        weight=options.weight,
        columns=columns,
        only_new=options.only_new,
    )
    blocks = (block.numpy() for block in found.blocks)
    write_blocks(options.output, blocks, found.node_ids, overwrite=options.force, precision=options.precision)
    changed = "" if options.only_new else f", {found.num_changed:,} changed"
    sayer(options)(f"{found.num_new:,} new nodes{changed}: {len(found.node_ids):,} embeddings in {shown(options.output)}")
    return {"output": options.output, "rows": len(found.node_ids), "new": found.num_new, "changed": found.num_changed}


def _source(options: argparse.Namespace, folder: RunFolder) -> Source:
    """The graph that the options name, or else the run's own."""
    dataset, files = options.dataset, (options.edges, options.features, options.labels)
    named = {name: getattr(options, name) for name in (*COLUMNS, "encode")}
    if dataset is None and files == (None, None, None) and not any(name is not None for name in named.values()):
        return folder.graph_source
    if dataset is not None and options.edges is None and (options.features is not None or Path(dataset).suffix):
        dataset, files = None, (dataset, *files[1:])  # an edge file instead of a data set
    if files[0] is not None:  # other columns are those that it was trained with
        trained = folder.source | folder.encoded
        named = {name: trained.get(name) if given is None else given for name, given in named.items()}
    return Source(dataset, *files, **named)
