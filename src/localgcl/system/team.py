"""A team: processes that share one piece of work. Importing this module does not import torch."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Team:
    """Processes that make the same calls in the same order, each on its own share of the work.

    This class is a team of one. Teams of several override all of it (see `localgcl.training.ranks.Ranks`).
    """

    reduce: Callable[[Any], Any] | None = None
    """Sums a vector of a loss over the processes; None where one process has all nodes and nothing is summed."""

    def __init__(self) -> None:
        self.rank, self.size = 0, 1  # the number of this process, from 0, and how many there are

    def sum(self, vector: Any) -> Any:
        """The sum of all processes' vectors, for gradients and numbers to log."""
        return vector

    def barrier(self) -> None:
        """Returns when all processes have called it."""

    def broadcast(self, value: T) -> T:
        """Rank 0's value (pickled)."""
        return value

    def device(self, name: str) -> Any:
        """The torch device called `name`: of several GPUs, each process of a machine takes its own."""
        from localgcl.system.devices import choose_device  # imports torch

        return choose_device(name)

    def made(self) -> dict[str, Any]:
        """What a run folder records of this team."""
        return {}

    def is_restart(self, made: dict[str, Any] | None) -> bool:  # noqa: ARG002
        """Whether this team began the run that recorded `made` before a process was lost; None where there is no run."""
        return False

    def summary(self) -> str:
        """One line about what the processes sent each other; empty if there is nothing to say."""
        return ""

    def check_graph(self, folder: str | os.PathLike[str] | None, what: str) -> None:
        """Raises ValueError or FileNotFoundError unless all processes can read the graph: one process reads any.

        Args:
            folder: The graph folder; None for a graph that is none.
            what: The graph and what is to be done with it, for messages: "embed a graph folder, and cora is none".
        """


ALONE = Team()


def share(count: int, team: Team) -> range:
    """The places, of `count`, that this process works on: a range, as long as the others' or one longer.

    Example:
        >>> share(10, ALONE)
        range(0, 10)
    """
    return part_of(count, team.rank, team.size)


def part_of(count: int, part: int, size: int) -> range:
    """One of `size` parts of `count` places.

    Example:
        >>> [part_of(10, part, 3) for part in range(3)]
        [range(0, 3), range(3, 6), range(6, 10)]
    """
    return range(count * part // size, count * (part + 1) // size)
