"""The files that `localgcl convert` reads: found by a path or a glob, recognised again by size and time; and what memory and
disk they take."""

import dataclasses
import glob
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from localgcl.graph.stored import WORK
from localgcl.io.encode import Encoding
from localgcl.io.formats import TABLES, kind_of
from localgcl.io.roles import DEFAULT, Columns
from localgcl.io.sizes import FileSize, file_size
from localgcl.system.files import digest
from localgcl.system.limits import available_memory, free_memory
from localgcl.system.memory import in_bytes
from localgcl.system.text import shown

PathLike = str | os.PathLike[str]

LEAST = 2**30
"""Bytes of memory to take even if they are more than half of what is free."""
_SMALLEST = 2**29
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)

# Bytes a row, at the most during the conversion. An edge is stored twice: 8 bytes as mapped, 2 x 4 to 8 as an index, and 2 x 16
# while it is sorted; its weight twice in double and once in single precision, and beside both sorted rows.
_EDGE, _WEIGHT, _NODE, _CELL = 56, 44, 64, 4
_STRUCTURAL = 2 * 128 * 4


@dataclasses.dataclass(frozen=True)
class Table:
    """One table, in one file or several.

    Args:
        place: What to call it in messages: the path or the glob.
        paths: Its files, sorted by name.
        kinds: The extension of each.
    """

    place: str
    paths: tuple[Path, ...]
    kinds: tuple[str, ...]

    @classmethod
    def find(cls, pattern: PathLike) -> "Table":
        """The file of this name, or all files that the glob matches.

        Raises:
            FileNotFoundError: There is none.
            ValueError: A file is of no known format, or several are arrays, which cannot be joined.
        """
        text = os.fspath(pattern)
        paths = [Path(text)]
        if glob.has_magic(text) and not os.path.lexists(text):
            paths = sorted(Path(path) for path in glob.glob(text, recursive=True) if not os.path.isdir(path))
            if not paths:
                raise FileNotFoundError(f"no file matches {shown(text)}; check the folder and the pattern")
        kinds = tuple(kind_of(path) for path in paths)
        arrays = [path for path, kind in zip(paths, kinds, strict=True) if kind not in TABLES]
        if arrays and len(paths) > 1:
            raise ValueError(f"{shown(arrays[0])} is one of {len(paths)} files; only CSV, TSV and Parquet may come in parts")
        return cls(shown(text), tuple(paths), kinds)

    @property
    def is_array(self) -> bool:
        """Whether it is a NumPy file: rows have no ids."""
        return self.kinds[0] not in TABLES

    @property
    def size(self) -> FileSize:
        """About how many rows and cells it has; files of unknown size count as empty."""
        sizes = [file_size(path) or FileSize(0, 0) for path in self.paths]
        return FileSize(sum(size.rows for size in sizes), sum(size.cells for size in sizes))


@dataclasses.dataclass(frozen=True)
class Inputs:
    """The three tables, and the options by which they are read; arguments as for `convert`."""

    edges: Table
    features: Table | None
    labels: Table | None
    weight: str | None
    name: str
    columns: Columns = DEFAULT

    @property
    def fingerprint(self) -> str:
        """A hash of the options and of the path, size and time of every file."""
        files = {
            role: [[os.path.abspath(path), path.stat().st_size, path.stat().st_mtime_ns] for path in table.paths]
            for role, table in (("edges", self.edges), ("features", self.features), ("labels", self.labels))
            if table is not None
        }
        # Columns only where they are named: folders that were made before there were names stay valid.
        named: dict[str, Any] = {f"column {role}": name for role, name in self.columns._asdict().items() if name is not None}
        if isinstance(self.columns.encode, Encoding):
            named["column encode"] = self.columns.encode.to_dict()
        content = json.dumps({"files": files, "weight": self.weight, "name": self.name, **named}, sort_keys=True)
        return digest(content.encode("utf-8", "surrogateescape"))


def parse_bytes(text: str) -> int:
    """Bytes of a size such as '4GiB', '500MB' or '2g' (a power of 1024 unless it ends in B without i).

    Example:
        >>> parse_bytes("4GiB"), parse_bytes("1.5 g"), parse_bytes("500MB")
        (4294967296, 1610612736, 500000000)
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"memory is {text!r:.80}; give a number with a unit, such as 4GiB or 512MiB")
    number, unit, binary = found.groups()
    base = 1000 if unit and not binary and text.strip().lower().endswith("b") else 1024
    return int(float(number) * base ** (" kmgt".index(unit.lower()) if unit else 0))


def chosen_memory(asked: int | None) -> int:
    """Bytes of memory that the conversion may take: as asked, else half of what is free, at least 1 GiB."""
    if asked is None:
        free = free_memory() or available_memory() or 0
        return max(LEAST, free // 2)
    if asked < _SMALLEST:
        raise ValueError(f"memory is {in_bytes(asked)}; give at least {in_bytes(_SMALLEST)}")
    return asked


def needed_disk(inputs: Inputs) -> int:
    """Estimated peak bytes on disk of the folder and the work in it, from the sizes of the files."""
    links = inputs.edges.size
    rows = links.cells // 2 if inputs.edges.is_array else links.rows
    edge_bytes = rows * (_EDGE + (_WEIGHT if inputs.weight != "" and links.cells > 2 * links.rows else 0))
    if inputs.features is None:
        # The number of nodes is unknown; it rarely exceeds that of edges.
        return edge_bytes + rows * _NODE + rows // 4 * _STRUCTURAL
    table = inputs.features.size
    ids = sum(path.stat().st_size for path in inputs.features.paths) // max(1, table.cells // max(1, table.rows))
    return edge_bytes + table.cells * _CELL + table.rows * _NODE + ids


def check_disk(out: Path, needed: int) -> None:
    """Raises OSError if the disk of `out` has too little room for `needed` bytes, less what an earlier attempt wrote there."""
    held = sum(path.stat().st_size for path in (out / WORK).rglob("*") if path.is_file())
    there = next(folder for folder in (out, *out.absolute().parents) if folder.is_dir())
    free = shutil.disk_usage(there).free
    missing = needed - held
    if missing > free:
        raise OSError(
            f"converting takes about {missing:,} bytes ({in_bytes(missing)}) on the disk of {shown(out)}, which has "
            f"{free:,} ({in_bytes(free)}) free; make room, or choose another --out"
        )
