"""Embeddings of a graph folder by many ranks: each embeds a range of rows. Into one array, or into parts of a table."""

import dataclasses
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from localgcl.datasets.source import Source
from localgcl.graph import Graph
from localgcl.graph.mapped import blocks
from localgcl.io.export import new_file
from localgcl.io.parts import Precision, write_parquet, write_rows
from localgcl.losses.finite import non_finite_rows
from localgcl.nn.memory import encoder_stacks
from localgcl.system.files import remove_leftovers, replacing
from localgcl.system.team import Team, part_of
from localgcl.system.text import shown
from localgcl.training.mapped import compute_rows, prepared_for, reads_rows
from localgcl.training.model import Model
from localgcl.training.ranks import Ranks
from localgcl.training.run import RunFolder

Embed = Callable[[range], NDArray[Any]]
"""Embeds a range of rows."""
DONE = "_SUCCESS"
"""The file that is written last: a folder of parts without it is not whole. Readers of Parquet leave out names with _."""
_PART = re.compile(r"part-\d{5,}-of-\d{5,}\.parquet")


def write_array(path: Path, model: Model, graph: Graph, run: Path, ranks: Ranks) -> int:
    """Writes the embeddings of all nodes as one NPY file; returns the number of columns."""
    columns = sum(stack[-1] for stack in encoder_stacks(model.num_inputs, model.config.encoder))
    shape = graph.num_nodes, columns
    write_rows(path, shape, "float32", list(blocks(graph.num_nodes)), embedder(model, graph, run, ranks), ranks)
    return columns


def write_parts(
    folder: str | os.PathLike[str],
    run: RunFolder,
    source: Source,
    ranks: Ranks,
    *,
    overwrite: bool = False,
    precision: Precision = "float32",
    device: str = "cpu",
) -> int:
    """Writes the embeddings as Parquet files in `folder`, one a rank, in the order of the nodes; returns the number of rows.

    Every file appears whole or not at all. When all are there, rank 0 writes `DONE`, which lists them.

    Args:
        folder: New or empty, unless `overwrite`.
        run: The trained run.
        source: The graph: a folder.
        ranks: Who embeds.
        overwrite: Replace the parts that are there; other files are left alone.
        precision: Of the numbers.
        device: Where to embed.
    """
    folder = Path(folder)
    ranks.require_folder(source.folder)
    if source.folder is None:
        raise ValueError(f"{ranks.size} ranks embed a graph folder, and {source.name} is none; make one with localgcl convert")
    ranks.require_same(source.folder)
    again = ranks.restarted()
    if ranks.rank == 0:
        make_room(folder, overwrite=overwrite, again=again)
    ranks.barrier()
    model, graph = Model.load(run, str(ranks.device(device))), source.read()
    if graph.num_nodes < ranks.size:
        raise ValueError(f"there are {ranks.size} ranks for {graph.num_nodes} nodes; start at most {graph.num_nodes}")
    write_part(folder, graph, embedder(model, graph, run.path, ranks), ranks.rank, ranks.size, precision)
    ranks.barrier()
    if ranks.rank == 0:
        finish(folder, graph.num_nodes, ranks.size, precision)
    return graph.num_nodes


def write_part(folder: Path, graph: Graph, embed: Embed, part: int, size: int, precision: Precision) -> None:
    """Writes one of `size` parts: its share of the rows, in order. The file appears whole or not at all."""
    own = part_of(graph.num_nodes, part, size)
    rows = (embed(range(own.start + some.start, own.start + some.stop)) for some in blocks(len(own)))
    with new_file(folder / _name(part, size), overwrite=True) as file:
        write_parquet(file, rows, graph.node_ids[own.start : own.stop], precision)


def embedder(model: Model, graph: Graph, run: Path, ranks: Team) -> Embed:
    """A function that embeds a range of rows. All ranks first compute the rows of channels that are not on disk yet."""
    graph = model.matched(graph)
    if model.config.encoder.encoder != "hops" or not reads_rows(graph, model.config):
        raise ValueError(
            f"{ranks.size} ranks embed by rows, which takes a run of hops on batches smaller than the graph, and a folder "
            "with the columns of training in their order; leave torchrun out"
        )
    prepared = prepared_for(graph, model.config, model.statistics, run)
    compute_rows(prepared, model.method.encoder, ranks)
    model.method.eval()
    with torch.no_grad():
        whole = model.method.prepare(prepared)

    @torch.no_grad()
    def embed(rows: range) -> NDArray[Any]:
        inputs = model.method.encoder.take(whole.inputs, torch.arange(rows.start, rows.stop))
        z = model.method.embed(dataclasses.replace(whole, inputs=inputs)).cpu()
        if broken := non_finite_rows(z):
            raise ValueError(
                f"{broken} of the embeddings of rows {rows.start} to {rows.stop} are NaN or infinite; scale the features, for "
                "example with scaling standard, or lower the learning rate, and train again"
            )
        return z.numpy()

    return embed


def _name(rank: int, size: int) -> str:
    return f"part-{rank:05d}-of-{size:05d}.parquet"


def make_room(folder: Path, *, overwrite: bool, again: bool) -> None:
    """Makes the folder, or empties it of parts if that is asked for, or if ranks left some that were started `again`."""
    if folder.is_file():
        raise ValueError(f"{shown(folder)} is a file, and {DONE} and the parts need a folder; name another one")
    if not folder.parent.is_dir():
        raise FileNotFoundError(f"the folder {shown(folder.parent)} does not exist; create it first")
    folder.mkdir(exist_ok=True)
    remove_leftovers(folder)
    there = [path.name for path in folder.iterdir()]
    left = again and all(_PART.fullmatch(name) for name in there)
    if there and not (overwrite or left):
        raise FileExistsError(f"{shown(folder)} is not empty; choose another folder, or replace its parts with --force")
    (folder / DONE).unlink(missing_ok=True)  # first: from here on the folder is not whole
    for name in filter(_PART.fullmatch, there):
        (folder / name).unlink()


def finish(folder: Path, rows: int, size: int, precision: Precision) -> None:
    """Counts the rows of all parts, and says that they are whole."""
    import pyarrow.parquet

    counts = {
        name: pyarrow.parquet.read_metadata(folder / name).num_rows for name in (_name(rank, size) for rank in range(size))
    }
    if sum(counts.values()) != rows:
        raise ValueError(f"the parts in {shown(folder)} have {sum(counts.values())} rows, and the graph {rows}; embed again")
    with replacing(folder / DONE) as temporary:
        content = {"rows": rows, "precision": precision, "files": counts}
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
