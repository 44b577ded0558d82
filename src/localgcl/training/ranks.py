"""Ranks: processes that train one model together, such as torchrun starts, and how they find each other.

No rows travel between them. Every machine sees the graph folder, so each rank maps it and reads the rows that it needs, from
memory that the ranks of one machine share or from the shared file system. What they send each other are sums: of psi and
counts for the negative term, and of gradients. Neither grows with the graph.
"""

import contextlib
import dataclasses
import datetime
import hashlib
import logging
import os
import platform
import time
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

from localgcl.config import LocalGCLWarning
from localgcl.graph.stored import HEADER
from localgcl.system.devices import choose_device
from localgcl.system.team import Team

T = TypeVar("T")

STEP_SECONDS = 120
"""A rank that waits longer than this for the others within a step gives up: one of them hangs."""
_WAIT_SECONDS = 24 * 3600  # for a file that another rank writes; a rank that dies is noticed at once
_ENVIRONMENT = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_NO_ID = "none"  # what torchrun calls a job without --rdzv-id


class LostRank(ConnectionError):
    """Another rank ended or hangs."""


@dataclasses.dataclass
class Traffic:
    """What this rank has handed over to be summed since it started, in bytes, and the seconds that it waited for the sums."""

    negatives: int = 0
    gradients: int = 0
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True, eq=False)
class Ranks(Team):
    """A team of processes of torch.distributed.

    Args:
        rank: The number of this process.
        size: Number of processes.
        steps: The group that sums, with a short timeout.
        waits: The group that waits for slow work.
        traffic: Counters.
    """

    rank: int
    size: int
    steps: Any
    waits: Any
    traffic: Traffic = dataclasses.field(default_factory=Traffic)

    def reduce(self, vector: Tensor) -> Tensor:
        self.traffic.negatives += vector.numel() * vector.element_size()
        return self._sum(vector)

    def sum(self, vector: Tensor) -> Tensor:
        self.traffic.gradients += vector.numel() * vector.element_size()
        return self._sum(vector)

    def _sum(self, vector: Tensor) -> Tensor:
        started = time.perf_counter()
        message = vector.detach().to("cpu", copy=True)  # gloo sums in main memory; the vectors are small
        with naming_lost_ranks():
            dist.all_reduce(message, group=self.steps)
        self.traffic.seconds += time.perf_counter() - started
        return message.to(vector.device)

    def barrier(self) -> None:
        with naming_lost_ranks():
            dist.barrier(group=self.waits)

    def broadcast(self, value: T) -> T:
        values = [value if self.rank == 0 else None]
        with naming_lost_ranks():
            dist.broadcast_object_list(values, group_src=0, group=self.waits)
        result: T = values[0]  # type: ignore[assignment]  # what rank 0 put in
        return result

    def made(self) -> dict[str, Any]:
        """The number of ranks, and the name of the job if it has one."""
        job = os.environ.get("TORCHELASTIC_RUN_ID", _NO_ID)
        return {"ranks": self.size} | ({} if job == _NO_ID else {"job": job})

    def is_restart(self, made: dict[str, Any] | None) -> bool:
        """Whether this team began the run that recorded `made` before a rank was lost; all ranks call it.

        The name of the job tells, where it has one: a machine that is started anew counts no restarts.
        """
        again, job = bool(self.sum(torch.tensor(float(restarts())))), self.made().get("job")
        return self.broadcast(made is not None and (again if job is None else made.get("job") == job))

    def device(self, name: str) -> torch.device:
        device = choose_device(name)
        if device.type == "cuda" and device.index is None:
            return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        return device

    def summary(self) -> str:
        """One line about what this rank has handed over, and how long it waited."""
        sent = self.traffic
        return (
            f"each rank summed {sent.negatives / 2**20:.1f} MiB for negatives and {sent.gradients / 2**20:.1f} MiB of "
            f"gradients, in {sent.seconds:.1f} s"
        )

    def check_graph(self, folder: str | os.PathLike[str] | None, what: str) -> None:
        """Raises ValueError unless the graph is a folder, or FileNotFoundError unless all ranks see the one of rank 0."""
        theirs = self.broadcast(None if folder is None else os.fspath(folder))
        if theirs is not None and (folder is None or not (Path(folder) / HEADER).is_file()):
            raise FileNotFoundError(f"there is no graph folder at {theirs}; every machine needs it at the same path")
        if folder is None:
            raise ValueError(f"{self.size} ranks {what} is none; make one with localgcl convert")
        found = hashlib.sha256((Path(folder) / HEADER).read_bytes()).hexdigest()
        if found != self.broadcast(found):
            raise ValueError(
                f"the graph folder at {folder} is another one than that of rank 0; every machine needs the same one there"
            )
        self.barrier()


def started_by_torchrun() -> bool:
    """Whether this process is one of several that torchrun, or something that sets the same variables, has started."""
    return all(name in os.environ for name in _ENVIRONMENT)


@contextlib.contextmanager
def join_ranks() -> Iterator[Ranks]:
    """This process as one of the ranks that torchrun, or Ray, has started.

    All ranks but the first are silent. Errors say which rank had them.
    """
    mine = not dist.is_initialized()  # Ray makes the group itself
    short, long = (datetime.timedelta(seconds=seconds) for seconds in (STEP_SECONDS, _WAIT_SECONDS))
    with naming_lost_ranks():
        if mine:
            store, rank, size = next(iter(rendezvous("env://", timeout=short)))
            dist.init_process_group("gloo", store=unused_part(store, rank, size), rank=rank, world_size=size, timeout=short)
        steps, waits = (dist.new_group(backend="gloo", timeout=timeout) for timeout in (short, long))
    ranks = Ranks(dist.get_rank(), dist.get_world_size(), steps, waits)
    try:
        with contextlib.nullcontext() if ranks.rank == 0 else _silence():
            yield ranks
        ranks.barrier()  # a rank that leaves closes its connections
    except (OSError, ValueError) as error:
        kind = OSError if isinstance(error, OSError) else ValueError
        raise kind(f"rank {ranks.rank} on {platform.node()}: {error}") from error
    finally:
        if mine:
            dist.destroy_process_group()


def unused_part(store: Any, rank: int, size: int) -> Any:
    """A part of the store that all ranks agree on and none has written to before.

    torchrun keeps one store over restarts, and gloo would find the addresses of ranks that are dead. Numbers of restarts do not
    tell them apart: torchrun counts them on each machine. So rank 0 draws a name. Another rank asks for it under a name of its
    own, to which nobody has answered before, and rank 0 answers until all have it.
    """
    name = uuid.uuid4().hex
    if rank > 0:
        store.set(f"asking/{rank}", name)
        name = store.get(f"answer/{name}").decode()  # waits for it
        store.set(f"{name}/{rank}", "here")
        return _part(name, store)
    missing, deadline = set(range(1, size)), time.monotonic() + STEP_SECONDS
    while missing:
        for other in [other for other in missing if store.check([f"asking/{other}"])]:
            store.set(f"answer/{store.get(f'asking/{other}').decode()}", name)
        missing = {other for other in missing if not store.check([f"{name}/{other}"])}
        if missing and time.monotonic() > deadline:
            raise LostRank(f"{len(missing)} of {size} ranks did not start within {STEP_SECONDS} seconds; see their errors")
        time.sleep(0.01)
    return _part(name, store)


def _part(name: str, store: Any) -> Any:
    return dist.PrefixStore(name, store)  # type: ignore[attr-defined]  # torch documents it, and does not declare it


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Hides the library's notes and warnings: all ranks have the same ones."""
    logger = logging.getLogger("localgcl")
    level = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LocalGCLWarning)
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)


@contextlib.contextmanager
def naming_lost_ranks() -> Iterator[None]:
    """Raises LostRank in place of torch's RuntimeError, which is all it has for a lost rank."""
    try:
        yield
    except RuntimeError as error:
        raise LostRank(
            "another rank ended or hangs; see its error. If it was killed, start again with --resume, or let torchrun do so: "
            "--max-restarts 3"
        ) from error


def restarts() -> int:
    """Number of times that torchrun has started the ranks of this machine again."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
