"""Where a graph comes from: a data set by name, files, or a graph folder.

One assignment adds a data set of your own to `load` and to the command line, with or without an entry in the catalogue:

    READERS["mine"] = Reader((), lambda contents: lg.sbm(1000))

With raw files, give their checksums too: `RawFile("Mine/edges.csv", url, checksums=("sha256:...",))`.
"""

import dataclasses
import os
from typing import Any

from localgcl.datasets.built_in import digits
from localgcl.datasets.catalogue import resolve
from localgcl.datasets.readers import Reader, npz, planetoid, tables
from localgcl.datasets.storage import obtain
from localgcl.graph import Graph
from localgcl.graph.stored import declared, is_folder
from localgcl.io.encode import AUTO, as_encoding
from localgcl.io.files import graph_name, read_graph
from localgcl.io.roles import Columns
from localgcl.system.text import shown

READERS: dict[str, Reader] = {
    **planetoid.GRAPHS,
    **npz.GRAPHS,
    **tables.GRAPHS,
    "digits": Reader((), lambda _: digits()),
}
"""The reader of each data set, by the name that `load` takes."""

COLUMNS = ("weight", "source", "target", "id", "drop")
"""Fields of `Source` that name columns."""


def load(name: str, root: str | os.PathLike[str] | None = None, *, download: bool = True) -> Graph:
    """The graph called `name` as published: edges, classes and splits as PyG loads them, features untouched.

    Edges keep their directions and self-loops where the publisher keeps them, and features are neither scaled nor set to
    0/1: those choices affect accuracy and belong to the recipe (`localgcl.config.Preparation`).

    Args:
        name: One of `localgcl.datasets.names()`, in any case, or a name registered in `localgcl.datasets.READERS`.
        root: Folder of the raw files; by default the environment variable LOCALGCL_HOME, else ~/.cache/localgcl.
        download: Whether to download missing raw files. Checksums are compared before a download is kept, and each time
            before a file is read.

    Raises:
        ValueError: The name is unknown, or a raw file differs from the published one.
        FileNotFoundError: A raw file is missing and cannot be downloaded; the message says which goes where.

    Example:
        >>> load("digits")
        Graph('digits': 1,797 nodes, 17,454 directed edges, 64 dense features, 10 classes, 0 splits)
    """
    known = resolve(name, READERS)
    reader = READERS[known]
    return reader.graph(known, obtain(reader.files, root, download=download))


@dataclasses.dataclass(frozen=True)
class Source:
    """A data set by name, your own files, or a graph folder: give exactly one of `dataset`, `edges` and `folder`.

    `dataset` and `edges` may also be the path of a graph folder; it becomes `folder`. `weight`, `source`, `target` and `id`
    name columns, as for `read_graph`; `drop` names some, with commas between; `encode` is "auto" or a file encoding.json.
    """

    dataset: str | None = None
    edges: str | None = None
    features: str | None = None
    labels: str | None = None
    weight: str | None = None
    folder: str | None = None
    source: str | None = None
    target: str | None = None
    id: str | None = None
    drop: str | None = None
    encode: str | None = None

    def __post_init__(self) -> None:
        for name in ("dataset", "edges"):
            if self.folder is None and _names_folder(getattr(self, name), known=name == "dataset"):
                object.__setattr__(self, "folder", getattr(self, name))
                object.__setattr__(self, name, None)
        given = sum(part is not None for part in (self.dataset, self.edges, self.folder))
        if given != 1:
            which = "both" if given else "neither"
            raise ValueError(f"name a data set or give an edge file, not {which} (localgcl datasets lists names)")
        named = [getattr(self, name) for name in (*COLUMNS, "encode")]
        if self.edges is None and (self.features or self.labels or any(name is not None for name in named)):
            what = f"data set {self.dataset!r}" if self.folder is None else f"graph folder {self.folder!r}"
            raise ValueError(
                f"{what} has its own edges, features and labels; give files, names of columns and encode only with an edge file"
            )

    def read(self) -> Graph:
        """Loads the graph."""
        if self.folder is not None:
            return Graph.open(self.folder)
        if self.dataset is not None:
            return load(self.dataset)
        assert self.edges is not None
        named = self.columns._asdict()
        return read_graph(self.edges, features=self.features, labels=self.labels, weight=self.weight, **named)

    @property
    def columns(self) -> Columns:
        """Names of the files' columns, except the column of weights."""
        return named_columns(self.source, self.target, self.id, self.drop, self.encode)

    @property
    def name(self) -> str:
        if self.folder is not None:
            return declared(self.folder).name
        return self.dataset if self.dataset is not None else graph_name(str(self.edges))

    def to_dict(self) -> dict[str, Any]:
        """The given fields; file names are made absolute, so that the run folder works from any working directory."""
        parts = {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
        words = [name for name in parts if name in ("dataset", *COLUMNS) or (name, parts[name]) == ("encode", AUTO)]
        return {name: value if name in words else os.path.abspath(value) for name, value in parts.items()}


def named_columns(
    source: str | None = None,
    target: str | None = None,
    id: str | None = None,
    drop: str | None = None,
    encode: str | None = None,
) -> Columns:
    """`Columns` from the fields of `Source` that name columns."""
    dropped = None if drop is None else tuple(name.strip() for name in drop.split(",") if name.strip())
    return Columns(source, target, id, dropped, as_encoding(encode))


def _names_folder(given: str | None, *, known: bool) -> bool:
    """Whether `given` is the path of a graph folder, complete or not.

    Args:
        given: A path, or a name.
        known: Whether it may be the name of a data set too.

    Raises:
        ValueError: It names a data set and a graph folder in this directory.
        FileNotFoundError: It is a path, and nothing is there.
    """
    if given is None:
        return False
    is_path = os.path.dirname(given) != "" or given in (os.curdir, os.pardir)
    if not is_folder(given):
        if not (known and is_path) or _is_data_set(given):
            return False
        if not os.path.exists(given):
            raise FileNotFoundError(f"{shown(given)} does not exist; give a graph folder, or a name from localgcl datasets")
        return os.path.isdir(given)  # reading it says what it lacks
    if known and not is_path and _is_data_set(given):
        raise ValueError(
            f"{given!r} is a data set and a graph folder here; write {os.path.join(os.curdir, given)} for the folder"
        )
    return True


def _is_data_set(name: str) -> bool:
    try:
        resolve(name, READERS)
    except ValueError:
        return False
    return True
