"""Engines: what starts a team and runs a task on it. This process, torchrun, Ray; a new one is one file, and one line here."""

import abc
import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any, Protocol, runtime_checkable

from localgcl.config import suggestion
from localgcl.system.team import ALONE, Team
from localgcl.training.ranks import Ranks, join_ranks, started_by_torchrun

Say = Callable[[str], None]


@runtime_checkable
class Task(Protocol):
    """Work that all processes of a team do together. It can be pickled."""

    def __call__(self, team: Team, say: Say, /) -> object:
        """Does this process's share; `say` takes lines for the user."""

    @property
    def folder(self) -> str | os.PathLike[str]:
        """What the task writes to; all processes see it."""

    def check(self, workers: int) -> None:
        """Raises ValueError for what so many processes would refuse, before they are started."""

    def with_absolute_paths(self) -> "Task":
        """This task for processes that run in another folder."""


class Engine(abc.ABC):
    """Starts the processes of a team and runs a task on all of them.

    Args:
        workers: Number of processes; None where it is not asked for.
        threads: Threads of each.
        device: Where they compute: "cpu" takes no GPU.

    Attributes:
        size: Number of processes that share the work; None for one that shares it with nobody.
        first: Whether this process speaks to the user.
    """

    first = True

    def __init__(self, workers: int | None = None, threads: int = 1, device: str = "auto") -> None:
        self.workers, self.threads, self.device = workers, threads, device
        self.size = workers

    @abc.abstractmethod
    def run(self, task: Task, say: Say) -> None:
        """Runs the task; an error of one process is raised here."""

    def joined(self) -> contextlib.AbstractContextManager[object]:
        """While active, this process is one of the team, if the team runs the command itself; errors say which one had them."""
        return contextlib.nullcontext()


class Here(Engine):
    """This process alone."""

    def run(self, task: Task, say: Say) -> None:
        task(ALONE, say)


class Torchrun(Engine):
    """This process is one of those that torchrun has started, which all run the same command."""

    ranks: Ranks

    @contextlib.contextmanager
    def joined(self) -> Iterator[None]:
        with join_ranks() as self.ranks:
            self.size, self.first = self.ranks.size, self.ranks.rank == 0
            yield

    def run(self, task: Task, say: Say) -> None:
        task(self.ranks, say)


def _ray(*arguments: Any) -> Engine:
    from localgcl.training.ray_engine import Ray  # an optional package

    return Ray(*arguments)


ENGINES: dict[str, Callable[[int, int, str], Engine]] = {"ray": _ray}
"""Engines that are asked for by name, with a number of workers: `ENGINES["mine"] = MyEngine` adds one to --engine."""


def choose_engine(name: str | None, workers: int | None, threads: int = 1, device: str = "auto") -> Engine:
    """The engine called `name`, or else that of this process: torchrun's, if torchrun has started it."""
    if name is None:
        if workers is not None:
            raise ValueError(f"workers is {workers}, but there is no engine; add --engine {' or '.join(ENGINES)}")
        return Torchrun() if started_by_torchrun() else Here()
    if name not in ENGINES:
        raise ValueError(f"there is no engine {name!r:.100}{suggestion(name, ENGINES)}")
    if workers is None:
        raise ValueError(f"engine is {name}, but the number of workers is not given; add --workers K")
    if workers < 1:
        raise ValueError(f"workers is {workers}; it must be at least 1")
    if started_by_torchrun():
        raise ValueError(f"engine is {name}, which starts the processes itself; leave torchrun out")
    return ENGINES[name](workers, threads, device)
