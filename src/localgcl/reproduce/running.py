"""Cells, one after another or several at once; results are kept as they come."""

import itertools
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

from localgcl.reproduce.cells import Cell, run
from localgcl.reproduce.store import Store, check_committed

Outcome = dict[str, Any] | Exception


def run_all(
    cells: Iterable[Cell],
    store: Store,
    *,
    device: str,
    jobs: int = 1,
    minutes: float | None = None,
    commit: str | None = None,
    say: Callable[[str], None] = print,
) -> list[str]:
    """Runs the cells that have no result yet and returns what went wrong, one line each.

    Args:
        cells: What is wanted, the most important first.
        store: Where results are looked up and kept.
        device: Where to run.
        jobs: Processes at once; on a GPU, small graphs gain by a few.
        minutes: Start no more cells after so long; what is left is run by the next call.
        commit: To record, where git knows none.
        say: Told of each result.
    """
    known = store.rows()
    todo = list({cell.key: cell for cell in cells if cell.key not in known}.values())
    if not todo:
        return []
    if commit is None:
        check_committed()
    say(f"{len(todo)} cells to run")
    deadline = None if minutes is None else time.monotonic() + 60 * minutes
    failures: list[str] = []
    started = time.monotonic()
    outcomes = _apart if jobs > 1 else _here
    for number, (cell, outcome) in enumerate(outcomes(todo, device, store.runs, commit, jobs, deadline), 1):
        name = f"{cell.config.method} {cell.graph} seed {cell.seed}"
        if isinstance(outcome, Exception):
            failures.append(f"{name}: {' '.join(str(outcome).split())}")
            say(f"{name} failed: {outcome}")
            continue
        store.add(outcome)
        elapsed = time.monotonic() - started
        result = f"{outcome['test']:.2f}" if outcome["outcome"] == "ok" else outcome["outcome"]
        say(f"[{number}/{len(todo)}, {elapsed:.0f} s] {name}: {result}, {outcome.get('seconds', 0):.1f} s of training")
    return failures


def _here(
    todo: list[Cell], device: str, runs: Path, commit: str | None, jobs: int, deadline: float | None
) -> Iterator[tuple[Cell, Outcome]]:
    for cell in todo:
        if deadline is not None and time.monotonic() > deadline:
            return
        yield cell, _attempt(cell, device, runs, commit, jobs)


def _apart(
    todo: list[Cell], device: str, runs: Path, commit: str | None, jobs: int, deadline: float | None
) -> Iterator[tuple[Cell, Outcome]]:
    """Never more in hand than there are processes, so that a deadline leaves nothing waiting."""
    waiting = iter(todo)
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:

        def start(cell: Cell) -> Future[Outcome]:
            return pool.submit(_attempt, cell, device, runs, commit, jobs)

        running = {start(cell): cell for cell in itertools.islice(waiting, jobs)}
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), future.result()
                if (deadline is None or time.monotonic() < deadline) and (cell := next(waiting, None)) is not None:
                    running[start(cell)] = cell


def _attempt(cell: Cell, device: str, runs: Path, commit: str | None, jobs: int) -> Outcome:
    """An error of one cell is reported at the end and does not take the others with it."""
    try:
        return run(cell, device, runs, commit, jobs)
    except (ValueError, RuntimeError, OSError) as error:
        return error
