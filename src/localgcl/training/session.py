"""What a fitter is given: a stream of nodes, and the session of a run with its callbacks."""

import dataclasses
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

import torch

from localgcl.graph import Graph
from localgcl.methods import Batch, Method
from localgcl.system.progress import Bar, progress
from localgcl.system.team import ALONE, Team
from localgcl.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from localgcl.training.run import RunFolder

Row = dict[str, Any]


class StopTraining(Exception):
    """Raised by a callback to end training after the current step, as early stopping does.

    The run is complete: it has weights, `keep` decides which, and its embeddings are written.
    """


@runtime_checkable
class Callback(Protocol):
    """Called with each logged row, which comes every `log_every` steps and after the last one.

    A row is a dict of numbers by name: `step` (from 0), `seconds` since the start, `loss` and the method's terms; in some rows
    also `spread` and `rank` of the embeddings. It is the row that is stored: read it, and do not change it. What a callback
    returns is ignored. `StopTraining` ends training; any other exception leaves it as an error.
    """

    def __call__(self, row: dict[str, Any], /) -> object: ...


class TensorBoard:
    """Writes every number of a row as a TensorBoard scalar. `localgcl train --tensorboard` uses it.

    Args:
        folder: Where the events go; made with the first row.

    Raises:
        ImportError: TensorBoard is not installed.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ImportError("TensorBoard is not installed; pip install 'localgcl[tensorboard]'") from error
        self._make, self._folder = SummaryWriter, os.fspath(folder)
        self._writer: SummaryWriter | None = None

    def __call__(self, row: dict[str, Any], /) -> None:
        """Writes a row, so that it can be seen at once."""
        if self._writer is None:
            self._writer = self._make(self._folder)
        for name, value in row.items():
            if name != "step":
                self._writer.add_scalar(name, value, row["step"])
        self._writer.flush()


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed. The run folder, if any, can be resumed; `rows` are the rows logged so far."""

    def __init__(self, message: str, rows: list[Row]) -> None:
        super().__init__(message)
        self.rows = rows


class Interrupts:
    """Delays Ctrl-C until the current step is done, because half a step cannot be resumed. A second Ctrl-C acts at once.

    Python delivers signals to the main thread only; in other threads this does nothing.
    """

    asked = False

    def __enter__(self) -> "Interrupts":
        self._main = threading.current_thread() is threading.main_thread()
        if self._main:
            self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        if self._main:
            signal.signal(signal.SIGINT, self._before)

    def _ask(self, *_: object) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, self._before)


@dataclasses.dataclass(frozen=True, eq=False)
class Stream:
    """Batches of a prepared graph, in memory or on disk, for one method.

    Args:
        method: Says what a batch is.
        graph: The prepared graph.
        team: The processes that share the nodes.
    """

    method: Method
    graph: Graph
    team: Team = ALONE

    def batches(self, first: int = 0) -> Iterator[Batch]:
        """Random batches without end, or the whole graph again and again, from that of step `first`."""
        return self.method.batches(self.graph, first=first, team=self.team)

    def blocks(self) -> Iterator[Batch]:
        """Each node once, in order: this process's share, some rows at a time."""
        return self.method.blocks(self.graph, self.team)


@dataclasses.dataclass
class Session:
    """What belongs to a run rather than to the mathematics of fitting it: its log, checkpoints, callbacks and progress bar.

    Args:
        generator: Source of everything random.
        team: The processes that fit together. The first one has the run folder.
        run: The run folder; None for other processes, and where nothing is stored.
        resume: Go on from the newest checkpoint.
        callbacks: Called with each logged row.
        progress_bar: Show one on stderr.
        rows: The logged rows.
        interrupts: Whether Ctrl-C was pressed.
    """

    generator: torch.Generator
    team: Team = ALONE
    run: RunFolder | None = None
    resume: bool = False
    callbacks: Sequence[Callback] = ()
    progress_bar: bool = False
    rows: list[Row] = dataclasses.field(default_factory=list)
    interrupts: Interrupts = dataclasses.field(default_factory=Interrupts)

    def __post_init__(self) -> None:
        self._started = time.perf_counter()

    def restored(self, method: Method, optimiser: torch.optim.Optimizer) -> Progress:
        """How far the run had come, its newest checkpoint loaded into the given objects; the start for a new run."""
        folder = None if self.run is None else self.run.path
        state = load_checkpoint(folder, method, optimiser, self.generator, self.team) if self.resume else Progress()
        if self.run is not None:
            self.rows[:] = [row for row in self.run.read_metrics() if row["step"] < state.step]
        self._started = time.perf_counter() - state.seconds
        return state

    def seconds(self) -> float:
        """Seconds spent on the run, those before it was interrupted included."""
        return time.perf_counter() - self._started

    def bar(self, total: int, unit: str, done: int = 0) -> AbstractContextManager[Bar]:
        """A progress bar over `total` units of work, of which `done` are done."""
        return progress(total, unit, initial=done, shown=self.progress_bar)

    def log(self, row: Row) -> bool:
        """Adds a row and calls the callbacks with it; True if one of them ends training."""
        self.rows.append(row)
        stop = False
        for callback in self.callbacks:
            try:
                callback(row)
            except StopTraining as error:
                if self.team.size > 1:
                    raise ValueError("a callback cannot stop one of several ranks; leave it out, or set patience") from error
                stop = True
        return stop

    def checkpoint(self, method: Method, optimiser: torch.optim.Optimizer, state: Progress) -> None:
        """Writes the log and a checkpoint, where there is a folder."""
        if self.run is not None:
            self.run.write_metrics(self.rows)
            save_checkpoint(self.run.path, method, optimiser, self.generator, state)

    def write_log(self) -> None:
        """Writes the log, where there is a folder."""
        if self.run is not None:
            self.run.write_metrics(self.rows)
