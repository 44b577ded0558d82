"""`localgcl embed` on a Ray cluster: Ray Data maps ranges of rows to Parquet files.

A range needs no other range, so a worker that is lost costs its own file alone, and Ray Data starts it again. Rows of channels
that are not on disk yet are computed by ranks before: each power waits for the one below.
"""

import contextlib
import dataclasses
import logging
import os
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

from numpy.typing import NDArray

from localgcl.datasets.source import Source
from localgcl.graph import Graph
from localgcl.io.parts import Precision
from localgcl.system.team import ALONE, Team
from localgcl.training.cluster.group import FAULTS, Say, run_ranks, storage_in
from localgcl.training.cluster.session import Worker, connected
from localgcl.training.model import Model
from localgcl.training.ranks import Ranks
from localgcl.training.run import RunFolder
from localgcl.training.shards import embedder, finish, make_room, write_part

Batch = dict[str, Any]


def write_parts_on_cluster(
    folder: str | os.PathLike[str],
    run: RunFolder,
    source: Source,
    workers: int,
    *,
    overwrite: bool = False,
    precision: Precision = "float32",
    device: str = "cpu",
) -> int:
    """`write_parts` by workers of a Ray cluster, a file each; returns the number of rows. All machines see the folders."""
    if source.folder is None:
        raise ValueError(f"engine ray embeds a graph folder, and {source.name} is none; make one with localgcl convert")
    folder, graph = Path(folder).absolute(), source.read()
    if not 1 <= workers <= graph.num_nodes:
        raise ValueError(f"workers is {workers}; for this graph it must be between 1 and {graph.num_nodes}")
    # Ray warns of every worker of Ray Data that it can be started again.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    job = Job(str(run.path.absolute()), source.to_dict(), str(folder), workers, precision, device)
    with contextlib.ExitStack() as stack:
        own = source.to_dict() == run.source
        storage = "" if own else stack.enter_context(storage_in(folder.parent))
        worker = stack.enter_context(connected(workers, 1, device))
        if own:
            job.open(ALONE)  # the rows are there; it refuses runs that do not embed by rows
        else:
            run_ranks(partial(_compute_rows, job), workers, worker, storage, lambda _: None)
        make_room(folder, overwrite=overwrite, again=False)
        _map(job, worker)
    finish(folder, graph.num_nodes, workers, precision)
    return graph.num_nodes


@dataclasses.dataclass(frozen=True)
class Job:
    """What is embedded, and to where, in `size` files; every path is absolute."""

    run: str
    source: dict[str, Any]
    folder: str
    size: int
    precision: Precision
    device: str

    def open(self, ranks: Team, device: str = "cpu") -> tuple[Graph, Callable[[range], NDArray[Any]]]:
        """The graph, and a function that embeds a range of its rows. What is not on disk yet, `ranks` compute."""
        run, graph = RunFolder.open(self.run), Source(**self.source).read()
        return graph, embedder(Model.load(run, device), graph, run.path, ranks)


class Embed:
    """What each worker of Ray Data runs: it reads the model once, and writes the parts that it is given."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._opened: tuple[Graph, Callable[[range], NDArray[Any]]] | None = None

    def __call__(self, batch: Batch) -> Batch:
        """Writes parts; an error of the input is returned, because Ray Data would not say which one it was."""
        try:
            for part in batch["part"]:
                self._write(int(part))
        except FAULTS as error:
            return {"error": [pickle.dumps(error)]}
        return {"error": [b""]}

    def _write(self, part: int) -> None:
        job = self._job
        self._opened = graph, embed = self._opened or job.open(ALONE, job.device)
        write_part(Path(job.folder), graph, embed, part, job.size, job.precision)


def _compute_rows(job: Job, ranks: Ranks, _: Say) -> None:
    ranks.require_same(job.source["folder"])
    job.open(ranks)


def _map(job: Job, worker: Worker) -> None:
    """Writes all parts; raises the first error."""
    import ray

    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    # Items, not a range: tasks that read a range would wait for cores that the workers hold.
    parts = ray.data.from_items([{"part": part} for part in range(job.size)], override_num_blocks=job.size)
    answers = parts.map_batches(
        Embed,
        fn_constructor_args=(job,),
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=job.size),
        num_cpus=worker.threads,
        num_gpus=worker.gpu or None,
        runtime_env={"env_vars": worker.environment},
    ).take_all()
    for answer in answers:
        if answer["error"]:
            raise cast(Exception, pickle.loads(answer["error"]))
