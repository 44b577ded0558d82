"""convert: tables of any size -> a graph folder, in bounded memory."""

import contextlib
import errno
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from localgcl.graph.stored import Header
from localgcl.io.files import graph_name
from localgcl.io.folder.edges import map_edges, write_edges
from localgcl.io.folder.engine import Engine
from localgcl.io.folder.inputs import Inputs, PathLike, Table, check_disk, chosen_memory, needed_disk
from localgcl.io.folder.nodes import write_labels, write_nodes
from localgcl.io.folder.rows import EdgeRows, LabelRows
from localgcl.io.folder.streams import NotIntegers, all_integers, id_head, id_parts
from localgcl.io.folder.structural import write_structural
from localgcl.io.folder.work import SPILL, Facts, Job, Work, claimed, finished, remove_ours
from localgcl.io.roles import DEFAULT, Columns
from localgcl.system.memory import in_bytes
from localgcl.system.text import shown

STAGES: dict[str, Callable[[Job, Facts], Facts]] = {
    "nodes": write_nodes,
    "mapped": map_edges,
    "edges": write_edges,
    "structural": write_structural,
    "labels": write_labels,
}
"""What is done, in order. A stage writes into the job's folder, given what the stages before found out."""


def convert(
    edges: PathLike,
    out: PathLike,
    *,
    features: PathLike | None = None,
    labels: PathLike | None = None,
    weight: str | None = None,
    columns: Columns = DEFAULT,
    name: str = "",
    memory: int | None = None,
    overwrite: bool = False,
    say: Callable[[str], None] = lambda _: None,
    progress_bar: bool = False,
) -> Header:
    """Makes a graph folder of files that need not fit in memory. O(|V| f + |E| log |E|) time, on disk.

    The graph is the one that `read_graph` gives after `symmetrized` and `without_loops`. A conversion that was stopped goes on
    when it is called again; one that is done does nothing.

    Args:
        edges: A file, or a glob of CSV, TSV or Parquet files, as for `read_graph`.
        out: The graph folder: new, empty, or one that an earlier call with the same files left.
        features: As `edges`. Without features, structural ones are computed.
        labels: As `edges`.
        weight: The column of edge weights, as for `read_graph`.
        columns: What the other columns are called.
        name: Name of the graph; that of the edge file when not given, or of `out` for a glob.
        memory: Bytes that the process may take, about; by default half of the free memory, at least 1 GiB. NPZ files, and NPY
            files of edges and labels, are read at once, whatever their size.
        overwrite: Start over: remove the graph, or the half-done one, that is in `out`. Other files there stay.
        say: Takes each line about what is done, for example `print`.
        progress_bar: Show one for each stage on stderr.

    Returns:
        The header of the folder.

    Raises:
        FolderError: `out` holds something else.
        ValueError: A file cannot be read, or the files do not fit each other; the message says where and what to do.
        OSError: The disk has too little room.
    """
    allowed, out = chosen_memory(memory), Path(out)
    tables = [None if given is None else Table.find(given) for given in (edges, features, labels)]
    assert tables[0] is not None
    named = name or (graph_name(tables[0].paths[0]) if len(tables[0].paths) == 1 else graph_name(out.absolute()))
    inputs = Inputs(tables[0], tables[1], tables[2], weight, named, columns)
    if overwrite and out.is_dir():
        remove_ours(out)
    work = Work(out, inputs.fingerprint)
    known = finished(out, work.inputs)
    if known is not None:
        work.clean()
        say(f"{shown(out)} holds this graph already")
        return known
    check_disk(out, needed_disk(inputs))
    made = not out.exists()
    with claimed(work), _tidy(work, made=made):
        work.load()
        if work.stages:
            say(f"going on in {shown(out)} after: {', '.join(work.stages)}")
        header = _header(inputs, _run(work, inputs, allowed, say, progress_bar), work.inputs)
        whole = work.publish(header)
        work.clean()
    return whole


def _run(work: Work, inputs: Inputs, memory: int, say: Callable[[str], None], bar: bool) -> Facts:
    """Runs the stages that are not done."""
    id, features = inputs.columns.id, inputs.features
    rows = EdgeRows(inputs.edges, inputs.weight, inputs.columns)
    head = [] if features is None or features.is_array else id_head(id_parts(features, id)[0])
    labels = None if inputs.labels is None else LabelRows(inputs.labels, id)
    if work.integers is None:
        work.begin(integers=all_integers([*rows.head(), *head, *([] if labels is None else labels.head())]))
    engine = Engine(work.folder / SPILL, memory)
    try:
        for name, stage in STAGES.items():
            if name not in work.stages:
                assert work.integers is not None
                job = Job(inputs, rows, labels, work.folder, engine, say, bar, work.integers, memory)
                work.record(name, stage(job, work.facts))
        return work.facts
    except NotIntegers:  # the heads of the files misled: all ids are text
        work.begin(integers=False)
        return _run(work, inputs, memory, say, bar)
    finally:
        engine.close()


def _header(inputs: Inputs, facts: Facts, fingerprint: str) -> Header:
    names, classes = facts.get("feature_names"), facts.get("classes")
    return Header(
        name=inputs.name,
        nodes=facts["nodes"],
        edges=facts["edges"],
        features=facts["features"],
        feature_names=None if names is None else tuple(names),
        column_types=facts.get("column_types", {}),
        classes=None if classes is None else tuple(classes),
        encoding=facts.get("encoding"),
        loops=facts["loops"],
        inputs=fingerprint,
    )


@contextlib.contextmanager
def _tidy(work: Work, *, made: bool) -> Iterator[None]:
    """After a fault of the inputs nothing is left behind. After anything else, what is done stays, to go on with."""
    try:
        yield
    except (ValueError, TypeError):
        work.clean()
        if made:
            with contextlib.suppress(OSError):  # it is not empty
                work.out.rmdir()
        raise
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        free = shutil.disk_usage(work.out).free
        raise OSError(
            f"the disk of {shown(work.out)} is full, with {in_bytes(free)} free; make room and run the same command to go on"
        ) from error
