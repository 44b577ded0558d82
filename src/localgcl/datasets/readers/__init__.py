"""Readers: raw files -> Graph. One published format a file; each file lists its data sets in `GRAPHS`."""

import dataclasses
import io
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from localgcl.datasets.storage import RawFile
from localgcl.graph import Graph
from localgcl.system.text import shown


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


def read_table(
    text: bytes, dtype: type[np.generic], name: str, columns: int | None = None, *, skip_rows: int = 0
) -> NDArray[Any]:
    """The numbers in a comma-separated text, which several publishers use, shape (rows, columns).

    Args:
        text: The content of the file.
        dtype: Type of the numbers.
        name: The file, for messages.
        columns: How many there must be; any number of them when not given.
        skip_rows: Lines of header.

    Raises:
        ValueError: A cell is empty or no number of this type, or the rows have another number of columns.
    """
    layout = pyarrow.csv.ReadOptions(skip_rows=skip_rows, autogenerate_column_names=True)
    allowed = pa.types.is_integer if issubclass(dtype, np.integer) else _is_number
    try:
        table = pyarrow.csv.read_csv(io.BytesIO(text), read_options=layout)
        if columns not in (None, table.num_columns):
            raise ValueError(f"it has {table.num_columns} columns in place of {columns}")
        wrong = [str(column.type) for column in table.columns if column.null_count or not allowed(column.type)]
        if wrong:
            raise ValueError(f"a column has empty cells or values of type {wrong[0]}")
        return np.stack([column.to_numpy().astype(dtype) for column in table.columns], axis=1)
    except (ValueError, pa.ArrowException) as error:
        reason = shown(str(error).partition("\n")[0][:200])
        raise ValueError(f"{name} is not a table of numbers ({reason}); delete it, and load again to download it") from error


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
