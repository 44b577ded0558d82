"""DuckDB: joins and sorts that spill to disk when they do not fit the memory."""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from localgcl.system.limits import available_cores
from localgcl.system.memory import OutOfMemory, in_bytes

# Bytes that this process takes beside DuckDB: Python, torch, pyarrow and their batches.
_OURS = 2**29
_BATCH = 1 << 18


class Engine:
    """An in-memory DuckDB that may spill to disk.

    Args:
        folder: Where it may spill.
        memory: Bytes that this process may take in all.
    """

    def __init__(self, folder: Path, memory: int) -> None:
        try:
            import duckdb
        except ImportError as error:
            raise ImportError("localgcl convert needs duckdb: pip install 'localgcl[big]'") from error
        self._errors = duckdb
        self._memory = memory
        self._failed: BaseException | None = None
        self._connection: Any = duckdb.connect()
        settings: dict[str, str | int] = {
            "memory_limit": f"{max(memory - _OURS, memory // 2) // 2**20}MiB",
            "temp_directory": str(folder),
            "threads": available_cores(),
            # Order is asked for where it matters; keeping it elsewhere costs memory.
            "preserve_insertion_order": False,
            # DuckDB draws one of its own where Python is interactive.
            "enable_progress_bar": False,
            # DuckDB does not know how long a stream is, and might hold all edges in memory to look up nodes among them.
            "disabled_optimizers": "join_order,build_side_probe_side",
        }
        for name, value in settings.items():
            self._connection.execute(f"SET {name} = {literal(value)}")

    def close(self) -> None:
        self._connection.close()

    def write(self, query: str, path: Path, **streams: Any) -> int:
        """Writes the result of a query to a Parquet file; returns its number of rows.

        Args:
            query: A SELECT.
            path: The file, which is replaced.
            **streams: Tables of the query by name, each a schema and an iterator of batches.
        """
        copy = f"COPY ({query}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION uncompressed)"
        return int(self.rows(copy, **streams)[0][0])

    def rows(self, query: str, **streams: Any) -> list[tuple[Any, ...]]:
        """All rows of a query with a small result."""
        with self._scanning(streams), self._explained():
            rows: list[tuple[Any, ...]] = self._connection.execute(query).fetchall()
            return rows

    def batches(self, query: str, **streams: Any) -> Iterator[Any]:
        """The result of a query, one pyarrow batch at a time."""
        with self._scanning(streams), self._explained():
            yield from self._connection.sql(query).to_arrow_reader(_BATCH)

    @contextlib.contextmanager
    def _scanning(self, streams: dict[str, Any]) -> Iterator[None]:
        for name, (schema, batches) in streams.items():
            self._connection.register(name, pa.RecordBatchReader.from_batches(schema, self._watched(batches)))
        try:
            yield
        finally:
            for name in streams:
                self._connection.unregister(name)

    def _watched(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Passes batches on, and keeps the exception that stops them: DuckDB reports only its text."""
        try:
            yield from batches
        except BaseException as error:
            self._failed = error
            raise

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Replaces an error of DuckDB by the exception of a stream, or by one about memory or disk."""
        self._failed = None
        try:
            yield
        except self._errors.Error as error:
            if self._failed is not None:
                raise self._failed from None
            said = str(error).splitlines()[0]
            if "No space left" in said or "max_temp_directory_size" in str(error):
                raise OSError(errno.ENOSPC, said) from error
            if isinstance(error, self._errors.OutOfMemoryException):
                raise OutOfMemory(
                    f"{in_bytes(self._memory)} of memory are too little ({said}); give more with --memory"
                ) from error
            if isinstance(error, self._errors.IOException):
                raise OSError(said) from error
            raise


def literal(value: str | int) -> str:
    """A value as an SQL literal."""
    return f"'{value.replace(chr(39), 2 * chr(39))}'" if isinstance(value, str) else str(value).lower()


def parquet(path: Path) -> str:
    """SQL that reads a Parquet file, with the column `file_row_number`. Characters of its name are no pattern."""
    name = "".join(f"[{c}]" if c in "*?[" else c for c in str(path))
    return f"read_parquet({literal(name)}, file_row_number = true)"
