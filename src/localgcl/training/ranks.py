"""Ranks: processes that train one model together, started by torchrun.

No rows travel between them. Every machine sees the graph folder, so each rank maps it and reads the rows that it needs, from
memory that the ranks of one machine share or from the shared file system. What they send each other are sums: of psi and
counts for the negative term, and of gradients. Neither grows with the graph.
"""

import contextlib
import dataclasses
import hashlib
import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from localgcl.graph.stored import HEADER
from localgcl.system.devices import choose_device

T = TypeVar("T")

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
class Ranks:
    """A `Team` of processes. Called with a vector, it returns the sum of theirs: what losses take as `reduce`.

    Args:
        rank: The number of this process.
        size: How many there are.
        steps: The group that sums, with a short timeout.
        waits: The group that waits for slow work.
        traffic: Counters.
    """

    rank: int
    size: int
    steps: Any
    waits: Any
    traffic: Traffic = dataclasses.field(default_factory=Traffic)

    def __call__(self, vector: Tensor) -> Tensor:
        self.traffic.negatives += vector.numel() * vector.element_size()
        return self._sum(vector)

    def add_up(self, vector: Tensor) -> Tensor:
        """The sum of all ranks' vectors, for gradients and numbers to log."""
        self.traffic.gradients += vector.numel() * vector.element_size()
        return self._sum(vector)

    def _sum(self, vector: Tensor) -> Tensor:
        started = time.perf_counter()
        message = vector.detach().to("cpu", copy=True)  # gloo sums in main memory; the vectors are small
        with noticing():
            dist.all_reduce(message, group=self.steps)
        self.traffic.seconds += time.perf_counter() - started
        return message.to(vector.device)

    def barrier(self) -> None:
        """Returns when all ranks have called it."""
        with noticing():
            dist.barrier(group=self.waits)

    def told(self, value: T) -> T:
        """The value of rank 0."""
        values = [value if self.rank == 0 else None]
        with noticing():
            dist.broadcast_object_list(values, group_src=0, group=self.waits)
        result: T = values[0]  # type: ignore[assignment]  # what rank 0 put in
        return result

    def made(self) -> dict[str, Any]:
        """What a run folder keeps of this team: its size, and the job that it belongs to if that has a name."""
        job = os.environ.get("TORCHELASTIC_RUN_ID", _NO_ID)
        return {"ranks": self.size} | ({} if job == _NO_ID else {"job": job})

    def restarted(self) -> bool:
        """Whether torchrun has started any of the ranks again; all of them call it."""
        return bool(self.add_up(torch.tensor(float(restarts()))))

    def began(self, made: dict[str, Any] | None) -> bool:
        """Whether this team began a run before a rank was lost; all ranks call it, with what its folder keeps if there is one.

        A machine that is started anew counts no restarts, so the name of the job tells, where it has one.
        """
        again, job = self.restarted(), self.made().get("job")
        return self.told(made is not None and (again if job is None else made.get("job") == job))

    @property
    def name(self) -> str:
        """Who this is, for errors."""
        return f"rank {self.rank} on {platform.node()}"

    def device(self, name: str) -> torch.device:
        """The device called `name`: of several GPUs, each rank of a machine takes its own."""
        device = choose_device(name)
        if device.type == "cuda" and device.index is None:
            return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        return device

    def require_folder(self, folder: str | None) -> None:
        """Raises FileNotFoundError if rank 0 was given a graph folder, and this rank finds none there."""
        theirs = self.told(folder)
        if theirs is not None and folder is None:
            raise FileNotFoundError(f"there is no graph folder at {theirs}; every machine needs it at the same path")

    def require_same(self, folder: str | os.PathLike[str]) -> None:
        """Raises FileNotFoundError or ValueError unless this rank sees the graph folder that rank 0 sees."""
        header = Path(folder) / HEADER
        if not header.is_file():
            raise FileNotFoundError(f"there is no graph folder at {folder}; every machine needs it at the same path")
        found = hashlib.sha256(header.read_bytes()).hexdigest()
        if found != self.told(found):
            raise ValueError(
                f"the graph folder at {folder} is another one than that of rank 0; every machine needs the same one there"
            )
        self.barrier()


@contextlib.contextmanager
def noticing() -> Iterator[None]:
    """Says plainly that another rank is lost, where torch has no error of its own for it."""
    try:
        yield
    except RuntimeError as error:
        raise LostRank(
            "another rank ended or hangs; see its error. If it was killed, start again with --resume, or let torchrun do so: "
            "--max-restarts 3"
        ) from error


def restarts() -> int:
    """How often torchrun has started the ranks of this machine again."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
