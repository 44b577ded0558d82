"""Tasks in several processes, or one after another in this one."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Any, TypeVar

Result = TypeVar("Result")
Initial = tuple[Callable[..., object], tuple[Any, ...]]


class Workers:
    """A pool of processes for functions that can be pickled.

    - Processes are spawned, not forked: CUDA cannot be used in a fork.
    - Leaving the `with` block by an exception, such as KeyboardInterrupt, interrupts running tasks with KeyboardInterrupt. A
      terminal's Ctrl-C reaches this process alone, so that tasks see each one once.
    - When this process dies, whatever killed it, the workers end within a moment.
    - A worker that dies, most likely for want of memory, becomes one OSError.

    Args:
        jobs: How many tasks run at a time. With one, `submit` runs the task in this process before it returns.
        threads: CPU threads of torch in each worker; by default torch's threads of this process, shared out evenly.
        initial: A function and its arguments, called once in each worker (with one job: here) before its first task. Tensors
            among the arguments are copied, not shared.

    Example:
        >>> with Workers(1) as workers:
        ...     workers.submit(divmod, 7, 2).result()
        (3, 1)
    """

    def __init__(self, jobs: int, threads: int | None = None, initial: Initial | None = None) -> None:
        if jobs < 1:
            raise ValueError(f"jobs is {jobs}; it must be at least 1")
        self.jobs = jobs
        self._threads, self._initial = threads, initial
        self._pool: ProcessPoolExecutor | None = None
        self._others: list[Any] = []

    def __enter__(self) -> "Workers":
        if self.jobs == 1:
            _call(self._initial)
            return self
        # Pickled here: multiprocessing would pass tensors through shared memory, which a worker can outlive.
        arguments = _share(self.jobs) if self._threads is None else self._threads, pickle.dumps(self._initial)
        self._others = multiprocessing.active_children()
        self._pool = ProcessPoolExecutor(self.jobs, multiprocessing.get_context("spawn"), _start, arguments)
        return self

    def submit(self, function: Callable[..., Result], *arguments: Any) -> "Future[Result]":
        """Runs function(*arguments) as soon as a worker is free."""
        if self._pool is not None:
            return self._pool.submit(_interruptible, function, arguments)
        done: Future[Result] = Future()
        try:
            done.set_result(function(*arguments))
        except Exception as error:
            done.set_exception(error)
        return done

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._pool is None:
            return
        if kind is not None:
            self._interrupt()
        try:
            self._pool.shutdown(cancel_futures=True)
        except KeyboardInterrupt:  # pressed while tasks were ending, such as writing checkpoints: now they end at once
            self._interrupt()
            self._pool.shutdown()
            raise
        if isinstance(error, BrokenProcessPool):
            raise OSError(
                "a worker process died, most likely for want of memory; repeat the command with fewer jobs"
            ) from error

    def _interrupt(self) -> None:
        for worker in multiprocessing.active_children():
            if worker not in self._others and worker.pid is not None:
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.kill(worker.pid, signal.SIGINT)


def _share(jobs: int) -> int:
    import torch

    return max(1, torch.get_num_threads() // jobs)


def _call(initial: Initial | None) -> None:
    if initial is not None:
        function, arguments = initial
        function(*arguments)


# In a worker process:


def _start(threads: int, initial: bytes) -> None:
    """Called once. Interrupts come from the parent; between tasks they are ignored."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # out of the terminal's foreground group
    threading.Thread(target=_end_with_parent, name="end with parent", daemon=True).start()
    import torch

    torch.set_num_threads(threads)
    _call(pickle.loads(initial))


def _end_with_parent() -> None:
    """Waits for the parent's death. A pool's workers would wait for its tasks forever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _interruptible(function: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
    """An interrupt ends the task and not the process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None  # a plain one: subclasses may not survive the way back to the parent
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
