"""CSV files of results that only grow: several processes append rows, each row whole or not at all.

A row counts once its newline is written. If a process dies or the disk fills up before that, the unfinished line is ignored by
`rows` and removed by the next `append`; both log its text as a warning.
"""

import csv
import io
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from localgcl.system.files import locked

_log = logging.getLogger(__name__)


class RowFile:
    """A CSV file with fixed columns, to which several processes may append rows; each row is written whole or not at all.

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
