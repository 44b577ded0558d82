"""The shared inputs and tools of all stages of a conversion."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from localgcl.io.folder.edge_rows import EdgeRows
from localgcl.io.folder.engine import Engine, parquet
from localgcl.io.folder.inputs import Inputs
from localgcl.system.progress import progress

Facts = dict[str, Any]
"""Results of a stage for later stages and the header; JSON types only."""


class Progress:
    """Shows a progress bar for each stage, and reports its time when it is done."""

    def __init__(self, say: Callable[[str], None] = lambda _: None, *, bar: bool = False) -> None:
        self._say, self._bar = say, bar

    @contextlib.contextmanager
    def stage(self, title: str, total: int, unit: str = "rows") -> Iterator[Callable[[int], object]]:
        """Yields a function to call with the number of rows done since its last call. `total` may be an estimate."""
        started = time.perf_counter()
        with progress(total, f" {unit}", title=title, shown=self._bar, unit_scale=True) as bar:
            yield bar.update
        self._say(f"{title}: {time.perf_counter() - started:.1f} s")


@dataclasses.dataclass(frozen=True)
class Job:
    """One conversion.

    Args:
        inputs: The files.
        edges: The rows of the table of edges.
        folder: Where stages write.
        engine: DuckDB.
        progress: Shows the progress of stages.
        integers: Whether ids are integers.
        memory: Bytes that the process may take.
    """

    inputs: Inputs
    edges: EdgeRows
    folder: Path
    engine: Engine
    progress: Progress
    integers: bool
    memory: int

    def nodes(self, facts: Facts) -> str:
        """The SQL that gives all nodes: `id` and `row`."""
        if facts["numbered"]:
            kind = "BIGINT" if self.integers else "VARCHAR"
            return f"(SELECT range::{kind} AS id, range AS row FROM range({facts['nodes']}))"
        return f"(SELECT id, file_row_number AS row FROM {parquet(self.folder / 'ids.parquet')})"

    def missing(self, facts: Facts) -> str:
        """Names the table that defines the nodes, for messages."""
        table = self.inputs.features
        place = self.inputs.edges.place if table is None else table.place
        last = facts["nodes"] - 1
        return f"{place}, whose {last + 1} rows are the nodes 0 to {last}" if facts["rows_are_nodes"] else place
