"""load: a data set by name."""

import os

from localgcl.datasets.catalogue import resolve
from localgcl.datasets.registry import READERS
from localgcl.datasets.storage import obtain
from localgcl.graph import Graph


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
