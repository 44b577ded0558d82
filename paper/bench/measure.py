"""Measures time and memory. After a warm-up all providers take turns, so that drift of the machine affects all alike."""

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
from localgcl.system.memory import is_out_of_memory

Work = Callable[[], object]
OUT_OF_MEMORY = "out of memory"


@dataclasses.dataclass(frozen=True)
class Measurement:
    """Percentiles of time in ms, and peak memory above the inputs in MiB; nan and None where unknown."""

    p20: float
    p50: float
    p80: float
    peak: float | None
    repeats: int
    note: str = ""


@runtime_checkable
class Stopwatch(Protocol):
    """Measures on one kind of device."""

    def milliseconds(self, work: Work) -> float:
        """Runs `work` and waits for it."""

    def peak(self, work: Work) -> float | None:
        """Runs `work` and returns its peak memory in MiB; None, without running it, where this process cannot measure it."""

    def release(self) -> None:
        """Frees cached memory after a failed allocation."""


class CPUStopwatch:
    """Wall time. Peak memory needs a process of its own: see `resident`."""

    def milliseconds(self, work: Work) -> float:
        started = time.perf_counter()
        work()
        return 1000 * (time.perf_counter() - started)

    def peak(self, work: Work) -> float | None:  # noqa: ARG002 - one signature for all devices
        return None

    def release(self) -> None:
        """Nothing is cached."""


class CUDAStopwatch:
    """Events on the current stream; peak memory as torch's allocator counts it."""

    def milliseconds(self, work: Work) -> float:
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        first.record()
        work()
        last.record()
        last.synchronize()
        return float(first.elapsed_time(last))

    def peak(self, work: Work) -> float | None:
        gc.collect()  # or garbage of an earlier run might be freed meanwhile, which would lower the peak
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

    Every provider takes at least one turn after its warm-up, and no further one when its budget of `seconds` is used up. One
    that runs out of memory is reported so, and the others go on.
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
    """True unless `action` ran out of memory."""
    try:
        action(name)
        return True
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
    stopwatch.release()  # only now: the exception's frames held tensors
    return False


def _summary(times: list[float], peak: float | None) -> Measurement:
    low, middle, high = (float(value) for value in np.percentile(times, [20, 50, 80]))
    return Measurement(low, middle, high, peak, len(times))


def _failure() -> Measurement:
    return Measurement(np.nan, np.nan, np.nan, None, 0, OUT_OF_MEMORY)


@contextlib.contextmanager
def bounded_memory() -> Iterator[None]:
    """Makes allocations fail beyond nine tenths of the machine's memory; Linux would grant them and then kill the process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = device_memory("cpu") * 9 // 10
    resource.setrlimit(resource.RLIMIT_DATA, (limit if soft == resource.RLIM_INFINITY else min(soft, limit), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@contextlib.contextmanager
def tensor_cores() -> Iterator[None]:
    """TF32 matrix products on a GPU, for all providers; torch's setting is restored afterwards."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
