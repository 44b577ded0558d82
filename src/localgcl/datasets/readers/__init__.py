"""Readers: raw files -> Graph. Each file lists its data sets in `GRAPHS`."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping

from localgcl.datasets.storage import RawFile
from localgcl.graph import Graph


@dataclasses.dataclass(frozen=True)
class Reader:
    """How to make one data set of its raw files.

    Args:
        files: The raw files; none for a data set that is computed.
        read: Makes the graph of their contents, given by file name without folders.
    """

    files: tuple[RawFile, ...]
    read: Callable[[Mapping[str, bytes]], Graph]

    def __post_init__(self) -> None:
        repeated = [name for name, count in Counter(file.name for file in self.files).items() if count > 1]
        if repeated:
            raise ValueError(f"two raw files are called {repeated[0]!r}; contents go by file name, so names must differ")

    def graph(self, name: str, contents: Mapping[str, bytes]) -> Graph:
        """The graph of the contents; errors name the data set."""
        try:
            return self.read(contents)
        except ValueError as error:
            raise ValueError(f"data set {name!r}: {error}") from error
