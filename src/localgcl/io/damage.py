"""One clear ValueError for the many exceptions that libraries raise on damaged files."""

import contextlib
import struct
import zipfile
import zlib
from collections.abc import Iterator

from localgcl.system.text import shown

BROKEN = (
    OSError,
    EOFError,
    KeyError,
    OverflowError,
    RuntimeError,
    UnicodeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What Python, numpy and pyarrow raise for a truncated or corrupt file. Not MemoryError: see `check_expansion`."""

_LONGEST_REASON = 200  # characters: libraries quote rows and names of any length

FREE = 1 << 26  # 64 MiB
RATIO = 1000


@contextlib.contextmanager
def decoding(place: str) -> Iterator[None]:
    """Raises a one-line ValueError, which names the file as `place`, for any exception of a damaged file."""
    try:
        yield
    except BROKEN as error:
        raise unreadable(place, error) from error


def unreadable(place: str, error: BaseException) -> ValueError:
    """The error to raise for a file that cannot be decoded.

    Args:
        place: The file, as it is shown to users.
        error: What a library said; its first line becomes the reason.
    """
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(". ")
    reason = reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]}..."
    damage = f"{place} cannot be read, it may be truncated or of another format ({shown(reason)})"
    return ValueError(f"{damage}; write it again, or download it again")


def check_expansion(declared: int, stored: int, place: str, fix: str = "uncompressed if it is that large") -> None:
    """Raises ValueError if `declared` bytes in memory are implausibly many for a file of `stored` bytes.

    A header of a few bytes can declare any shape, and a kilobyte of a compressed format can expand to gigabytes. What a
    file declares is therefore compared with what is there, before memory is reserved: up to 64 MiB are free, and beyond
    that a byte of the file may become 1000 bytes. That is as much as gzip and zip archives expand: a matrix of zeros and
    few other numbers comes close, and nothing that people train on goes beyond.
    """
    if declared > max(FREE, RATIO * stored):
        raise ValueError(
            f"{place} has {stored:,} bytes but declares {declared:,} bytes of data, more than {RATIO} times as many; "
            f"it is damaged or forged: write it again, {fix}"
        )
