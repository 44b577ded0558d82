"""A team: processes that share one piece of work. Importing this module does not import torch."""

from typing import Protocol, TypeVar, runtime_checkable

T = TypeVar("T")


@runtime_checkable
class Team(Protocol):
    """Processes that do the same calls in the same order, each on its own share."""

    @property
    def rank(self) -> int:
        """The number of this process, from 0."""

    @property
    def size(self) -> int:
        """How many there are."""

    def barrier(self) -> None:
        """Returns when all processes have called it."""

    def told(self, value: T) -> T:
        """The value of the first process, for decisions that all must take alike; it is pickled."""


class Alone:
    """A team of one."""

    rank, size = 0, 1

    def barrier(self) -> None:
        """Nobody to wait for."""

    def told(self, value: T) -> T:
        return value


ALONE = Alone()


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
