"""Time and peak memory of a piece of work in this process: on a GPU as torch's allocator counts it, else resident memory."""

import ctypes
import dataclasses
import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True)
class Cost:
    """Wall time in seconds, and the peak of memory in bytes above what was held before; None where it cannot be read."""

    seconds: float
    peak: int | None


class ResidentPeak:
    """Watches from now on how far this process grows.

    Linux keeps the peak resident memory of a process (VmHWM), and a process can reset it. `ru_maxrss` of getrusage cannot
    be reset, and a child inherits its parent's. On other systems the growth is not known.
    """

    def __init__(self) -> None:
        try:
            _RESET.write_text("5")
            self._before: int | None = _kibibytes("VmRSS")
        except OSError:
            self._before = None

    def growth(self) -> int | None:
        """Bytes between the resident memory at first and its peak since; None where unknown."""
        return None if self._before is None else 1024 * (_kibibytes("VmHWM") - self._before)


def measured(work: Callable[[], Result], device: torch.device) -> tuple[Result, Cost]:
    """The result of `work()` and what it cost; on a GPU it is waited for."""
    gc.collect()  # garbage of earlier work might be freed meanwhile, which would lower the peak
    if device.type != "cuda":
        _release_free_memory()
        peak, started = ResidentPeak(), time.perf_counter()
        result = work()
        return result, Cost(time.perf_counter() - started, peak.growth())
    torch.cuda.empty_cache()
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    held, started = torch.cuda.memory_allocated(device), time.perf_counter()
    result = work()
    torch.cuda.synchronize(device)
    return result, Cost(time.perf_counter() - started, torch.cuda.max_memory_allocated(device) - held)


def _release_free_memory() -> None:
    """Gives freed blocks back to the system, which glibc keeps: work that takes them again would not grow the process."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # another C library, or Windows
        return


def _kibibytes(field: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1])
