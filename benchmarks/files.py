"""Writes files of the repository: whole ones, and the part between two marks."""

from pathlib import Path

from localgcl.system.files import replacing


def write(path: Path, text: str) -> Path:
    """Replaces a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def write_between(path: Path, start: str, end: str, text: str) -> Path:
    """Replaces what a file has between its lines `start` and `end`."""
    before, found, rest = path.read_text(encoding="utf-8").partition(start)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{path} has no lines {start!r} and {end!r} to write between")
    return write(path, f"{before}{start}\n{text}\n{end}{after}")
