"""Sweep: runs what has no stored result yet, in this process or in several, and hands over each result as it comes.

For comparisons, searches and the paper's tables. Their items are methods with settings, found again by what decides a result.
"""

import dataclasses
import functools
import hashlib
import json
import time
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from localgcl.config import Config
from localgcl.system.workers import Workers

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")


@runtime_checkable
class Keyed(Protocol):
    """An item whose result is found by its key."""

    @property
    def key(self) -> Hashable: ...


Stored = TypeVar("Stored", bound=Keyed)

# Options that affect how a run executes, not its result.
_EXECUTION = ("seed", "device", "threads", "deterministic", "log_every", "checkpoint_every", "tensorboard")


def decisive_settings(config: Config) -> dict[str, Any]:
    """Every setting that decides a result but the seed, defaults included (see `Config.decisive`)."""
    return {name: value for name, value in config.decisive().items() if name not in _EXECUTION}


def recipe_hash(*decisive: Any) -> str:
    """Twelve digits for what decides a result but the seed: plain values. Items with the same ones differ in the seed alone."""
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:12]


def missing(items: Iterable[Stored], stored: Container[Hashable]) -> list[Stored]:
    """The items without a stored result, each key once, in their order."""
    return list({item.key: item for item in items if item.key not in stored}.values())


@dataclasses.dataclass(frozen=True)
class Sweep(Generic[Shared, Item, Result]):
    """Runs items, such as a method with its settings and a seed. Each result is the caller's to store as it comes.

    Args:
        run: Makes the result of an item, from what all items share and the item. With several jobs it must be picklable.
        shared: What all items share. A worker process receives it once.
        jobs: How many items run at a time. With one they run in this process.

    Example:
        >>> exponents = iter([2, 3])
        >>> list(Sweep(pow, 10).results(lambda running: next(exponents, None)))
        [(2, 100), (3, 1000)]
    """

    run: Callable[[Shared, Item], Result]
    shared: Shared
    jobs: int = 1

    def results(self, propose: Callable[[Collection[Item]], Item | None]) -> Iterator[tuple[Item, Result]]:
        """Items with their results, as they finish.

        No more items are submitted than run at a time, so that none waits when `propose` has no more.

        Args:
            propose: Returns the next item whenever one can be started, given those that are running; None if there is none.
        """
        alone = self.jobs == 1
        attempt = functools.partial(self.run, self.shared) if alone else _run_kept
        running: dict[Future[Result], Item] = {}
        with Workers(self.jobs, initial=None if alone else (_keep, (self.run, self.shared))) as workers:
            while True:
                while len(running) < self.jobs and (item := propose(running.values())) is not None:
                    running[workers.submit(attempt, item)] = item
                if not running:
                    return
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(done), done.result()

    def run_all(
        self,
        items: Sequence[Item],
        record: Callable[[Item, Result], str],
        *,
        say: Callable[[str], None],
        unit: str,
        kept: bool = True,
        minutes: float | None = None,
    ) -> int:
        """Runs the items of a list, the first first, and reports progress; returns how many were run.

        Args:
            items: What to run.
            record: Stores a result, and returns a line about it.
            say: Takes a line for each result.
            unit: What an interruption calls the items, for example "results".
            kept: Whether results are stored, so that the user can go on after an interruption.
            minutes: Start no item after this time.
        """
        started, ended, waiting = time.monotonic(), 0, iter(items)

        def propose(_: Collection[Item]) -> Item | None:
            over = minutes is not None and time.monotonic() - started >= 60 * minutes
            return None if over else next(waiting, None)

        try:
            for item, result in self.results(propose):
                ended += 1
                line = record(item, result)
                say(f"[{ended}/{len(items)}, {time.monotonic() - started:.0f} s] {line}")
        except KeyboardInterrupt as interrupt:
            repeat = "; results are kept, repeat the command to go on" if kept else ""
            raise KeyboardInterrupt(f"stopped after {ended} of {len(items)} {unit}{repeat}") from interrupt
        return ended


# In a worker process, which receives what items share once, then one item at a time:

_kept: list[tuple[Callable[[Any, Any], Any], Any]] = []


def _keep(run: Callable[[Any, Any], Any], shared: Any) -> None:
    _kept[:] = [(run, shared)]


def _run_kept(item: Any) -> Any:
    run, shared = _kept[0]
    return run(shared, item)
