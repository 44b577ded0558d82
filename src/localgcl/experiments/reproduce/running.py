"""Cells, one after another or several at once; results are kept as they come."""

import functools
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import torch

from localgcl.experiments.reproduce.cells import Cell, run
from localgcl.experiments.reproduce.store import Store, check_committed

Outcome = dict[str, Any] | str
"""A row for results.csv, or what went wrong."""


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
        jobs: Processes at once; on a GPU, small graphs gain by a few. CPU threads are shared out among them.
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
    say(f"cells to run: {len(todo)}")
    started, ended, failures = time.monotonic(), 0, []

    def over() -> bool:
        return minutes is not None and time.monotonic() - started >= 60 * minutes

    attempt = functools.partial(_attempt, device=device, runs=store.runs, commit=commit, jobs=jobs)
    outcomes = _here(todo, attempt, over) if jobs == 1 else _apart(todo, attempt, over, jobs)
    try:
        for cell, outcome in outcomes:
            ended += 1
            name = f"{cell.config.method} {cell.graph} seed {cell.seed}"
            if isinstance(outcome, str):
                failures.append(f"{name}: {outcome}")
                result = f"failed: {outcome}"
            else:
                store.add(outcome)
                result = _result(outcome)
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


def _here(todo: list[Cell], attempt: Callable[[Cell], Outcome], over: Callable[[], bool]) -> Iterator[tuple[Cell, Outcome]]:
    for cell in todo:
        if over():
            return
        yield cell, attempt(cell)


def _apart(
    todo: list[Cell], attempt: Callable[[Cell], Outcome], over: Callable[[], bool], jobs: int
) -> Iterator[tuple[Cell, Outcome]]:
    """Never more in hand than there are processes, so that when time is over nothing is left waiting."""
    waiting = iter(todo)
    running: dict[Future[Outcome], Cell] = {}
    # Spawned, not forked: CUDA cannot be used in a fork.
    context, threads = multiprocessing.get_context("spawn"), max(1, torch.get_num_threads() // jobs)
    with ProcessPoolExecutor(jobs, context, _start_worker, (threads,)) as pool:
        try:
            while True:
                while len(running) < jobs and not over() and (cell := next(waiting, None)) is not None:
                    running[pool.submit(_in_worker, attempt, cell)] = cell
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(future), future.result()
        except BrokenProcessPool as error:
            raise OSError(
                "a worker process died, most likely for want of memory; repeat the command with fewer jobs"
            ) from error


def _attempt(cell: Cell, *, device: str, runs: Path, commit: str | None, jobs: int) -> Outcome:
    """An error of one cell is reported and does not take the others with it."""
    try:
        return run(cell, device, runs, commit, jobs)
    except (ValueError, RuntimeError, OSError) as error:
        return " ".join(str(error).split()) or type(error).__name__


# In a worker process, which runs one cell at a time:


def _start_worker(threads: int) -> None:
    """Called once in each process. Between cells Ctrl-C is left to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(threads)


def _in_worker(attempt: Callable[[Cell], Outcome], cell: Cell) -> Outcome:
    """Ctrl-C ends the cell, a long one after a checkpoint, and not the process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return attempt(cell)
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None  # a plain one, which travels between processes
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
