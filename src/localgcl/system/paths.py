"""Paths that users name, checked before the work: a slip must not cost the hour that comes before the file is written."""

import os
from pathlib import Path

from localgcl.system.text import shown


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
