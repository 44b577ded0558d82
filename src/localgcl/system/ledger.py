"""CSV files to which several processes append rows, each row whole or not at all."""

import csv
import fcntl
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path


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
