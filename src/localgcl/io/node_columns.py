"""Columns of nodes -> CSV, TSV or Parquet: the id and what was found for each."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from localgcl.io.export import check_new, new_file
from localgcl.system.text import shown

SUFFIXES = (".csv", ".tsv", ".parquet")


def check_columns_file(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raises what `write_columns` would, before anything is computed."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{shown(path)} has the extension {path.suffix!r}; known are {', '.join(SUFFIXES)}")
    check_new(path, overwrite=overwrite)


def write_columns(path: str | os.PathLike[str], columns: Mapping[str, Any], *, overwrite: bool = False) -> None:
    """Writes arrays of equal length as columns of a table, whole or not at all."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    path = Path(path)
    check_columns_file(path, overwrite=overwrite)
    table = pa.table(dict(columns))
    with new_file(path, overwrite=overwrite) as file:
        if path.suffix.lower() == ".parquet":
            pyarrow.parquet.write_table(table, file)
        else:
            delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
            pyarrow.csv.write_csv(table, file, pyarrow.csv.WriteOptions(delimiter=delimiter))
