"""CSV files of results that only grow: several processes append rows, each row whole or not at all.

A row counts once its newline is written. If a process dies or the disk fills up before that, the unfinished line is ignored by
`read_rows` and removed by the next `append_rows`; both log its text as a warning.
"""

import contextlib
import csv
import errno
import io
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:  # everywhere else
    msvcrt = None  # type: ignore[assignment]

_log = logging.getLogger(__name__)

# Windows does not let others read a locked byte, so the lock is on one far beyond the end of any such file.
_LOCKED_BYTE = 2**30


class RowFile:
    """A CSV file with fixed columns, to which several processes may append rows; each row is written whole or not at all.

    Args:
        path: The file; its folder is made with the first row.
        fields: The columns. A file with other columns is refused.
    """

    def __init__(self, path: str | Path, fields: Sequence[str]) -> None:
        self.path, self.fields = Path(path), tuple(fields)

    def append(self, *rows: Mapping[str, object]) -> None:
        append_rows(self.path, self.fields, rows)

    def rows(self) -> list[dict[str, str]]:
        """All rows, oldest first; none where there is no file."""
        return read_rows(self.path, self.fields)


def append_rows(path: Path, fields: Sequence[str], rows: Sequence[Mapping[str, object]]) -> None:
    """Appends rows to a CSV file in one write under a lock, so that processes which share the file lose no row.

    An error while writing leaves the file as it was. Where the system or the file system has no locks, rows are still appended
    in one write.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
    with open(descriptor, "rb") as file, _lock(descriptor) as locked:
        file.seek(0)
        known = file.read()
        whole = _whole_rows(path, known)
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, fields, lineterminator="\n")
        if whole:
            _check_header(path, fields, whole.split(b"\n", 1)[0].decode().rstrip("\r").split(","))
        else:
            writer.writeheader()
        writer.writerows(rows)
        added = text.getvalue().encode()
        # Without a lock, another process may have appended by now: what the file has stays, also an unfinished line.
        if locked:
            os.ftruncate(descriptor, len(whole))
        elif whole != known:
            added = b"\n" + added
        try:
            _write(descriptor, added)
            os.fsync(descriptor)
        except BaseException:
            if locked:
                os.ftruncate(descriptor, len(whole))
            raise


def read_rows(path: Path, fields: Sequence[str]) -> list[dict[str, str]]:
    """All rows of such a file, oldest first; none where there is no file."""
    if not path.exists():
        return []
    text = _whole_rows(path, path.read_bytes()).decode()
    reader = csv.DictReader(io.StringIO(text, newline=""))
    _check_header(path, fields, reader.fieldnames or ())
    return list(reader)


def _whole_rows(path: Path, content: bytes) -> bytes:
    """The file's content without an unfinished last line."""
    whole = content[: content.rfind(b"\n") + 1]
    if whole.count(b'"') % 2:  # then the last newlines belong to a quoted field, and where its row ends is not known
        line = whole.count(b"\n", 0, whole.rfind(b'"')) + 1
        raise ValueError(f"{path}, line {line}: the row has a quote that is not closed; complete the row or delete it")
    if whole != content:
        unfinished = content[len(whole) :].decode(errors="replace")
        _log.warning("%s ends in an unfinished line, which does not count: %s", path, unfinished)
    return whole


def _check_header(path: Path, fields: Sequence[str], names: Sequence[str]) -> None:
    if list(names) != list(fields):
        raise ValueError(f"{path} has other columns than these rows; write to another file (--out). It has: {','.join(names)}")


def _write(descriptor: int, content: bytes) -> None:
    """Writes everything: in one call, unless the system takes only a part, as it does when the disk is almost full."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@contextlib.contextmanager
def _lock(descriptor: int) -> Iterator[bool]:
    """Waits until this process alone may append; yields whether it could lock the file."""
    locked = True
    try:
        _request(descriptor, wait=True)
    except OSError:  # this system or file system has no locks
        locked = False
    try:
        yield locked
    finally:
        if locked:
            _request(descriptor, wait=False)


def _request(descriptor: int, *, wait: bool) -> None:
    """Locks the file, or unlocks it if not `wait`. Raises OSError where that is not possible."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_UN)
        return
    if msvcrt is None:
        raise OSError("no locks on this system")
    while True:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined, unused-ignore]
            return
        except OSError as error:
            if error.errno != errno.EDEADLK:  # Windows raises this one after ten seconds of waiting
                raise
