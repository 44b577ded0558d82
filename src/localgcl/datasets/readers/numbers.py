"""Text files of comma-separated numbers, which several publishers use."""

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from localgcl.system.text import shown


def read_table(
    text: bytes, dtype: type[np.generic], name: str, columns: int | None = None, *, skip_rows: int = 0
) -> NDArray[Any]:
    """The numbers in a comma-separated text, shape (rows, columns).

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
