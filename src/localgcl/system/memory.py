"""Running out of memory: how to recognise it, whichever library says so, and one clear error for it.

Importing this module does not import torch.
"""

import contextlib
import re
from collections.abc import Iterator

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
        doing: Such as "training local-gcl".
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
