"""One way to measure: every provider is warmed up, then all take turns, so that a drift of the machine hits all alike."""

import contextlib
import dataclasses
import gc
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, runtime_checkable

import numpy as np
import torch

from localgcl.system.devices import device_memory

Work = Callable[[], object]
OUT_OF_MEMORY = "out of memory"


@dataclasses.dataclass(frozen=True)
class Measurement:
    """Percentiles of time in milliseconds and peak memory in MiB above what was there before; nan and None where unknown."""

    p20: float
    p50: float
    p80: float
    peak: float | None
    repeats: int
    note: str = ""


@runtime_checkable
class Stopwatch(Protocol):
    """How one device is read."""

    def milliseconds(self, work: Work) -> float:
        """Runs `work` and waits for it."""

    def peak(self, work: Work) -> float | None:
        """Runs `work` and returns its peak memory in MiB; None, without running it, where that cannot be read in place."""

    def release(self) -> None:
        """Gives back what a failed allocation has left."""


class CPUStopwatch:
    """Wall clock. Peak memory needs a process of its own: see `resident`."""

    def milliseconds(self, work: Work) -> float:
        started = time.perf_counter()
        work()
        return 1000 * (time.perf_counter() - started)

    def peak(self, work: Work) -> float | None:  # noqa: ARG002 - one signature for all devices
        return None

    def release(self) -> None:
        """Nothing is kept."""


class CUDAStopwatch:
    """Events on the current stream; memory is what torch's allocator handed out at most."""

    def milliseconds(self, work: Work) -> float:
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        first.record()
        work()
        last.record()
        last.synchronize()
        return float(first.elapsed_time(last))

    def peak(self, work: Work) -> float | None:
        gc.collect()  # or what an earlier run has left would be freed meanwhile and counted off
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        torch.cuda.synchronize()
        return (torch.cuda.max_memory_allocated() - before) / 2**20

    def release(self) -> None:
        torch.cuda.empty_cache()


def measure(
    providers: Mapping[str, Work], stopwatch: Stopwatch, *, repeats: int = 20, seconds: float = 10.0
) -> dict[str, Measurement]:
    """Times of each provider over at most `repeats` turns.

    A provider that has used up its budget of `seconds` takes no further turn, but every one takes at least one after its
    warm-up. One that runs out of memory, in warm-up or later, is reported as such and leaves the others alone.
    """
    times: dict[str, list[float]] = {name: [] for name in providers}
    peaks: dict[str, float | None] = {}

    def warm_up(name: str) -> None:
        stopwatch.milliseconds(providers[name])
        peaks[name] = stopwatch.peak(providers[name])

    def take_turn(name: str) -> None:
        times[name].append(stopwatch.milliseconds(providers[name]))

    alive = [name for name in providers if _survives(warm_up, name, stopwatch)]
    for turn in range(repeats):
        eager = [name for name in alive if turn == 0 or sum(times[name]) < 1000 * seconds]
        failed = {name for name in eager if not _survives(take_turn, name, stopwatch)}
        alive = [name for name in alive if name not in failed]
    return {name: _summary(times[name], peaks[name]) if name in alive else _failure() for name in providers}


def _survives(action: Callable[[str], None], name: str, stopwatch: Stopwatch) -> bool:
    """Whether the provider got through `action` without running out of memory."""
    try:
        action(name)
        return True
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
    stopwatch.release()  # not earlier: the exception's frames hold tensors
    return False


def _summary(times: list[float], peak: float | None) -> Measurement:
    low, middle, high = (float(value) for value in np.percentile(times, [20, 50, 80]))
    return Measurement(low, middle, high, peak, len(times))


def _failure() -> Measurement:
    return Measurement(np.nan, np.nan, np.nan, None, 0, OUT_OF_MEMORY)


def is_out_of_memory(error: Exception) -> bool:
    """Whether an allocation failed, on a GPU (an error of its own) or on the CPU (torch raises a plain RuntimeError)."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error)


@contextlib.contextmanager
def bounded_memory() -> Iterator[None]:
    """Makes allocations beyond nine tenths of the machine's memory fail: Linux would grant them and then kill the process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = device_memory("cpu") * 9 // 10
    resource.setrlimit(resource.RLIMIT_DATA, (limit if soft == resource.RLIM_INFINITY else min(soft, limit), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@contextlib.contextmanager
def tensor_cores() -> Iterator[None]:
    """TF32 products on a GPU, for all providers alike; torch's setting is put back afterwards."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
