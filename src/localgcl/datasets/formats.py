"""One reader a format: CSV, TSV and Parquet -> a pyarrow table; NPY and NPZ -> arrays by name.

What is in a table or an array is for the caller to judge. Every complaint about a file is one line that names the file,
the place in it and the way out.
"""

import csv
import gzip
import re
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
import scipy.sparse as sp

TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
_KNOWN = (*TABLES, ".npy", ".npz")

_BROKEN = (OSError, EOFError, KeyError, MemoryError, SyntaxError, UnicodeError, ValueError, zipfile.BadZipFile, zlib.error)
"""What numpy, scipy, gzip and pyarrow raise for a truncated or corrupt file (pyarrow's errors are OSError or ValueError)."""

_LONGEST_ROW = 1 << 24  # bytes of a row of a CSV file


def kind_of(path: Path) -> str:
    """The extension that says how to read `path`, once it is sure that there is something to read."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; check the path")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it")
    kind = next((extension for extension in _KNOWN if path.name.lower().endswith(extension)), None)
    if kind is None:
        raise ValueError(f"{path} has the extension {path.suffix!r}; known are {', '.join(_KNOWN)}")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty; write it again")
    return kind


def edge_table(path: Path, kind: str) -> Any:
    """A table with the columns source and target, so named; other columns keep their names, in lower case."""
    table = _read_parquet(path) if kind == ".parquet" else _read_edge_csv(path, kind)
    return table.rename_columns([name.strip().lower() for name in table.column_names])


def id_table(path: Path, kind: str, value_type: Any) -> Any:
    """A table whose first column is the node id; `value_type` is how to read the others where the file does not say."""
    if kind == ".parquet":
        return _index_first(_read_parquet(path))
    header = _first_row(path, kind)
    if _looks_like_data(header):
        raise ValueError(f"{path}: the first row ({listed(header)}) looks like data; add a header line such as id,a,b")
    return _read_csv(path, kind, header, [pa.string(), *[value_type] * (len(header) - 1)])


def read_arrays(path: Path, kind: str, wanted: Sequence[str]) -> dict[str, Any]:
    """Those arrays of an NPZ archive that are wanted, at least one.

    A file that holds just one thing, an NPY array or a scipy sparse matrix, gives it the first of the wanted names.
    """
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {wanted[0]: loaded}
        with loaded:
            names = list(loaded.files)
            if kind == ".npz" and {"format", "shape"} <= set(names):
                return {wanted[0]: sp.csr_array(sp.load_npz(path))}
            found = {name: loaded[name] for name in wanted if name in names} if kind == ".npz" else {}
    except _BROKEN as error:
        raise _unreadable(path, error) from error
    if kind == ".npy":
        raise ValueError(f"{path} is an NPZ archive; rename it to end in .npz")
    if not found:
        raise ValueError(f"{path} has the arrays {listed(names)}; it needs {' or '.join(wanted)}, or a scipy sparse matrix")
    return found
