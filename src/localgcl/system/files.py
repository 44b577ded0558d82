"""Files appear whole or not at all."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary name beside `path`; on success it becomes `path`, on any error it is removed.

    The content is flushed to the disk before the rename, so a crash leaves either the old file or the new one.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{path.suffix}")
    temporary.touch(exist_ok=False)  # not mkstemp, whose files are private: a file's mode follows the user's umask
    try:
        yield temporary
        with temporary.open("r+b") as file:  # Windows flushes only files that are open for writing
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
