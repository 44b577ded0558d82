"""Inputs in processes of their own, with limits on memory and time: what ends a process is a finding like any other.

A worker writes the number of the input to shared memory before it reads it, so a crash is known by its number.
"""

import contextlib
import functools
import mmap
import os
import pickle
import resource
import signal
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from tests.datasets.small import Files
from tests.fuzz.inputs import Finding, attempt, made

SECONDS = 10
"""Time for one input. They are a few hundred bytes and take milliseconds."""


class Found(NamedTuple):
    """A finding and the number of its input."""

    number: int
    finding: Finding


class Tally(NamedTuple):
    """What came of a range of inputs of one reader."""

    inputs: int
    read: int
    found: list[Found]


class TooSlow(BaseException):
    """Raised in a worker whose input takes too long; no reader catches it."""


def run(reader: str, numbers: range, memory: int) -> Tally:
    """Tries the inputs of these numbers, in worker processes that may take `memory` more bytes than they start with."""
    total = Tally(0, 0, [])
    first = numbers.start
    while first < numbers.stop:
        progress = Progress()
        status = progress.run_worker(functools.partial(_work, reader, range(first, numbers.stop), progress), memory)
        done: Tally = progress.result or Tally(0, 0, [])
        last = progress.number if status else numbers.stop - 1
        found = [Found(last, Finding(f"process ended by {status}", ""))] if status else []
        total = Tally(total.inputs + last + 1 - first, total.read + done.read, total.found + done.found + found)
        first = last + 1
    return total


def outcome(reader: str, files: Files, memory: int) -> Finding | bool:
    """`attempt` in a process of its own."""
    progress = Progress()
    status = progress.run_worker(lambda: progress.keep(timed_attempt(reader, files)), memory)
    return Finding(f"process ended by {status}", "") if status else progress.result


def _work(reader: str, numbers: range, progress: "Progress") -> None:
    done = Tally(0, 0, [])
    for number in numbers:
        progress.number = number
        tried = timed_attempt(reader, made(reader, number))
        if isinstance(tried, Finding):
            done.found.append(Found(number, tried))
        done = done._replace(inputs=done.inputs + 1, read=done.read + (tried is True))
        if isinstance(tried, Finding) or number % 100 == 0 or number == numbers.stop - 1:
            progress.keep(done)


def timed_attempt(reader: str, files: Files) -> Finding | bool:
    """`attempt` that ends after `SECONDS`."""

    def late(*_: int | FrameType | None) -> None:
        raise TooSlow

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
            return attempt(reader, files, Path(folder))
    except TooSlow:
        return Finding(f"takes more than {SECONDS} seconds", "")
    finally:
        signal.alarm(0)


class Progress:
    """Memory shared with a worker: the number of its input, and the last result that it kept."""

    SIZE = 1 << 22

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, self.SIZE)

    @property
    def number(self) -> int:
        return int(struct.unpack_from("<q", self._memory)[0])

    @number.setter
    def number(self, value: int) -> None:
        struct.pack_into("<q", self._memory, 0, value)

    @property
    def result(self) -> Any:
        length = struct.unpack_from("<q", self._memory, 8)[0]
        return pickle.loads(self._memory[16 : 16 + length]) if length else None

    def keep(self, result: Any) -> None:
        content = pickle.dumps(result)
        self._memory[16 : 16 + len(content)] = content
        struct.pack_into("<q", self._memory, 8, len(content))

    def run_worker(self, work: Callable[[], None], memory: int) -> str:
        """Runs `work` in a fork of this process; '' if it came to its end, else what ended it."""
        worker = os.fork()
        if worker == 0:
            code = 1
            with contextlib.suppress(BaseException):  # the status says so; a worker must not go on as its parent
                _limit(memory)
                work()
                code = 0
            os._exit(code)
        seen, since = -1, time.monotonic()
        while True:
            ended, status = os.waitpid(worker, os.WNOHANG)
            if ended:
                break
            if self.number != seen:
                seen, since = self.number, time.monotonic()
            elif time.monotonic() - since > 60 * SECONDS:  # it hangs where no signal reaches it
                os.kill(worker, signal.SIGKILL)
            time.sleep(0.005)
        if os.WIFSIGNALED(status):
            return signal.Signals(os.WTERMSIG(status)).name
        return f"exit status {os.WEXITSTATUS(status)}" if status else ""


def _limit(memory: int) -> None:
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + memory, held + memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
