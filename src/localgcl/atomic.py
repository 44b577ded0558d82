"""Files appear whole or not at all, and rows too."""

import contextlib
import csv
import fcntl
import io
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
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
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def append_rows(path: Path, fields: Sequence[str], rows: Sequence[Mapping[str, object]]) -> None:
    """Adds rows to a CSV file in one write under a lock: processes that share the file lose none of each other's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", newline="") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, fields, lineterminator="\n")
        file.seek(0)
        header = file.readline()
        if header:
            _check_header(path, fields, header.rstrip("\r\n").split(","))
        else:
            writer.writeheader()
        writer.writerows(rows)
        file.write(text.getvalue())
        file.flush()
        os.fsync(file.fileno())


def read_rows(path: Path, fields: Sequence[str]) -> list[dict[str, str]]:
    """All rows of such a file, oldest first; none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        _check_header(path, fields, reader.fieldnames or ())
        return list(reader)


def _check_header(path: Path, fields: Sequence[str], names: Sequence[str]) -> None:
    if list(names) != list(fields):
        raise ValueError(f"{path} has other columns than these rows; write to another file (--out). It has: {','.join(names)}")
