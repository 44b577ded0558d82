"""Memory of this process: the peak that a piece of work reaches, and errors of any library that runs out of memory.

Importing this module does not import torch.
"""

import contextlib
import ctypes
import dataclasses
import gc
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
Result = TypeVar("Result")

_SIZE = re.compile(r"allocate (?P<amount>[\d.]+) ?(?P<unit>bytes|KiB|MiB|GiB|TiB|PiB|EiB)", re.IGNORECASE)
_UNITS = {"bytes": 1, **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgtpe", start=1)}}

# Messages of errors that are plain RuntimeErrors: torch on a CPU, CUDA and its libraries, and torch again where the number of
# bytes does not fit 64 bits.
_SAID = ("can't allocate memory", "out of memory", "ALLOC_FAILED", "size calculation overflowed", "std::bad_alloc")


class OutOfMemory(MemoryError):
    """There is less memory than a graph or its training needs: found before it starts, or when an allocation failed."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory could not be allocated.

    NumPy, SciPy, Numba and pyarrow raise a MemoryError, CUDA's allocator `torch.OutOfMemoryError`, a RuntimeError. Other
    parts of torch raise plain RuntimeErrors, told apart by their messages.
    """
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and any(said in str(error) for said in _SAID))


def requested(error: BaseException) -> int | None:
    """The bytes that could not be allocated at once, where the error names them."""
    found = _SIZE.search(str(error))
    return None if found is None else int(float(found["amount"]) * _UNITS[found["unit"].lower()])


@contextlib.contextmanager
def explained(doing: str, fix: str) -> Iterator[None]:
    """Turns allocation failures in the block into one `OutOfMemory`: what was being done, how much was asked for, the fix.

    Args:
        doing: What was being done, such as "training local-gcl".
        fix: What the user can do.
    """
    try:
        yield
    except OutOfMemory:
        raise
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        size = requested(error)
        at_once = "" if size is None else f" ({in_bytes(size)} more could not be had)"
        raise OutOfMemory(f"out of memory while {doing}{at_once}; {fix}") from error


def in_bytes(number: int) -> str:
    """A number of bytes with its unit: 1536 is '1.5 KiB'."""
    size, unit = float(number), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


@dataclasses.dataclass(frozen=True)
class Cost:
    """Wall time in seconds, and peak memory in bytes above what was held before; None where it cannot be read."""

    seconds: float
    peak: int | None


class ResidentPeak:
    """Measures how far this process's resident memory grows from now on.

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
        """Peak resident memory since the start minus that at the start, in bytes; None where unknown."""
        return None if self._before is None else 1024 * (_kibibytes("VmHWM") - self._before)


def measured(work: Callable[[], Result], device: "torch.device") -> tuple[Result, Cost]:
    """The result of `work()` and what it cost: on a GPU memory as torch's allocator counts it, else resident memory."""
    import torch

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
