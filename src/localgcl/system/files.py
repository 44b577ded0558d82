"""Files that appear whole or not at all, tables that only grow, locks, and checks of paths before work starts."""

import contextlib
import csv
import errno
import hashlib
import io
import logging
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from localgcl.system.text import shown

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:  # everywhere else
    msvcrt = None  # type: ignore[assignment]

_log = logging.getLogger(__name__)

# Windows does not let others read a locked byte, so the lock is on one far beyond the end of any file that is locked.
_LOCKED_BYTE = 2**30
_TEMPORARY = re.compile(r"\.(?P<name>.+)\.localgcl-[0-9a-f]{8}(\.[^.]*)?", re.DOTALL)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary name beside `path`; on success it becomes `path`, on any error it is removed.

    The content is flushed to the disk before the rename, so a crash leaves either the old file or the new one. Temporary files
    that killed processes left are removed first (see `remove_leftovers`).
    """
    path = Path(path)
    with contextlib.suppress(PermissionError):  # a folder that cannot be listed can be written to
        remove_leftovers(path.parent, path.name)
    with _temporary(path) as temporary:
        try:
            yield temporary
            with temporary.open("r+b") as file:  # Windows flushes only files that are open for writing
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def remove_leftovers(folder: str | os.PathLike[str], name: str | None = None) -> None:
    """Removes temporary files of `replacing` that killed processes left: those of the file `name`, or all in `folder`.

    A living writer holds a lock on its file. Where there are no locks (Windows, some network file systems), nothing is removed.
    """
    with os.scandir(folder) as entries:
        left = [
            entry.path
            for entry in entries
            if (match := _TEMPORARY.fullmatch(entry.name))
            and name in (None, match["name"])
            and entry.is_file(follow_symlinks=False)
        ]
    for path in left:
        with contextlib.suppress(OSError), locked(path) as is_locked:  # another user's, a living writer's, or gone by now
            if is_locked:
                os.unlink(path)


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """Makes an empty file beside `path`, and locks it for as long as it is used."""
    while True:
        temporary = path.with_name(f".{path.name}.localgcl-{secrets.token_hex(4)}{path.suffix}")
        # Not mkstemp, whose files are private: a file's mode follows the user's umask.
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if fcntl is None:
            os.close(descriptor)  # Windows cannot rename an open file
            yield temporary
            return
        try:
            _lock(descriptor, wait=True)
            # Before it was locked, another process may have taken it for a leftover.
            if temporary.exists():
                yield temporary
                return
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def locked(path: str | os.PathLike[str], *, wait: bool = False, otherwise: Exception | None = None) -> Iterator[bool]:
    """Locks a file or folder against other processes that lock it; yields whether it could.

    The system releases the lock when the process ends, however it ends. Some network file systems have no locks. On Windows
    only files can be locked, and only with `wait`.

    Args:
        path: What there is already.
        wait: Wait until no other process holds the lock.
        otherwise: What to raise if another process holds it and `wait` is False; by default the system's BlockingIOError.
    """
    if fcntl is None and not wait:
        yield False
        return
    descriptor = os.open(path, os.O_RDONLY if os.path.isdir(path) else os.O_RDWR)  # network file systems ask for writing
    try:
        try:
            is_locked = _lock(descriptor, wait=wait)
        except BlockingIOError as error:
            raise otherwise or error from error
        try:
            yield is_locked
        finally:
            if is_locked and fcntl is None:
                _lock_byte(descriptor, msvcrt.LK_UNLCK)  # type: ignore[attr-defined, unused-ignore]
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def locked_folder(folder: Path, otherwise: str) -> Iterator[None]:
    """Makes `folder` if need be and locks it; FileExistsError with the message `otherwise` if another process has."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder, otherwise=FileExistsError(otherwise)):
        yield


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Locks an open file; False where there are no locks, BlockingIOError where another process has it and `wait` is False."""
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        elif msvcrt is not None:
            _lock_byte(descriptor, msvcrt.LK_LOCK)  # type: ignore[attr-defined, unused-ignore]
        else:
            return False
    except BlockingIOError:
        raise
    except OSError:  # this file system has no locks
        return False
    return True


def _lock_byte(descriptor: int, mode: int) -> None:
    """Locks or unlocks a file on Windows."""
    while True:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, mode, 1)  # type: ignore[attr-defined, unused-ignore]
            return
        except OSError as error:
            if error.errno != errno.EDEADLK:  # Windows raises this one after ten seconds of waiting
                raise


class RowFile:
    """A CSV file with fixed columns, to which several processes may append rows; each row is written whole or not at all.

    A row counts once its newline is written. If a process dies or the disk fills up before that, the unfinished line is ignored
    by `rows` and removed by the next `append`; both log its text as a warning.

    Args:
        path: The file; its folder is made with the first row.
        fields: The columns. A file with other columns is refused.
    """

    def __init__(self, path: str | Path, fields: Sequence[str]) -> None:
        self.path, self.fields = Path(path), tuple(fields)

    def append(self, *rows: Mapping[str, object]) -> None:
        """Appends rows in one write under a lock, so that processes which share the file lose no row.

        An error while writing leaves the file as it was. Where there are no locks, rows are still appended in one write.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        with open(descriptor, "rb") as file, locked(self.path, wait=True) as is_locked:
            known = file.read()
            whole = _whole_rows(self.path, known)
            text = io.StringIO(newline="")
            writer = csv.DictWriter(text, self.fields, lineterminator="\n")
            if whole:
                self._check_header(whole.split(b"\n", 1)[0].decode().rstrip("\r").split(","))
            else:
                writer.writeheader()
            writer.writerows(rows)
            added = text.getvalue().encode()
            # Without a lock, another process may have appended by now: what the file has stays, also an unfinished line.
            if is_locked:
                os.ftruncate(descriptor, len(whole))
            elif whole != known:
                added = b"\n" + added
            try:
                _write(descriptor, added)
                os.fsync(descriptor)
            except BaseException:
                if is_locked:
                    os.ftruncate(descriptor, len(whole))
                raise

    def rows(self) -> list[dict[str, str]]:
        """All rows, oldest first; none where there is no file."""
        if not self.path.exists():
            return []
        text = _whole_rows(self.path, self.path.read_bytes()).decode()
        reader = csv.DictReader(io.StringIO(text, newline=""))
        self._check_header(reader.fieldnames or ())
        return list(reader)

    def _check_header(self, names: Sequence[str]) -> None:
        if tuple(names) != self.fields:
            found = ",".join(names)
            raise ValueError(f"{self.path} has other columns than these rows; write to another file (--out). It has: {found}")


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


def _write(descriptor: int, content: bytes) -> None:
    """Writes everything: in one call, unless the system takes only a part, as it does when the disk is almost full."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def digest(*parts: bytes | memoryview) -> str:
    """SHA-256 of the parts one after another, in hexadecimal.

    Example:
        >>> digest(b"local", b"gcl") == digest(b"localgcl")
        True
    """
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()


# Paths that users name, checked before the work: a slip must not cost the hour that comes before the file is written.


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raises OSError unless a file or folder can be made or changed at `path`: what is there, or its parent, is writable."""
    path = Path(path)
    place = next(parent for parent in (path, *path.parents) if parent.exists())
    if not place.is_dir() and place != path:
        raise NotADirectoryError(f"{shown(path)} cannot be written, because {shown(place)} is a file; choose another path")
    if not os.access(place, os.W_OK):
        raise PermissionError(f"{shown(path)} cannot be written: there is no permission to write to {shown(place)}")


def check_there(path: str | os.PathLike[str]) -> None:
    """Raises FileNotFoundError unless there is a file or folder."""
    if not Path(path).exists():
        raise FileNotFoundError(f"{shown(path)} does not exist; check the path")
