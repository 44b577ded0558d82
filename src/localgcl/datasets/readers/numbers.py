"""Text files of comma-separated numbers, which several publishers use."""

import io
from typing import Any

import numpy as np
import pyarrow.csv
from numpy.typing import NDArray


def read_table(text: bytes, dtype: type[np.generic], name: str, *, skip_rows: int = 0) -> NDArray[Any]:
    """The numbers in a comma-separated text, shape (rows, columns); a ValueError names the file as `name`."""
    layout = pyarrow.csv.ReadOptions(skip_rows=skip_rows, autogenerate_column_names=True)
    try:
        columns = pyarrow.csv.read_csv(io.BytesIO(text), read_options=layout).columns
        return np.stack([column.to_numpy().astype(dtype) for column in columns], axis=1)
    except ValueError as error:  # pyarrow's own errors are ValueErrors too
        raise ValueError(f"{name} is not a table of numbers ({error}); delete it, and load again to download it") from error
