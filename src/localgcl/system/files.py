"""Files that appear whole or not at all, locks, and checks of paths before work starts."""

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from localgcl.system.text import shown

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

_TEMPORARY = re.compile(r"\.(?P<name>.+)\.localgcl-[0-9a-f]{8}(\.[^.]*)?", re.DOTALL)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary name beside `path`; on success it becomes `path`, on any error it is removed.

    The content is flushed to the disk before the rename, so a crash leaves either the old file or the new one. What a killed
    process left of an earlier attempt is removed (see `remove_leftovers`).
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
    """Removes the temporary files of `replacing` whose process was killed: those of the file `name`, or all in `folder`.

    A living writer holds a lock on its file, and the system releases it when the process ends, however it ends. Where there
    are no locks (Windows, some network file systems), nothing is removed.
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
        with contextlib.suppress(OSError), open(path, "r+b") as file:  # another user's, locked, or gone by now
            _lock(file.fileno())
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
            with contextlib.suppress(OSError):  # this file system has no locks
                _lock(descriptor, wait=True)
            # Before it was locked, another process may have taken it for a leftover.
            if temporary.exists():
                yield temporary
                return
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def locked_folder(folder: Path, otherwise: str) -> Iterator[None]:
    """Makes `folder` if need be and locks it; FileExistsError with the message `otherwise` if another process has.

    Where there are no locks (Windows, some network file systems), two processes are not told apart.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            _lock(descriptor)
        except BlockingIOError as error:
            raise FileExistsError(otherwise) from error
        except OSError:  # this file system has no locks
            pass
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, wait: bool = False) -> None:
    """Locks a file until it is closed; OSError if another process has locked it (unless `wait`), or if there are no locks."""
    if fcntl is None:
        raise OSError("no locks on this system")
    fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


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
