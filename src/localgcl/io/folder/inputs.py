"""The files that `localgcl convert` reads: found by a path or a glob, recognised again by size and time."""

import dataclasses
import glob
import json
import os
from pathlib import Path
from typing import Any

from localgcl.io.encode import Encoding
from localgcl.io.formats import TABLES, kind_of
from localgcl.io.roles import DEFAULT, Columns
from localgcl.io.sizes import FileSize, file_size
from localgcl.system.files import digest
from localgcl.system.text import shown

PathLike = str | os.PathLike[str]


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
    def tables(self) -> dict[str, Table]:
        given = {"edges": self.edges, "features": self.features, "labels": self.labels}
        return {role: table for role, table in given.items() if table is not None}

    @property
    def fingerprint(self) -> str:
        """A hash of the options and of the path, size and time of every file."""
        files = {
            role: [[os.path.abspath(path), path.stat().st_size, path.stat().st_mtime_ns] for path in table.paths]
            for role, table in self.tables.items()
        }
        # Columns only where they are named: folders that were made before there were names stay valid.
        named: dict[str, Any] = {f"column {role}": name for role, name in self.columns._asdict().items() if name is not None}
        if isinstance(self.columns.encode, Encoding):
            named["column encode"] = self.columns.encode.to_dict()
        content = json.dumps({"files": files, "weight": self.weight, "name": self.name, **named}, sort_keys=True)
        return digest(content.encode("utf-8", "surrogateescape"))
