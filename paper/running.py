"""Runs cells, one after another or several at a time, and keeps results as they come."""

import functools
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from localgcl.system.workers import Workers
from paper.cells import Cell, run
from paper.store import Store, check_committed, digest

RowOrError = dict[str, Any] | str


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
    """Runs the cells that have no result yet; returns what went wrong, one line each.

    Args:
        cells: The most important first.
        store: Where results are looked up and kept.
        device: Where to run.
        jobs: Processes at a time. A few are faster on a GPU for small graphs; they share the CPU threads.
        minutes: Start no cell after this time; the next call goes on.
        commit: To record, in a copy of the source without its history.
        say: Called with a line for each result.
    """
    known = store.rows()
    todo = list({cell.key: cell for cell in cells if cell.key not in known}.values())
    if not todo:
        return []
    check_committed(commit)
    say(f"cells to run: {len(todo)}")
    started, ended, failures = time.monotonic(), 0, []

    def over() -> bool:
        return minutes is not None and time.monotonic() - started >= 60 * minutes

    # Read once: the tree may be edited while cells run.
    attempt = functools.partial(_attempt, device=device, runs=store.runs, commit=commit, jobs=jobs, made_with=digest())
    try:
        for cell, row in _finished(todo, attempt, over, jobs):
            ended += 1
            name = f"{cell.config.method} {cell.graph} seed {cell.seed}"
            if isinstance(row, str):
                failures.append(f"{name}: {row}")
                result = f"failed: {row}"
            else:
                store.add(row)
                result = _result(row)
            say(f"[{ended}/{len(todo)}, {time.monotonic() - started:.0f} s] {name}: {result}")
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt(
            f"stopped after {ended} of {len(todo)} cells; results are kept, repeat the command to go on"
        ) from interrupt
    if ended < len(todo):
        say(f"time is up, cells left: {len(todo) - ended}; repeat the command to go on")
    return failures


def _result(row: dict[str, Any]) -> str:
    if row["outcome"] != "ok":
        return str(row["outcome"])
    return f"{row['test']:.2f} after {row['steps']} steps in {row['seconds']:.1f} s"


def _finished(
    todo: list[Cell], attempt: Callable[[Cell], RowOrError], over: Callable[[], bool], jobs: int
) -> Iterator[tuple[Cell, RowOrError]]:
    """Cells as they finish. No more are submitted than run at a time, so that none waits when time is over."""
    waiting = iter(todo)
    running: dict[Future[RowOrError], Cell] = {}
    with Workers(jobs) as workers:
        while True:
            while len(running) < jobs and not over() and (cell := next(waiting, None)) is not None:
                running[workers.submit(attempt, cell)] = cell
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()


def _attempt(cell: Cell, *, device: str, runs: Path, commit: str | None, jobs: int, made_with: str) -> RowOrError:
    """An error of one cell is reported; the others go on."""
    try:
        return run(cell, device, runs, commit, jobs, made_with)
    except (ValueError, RuntimeError, OSError) as error:
        return " ".join(str(error).split()) or type(error).__name__
