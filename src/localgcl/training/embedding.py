"""Embeddings of a whole graph into files, by one process or by a team, each process a range of rows."""

import dataclasses
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from localgcl.datasets.source import Source
from localgcl.graph import Graph
from localgcl.graph.mapped import shared_rows
from localgcl.graph.stored import HEADER
from localgcl.io.export import Precision, new_file, peeked, write_parquet
from localgcl.io.numpy_files import write_rows
from localgcl.system.files import digest, remove_leftovers, replacing
from localgcl.system.progress import counted
from localgcl.system.team import ALONE, Team, part_of
from localgcl.system.text import shown
from localgcl.training.model import Model
from localgcl.training.run import RunFolder

DONE = "_SUCCESS"
"""The file that is written last: a folder of parts without it is not whole. Readers of Parquet leave out names with _."""
STARTED = "_STARTED"
"""The file that is written first, and removed last: what is written, and by which team."""
_PART = re.compile(r"part-\d{5,}-of-\d{5,}\.parquet")


def write_array(
    path: Path, model: Model, graph: Graph, team: Team = ALONE, *, cache: Path | None = None, progress_bar: bool = False
) -> int:
    """Writes the embeddings of all nodes as one NPY file, each process some rows; returns the number of columns."""
    rows = shared_rows(graph.num_nodes, team)
    # A process without rows embeds one, to know the number of columns and to take part in what all compute together.
    computed = model.embed_blocks(graph, rows or range(1), team=team, cache=cache)
    columns, blocks = peeked(block.numpy() for block in computed)
    blocks = counted(blocks, len(rows), "nodes", title="embedding", shown=progress_bar) if rows else ()
    write_rows(path, (graph.num_nodes, columns), "float32", rows, blocks, team)
    return columns


@dataclasses.dataclass(frozen=True)
class Parts:
    """The task of writing the embeddings of a graph folder as Parquet files, one a process, in the order of the nodes.

    Every file appears whole or not at all. When all are there, rank 0 writes `DONE`, which lists them. A team that was started
    again keeps the files that it had written.

    Args:
        folder: New or empty, unless `overwrite`.
        run: The trained run's folder.
        source: The graph: a folder.
        overwrite: Replace the parts that are there; other files are left alone.
        precision: Of the numbers.
        device: Where to embed.
    """

    folder: str
    run: str
    source: Source
    overwrite: bool = False
    precision: Precision = "float32"
    device: str = "cpu"

    def check(self, workers: int) -> None:
        """Raises ValueError for what `workers` processes would refuse, before they are started."""
        if self.source.folder is None:
            raise ValueError(
                f"{workers} ranks embed a graph folder, and {self.source.name} is none; make one with localgcl convert"
            )
        _check_size(workers, self.source.read())

    def with_absolute_paths(self) -> "Parts":
        """This task for processes that run in another folder."""
        source = Source(**self.source.to_dict())
        return dataclasses.replace(self, folder=os.path.abspath(self.folder), run=os.path.abspath(self.run), source=source)

    def __call__(self, team: Team, say: Callable[[str], None]) -> None:  # noqa: ARG002
        """Writes this process's part."""
        folder, run = Path(self.folder), RunFolder.open(self.run)
        team.check_graph(self.source.folder, f"embed a graph folder, and {self.source.name}")
        model = Model.load(run, str(team.device(self.device)))  # first: it says what a run lacks
        # What is written, and by whom: parts of another run, graph or team are not those of this task.
        made = team.made() | {"precision": self.precision, "weights": digest(run.weights.read_bytes())}
        made |= {"graph": digest((Path(self.source.folder or "") / HEADER).read_bytes())}
        started = folder / STARTED
        stored = json.loads(started.read_text("utf-8")) if team.rank == 0 and started.is_file() else None
        again = team.is_restart(stored if stored == made else None)
        if team.rank == 0 and not again:
            make_room(folder, overwrite=self.overwrite, made=made)
        team.barrier()
        graph = self.source.read()
        _check_size(team.size, graph)
        path, own = folder / _name(team.rank, team.size), part_of(graph.num_nodes, team.rank, team.size)
        written = again and path.is_file()
        # What all processes compute together comes with the first row.
        some = range(own.start, own.start + 1) if written else own
        _, rows = peeked(block.numpy() for block in model.embed_blocks(graph, some, team=team, cache=run.path))
        if not written:
            with new_file(path, overwrite=True) as file:
                write_parquet(file, iter(rows), graph.node_ids[own.start : own.stop], self.precision)
        team.barrier()
        if team.rank == 0:
            finish(folder, graph.num_nodes, team.size, self.precision)
        team.barrier()


def _check_size(size: int, graph: Graph) -> None:
    if not 1 <= size <= graph.num_nodes:
        raise ValueError(f"there are {size} ranks for {graph.num_nodes} nodes; start 1 to {graph.num_nodes}")


def _name(rank: int, size: int) -> str:
    return f"part-{rank:05d}-of-{size:05d}.parquet"


def make_room(folder: Path, *, overwrite: bool, made: dict[str, Any]) -> None:
    """Makes the folder, or empties it of parts if that is asked for; stores which team begins to write."""
    if folder.is_file():
        raise ValueError(f"{shown(folder)} is a file, and {DONE} and the parts need a folder; name another one")
    if not folder.parent.is_dir():
        raise FileNotFoundError(f"the folder {shown(folder.parent)} does not exist; create it first")
    folder.mkdir(exist_ok=True)
    remove_leftovers(folder)
    there = [path.name for path in folder.iterdir() if path.name != STARTED]
    if there and not overwrite:
        raise FileExistsError(f"{shown(folder)} is not empty; choose another folder, or replace its parts with --force")
    (folder / DONE).unlink(missing_ok=True)  # first: from here on the folder is not whole
    for name in filter(_PART.fullmatch, there):
        (folder / name).unlink()
    with replacing(folder / STARTED) as temporary:
        temporary.write_text(json.dumps(made) + "\n", encoding="utf-8")


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
    (folder / STARTED).unlink()
