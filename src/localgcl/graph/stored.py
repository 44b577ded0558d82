"""The graph folder: a graph as mapped arrays beside a header, for graphs that need not fit in memory.

| file | content |
|---|---|
| header.json | sizes, names, and size, time and hash of every other file |
| indptr.npy | row pointers, int64, n + 1 |
| indices.npy | column of each edge, in increasing order within a row; int32 where nodes fit, else int64 |
| weights.npy | weight of each edge, float32; only if they differ from 1 |
| x.npy | features, float32, n x f; or, if they are sparse, x-indptr.npy (int64), x-indices.npy and x-values.npy (float32) |
| y.npy | classes, int64, -1 where unknown; optional |
| splits.npy | one column a split, uint8: 0 in none, 1 train, 2 validation, 3 test; optional |
| ids.parquet | column id: the user's name of each node, in row order; not written if they are 0..n-1 |

Edges are undirected, without repeats and loops. The header is written last, so a folder without one is not a graph.
"""

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from localgcl.system.files import replacing

HEADER, FORMAT, VERSION = "header.json", "localgcl graph", 1
WORK = ".convert"
"""Where `localgcl convert` works; it is gone when the folder is whole."""
SPARSE = ("x-indptr.npy", "x-indices.npy", "x-values.npy")
NAMES = ("indptr.npy", "indices.npy", "weights.npy", "x.npy", *SPARSE, "y.npy", "splits.npy", "ids.parquet")
"""Every file beside the header that a graph folder may have."""
_BLOCK = 2**24
_NPY_HEADER = 128  # bytes of a file that holds no numbers


class FolderError(ValueError):
    """A graph folder that is damaged, incomplete, or of another version."""


@dataclasses.dataclass(frozen=True)
class Header:
    """What a graph folder holds.

    Args:
        name: What to call the graph.
        nodes: Number of nodes.
        edges: Number of stored edges, both directions counted.
        features: Number of feature columns.
        feature_names: Their names, if they have any.
        column_types: Type of each column in the user's table, by name.
        classes: Names of the classes in the order of their numbers, if the labels had names.
        encoding: How features were made of a table's columns (see `Graph`).
        loops: Number of self-loops that were left out.
        inputs: What tells the tables and options that it was made from apart from others; empty if it was made of none.
        files: Size in bytes, modification time in ns and SHA-256 of each file, by name.
    """

    name: str
    nodes: int
    edges: int
    features: int
    feature_names: tuple[str, ...] | None = None
    column_types: Mapping[str, str] = dataclasses.field(default_factory=dict)
    classes: tuple[str, ...] | None = None
    encoding: Mapping[str, Any] | None = None
    loops: int = 0
    inputs: str = ""
    files: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)

    @property
    def structural(self) -> bool:
        """Whether features were computed from the edges: they have a type, and no names."""
        return self.feature_names is None and bool(self.column_types)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is a graph folder, whole or not: a folder with a header, with row pointers, or with work on them."""
    # Not Path.exists, which raises for a name that is too long.
    return any(os.path.exists(os.path.join(path, name)) for name in (HEADER, "indptr.npy", WORK))


def write_header(folder: str | os.PathLike[str], header: Header, hashes: Mapping[str, str] | None = None) -> Header:
    """Describes the files that are in `folder` and writes the header, which makes it a graph folder.

    Args:
        folder: Where the arrays are.
        header: All but its `files`.
        hashes: SHA-256 of files, by name, where they are known already.
    """
    folder = Path(folder)
    names = [name for name in NAMES if (folder / name).is_file()]
    known = hashes or {}
    files = {name: {**_stamp(folder / name), "sha256": known.get(name) or file_hash(folder / name)} for name in names}
    whole = dataclasses.replace(header, files=files)
    with replacing(folder / HEADER) as temporary:
        content = {"format": FORMAT, "version": VERSION, **dataclasses.asdict(whole)}
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")
    return whole


def read_header(folder: str | os.PathLike[str], *, verify: bool = False) -> Header:
    """The header of a graph folder whose files are as it says; FolderError names the file that is not.

    A file of the right size and time is taken to be the one that was written. One with another time, such as a copy, is
    hashed; `verify` hashes all.
    """
    folder = Path(folder)
    header = declared(folder)
    for name, kept in header.files.items():
        path = folder / name
        if not path.is_file():
            raise FolderError(f"{path} is missing; run localgcl convert again")
        found = _stamp(path)
        if found["bytes"] != kept["bytes"]:
            raise FolderError(f"{path} has {found['bytes']:,} bytes and not {kept['bytes']:,}; run localgcl convert again")
        if (verify or found["modified"] != kept["modified"]) and file_hash(path) != kept["sha256"]:
            raise FolderError(f"{path} was changed after it was written; run localgcl convert again")
    return header


def open_array(folder: str | os.PathLike[str], name: str) -> NDArray[Any]:
    """An array of the folder, mapped read-only; FolderError if the file is damaged."""
    path = Path(folder) / name
    try:
        # An empty array cannot be mapped.
        mode: Literal["r"] | None = "r" if path.stat().st_size > _NPY_HEADER else None
        array: NDArray[Any] = np.load(path, mmap_mode=mode, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise FolderError(f"{path} cannot be read; run localgcl convert again") from error
    return array


def file_hash(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def declared(folder: str | os.PathLike[str]) -> Header:
    """The header of a graph folder as it is written, without a look at the files; FolderError if it cannot be read."""
    path = Path(folder) / HEADER
    if not path.is_file():
        raise FolderError(
            f"{path.parent} has no {HEADER}: it is no graph folder, or localgcl convert was stopped; run it again"
        )
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kind, version = content.pop("format"), content.pop("version")
        if (kind, version) != (FORMAT, VERSION):
            raise FolderError(f"{path} is of {kind!r} version {version}; this version reads {FORMAT!r} version {VERSION}")
        for name in ("feature_names", "classes"):
            content[name] = None if content[name] is None else tuple(content[name])
        header = Header(**content)
        there = set(header.files)
        features = {"x.npy"} <= there or set(SPARSE) <= there
        if not (features and {"indptr.npy", "indices.npy"} <= there <= set(NAMES)):
            raise KeyError(sorted(there))
        if not all(isinstance(size, int) and size >= 0 for size in (header.nodes, header.edges, header.features, header.loops)):
            raise TypeError("sizes")
        for kept in header.files.values():
            int(kept["bytes"]), int(kept["modified"]), str(kept["sha256"])
    except FolderError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FolderError(f"{path} is damaged ({type(error).__name__}); run localgcl convert again") from error
    return header


def _stamp(path: Path) -> dict[str, int]:
    status = path.stat()
    return {"bytes": status.st_size, "modified": status.st_mtime_ns}
