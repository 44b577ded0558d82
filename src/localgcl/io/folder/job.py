"""What every stage of a conversion reads."""

import dataclasses
from pathlib import Path
from typing import Any

from localgcl.io.folder.edge_rows import EdgeRows
from localgcl.io.folder.engine import Engine, parquet
from localgcl.io.folder.inputs import Inputs
from localgcl.io.folder.progress import Progress

Facts = dict[str, Any]
"""What a stage found out, as JSON holds it."""


@dataclasses.dataclass(frozen=True)
class Job:
    """One conversion.

    Args:
        inputs: The files.
        edges: The rows of the table of edges.
        folder: Where stages write.
        engine: DuckDB.
        progress: Shows how far a stage is.
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
        """What messages add about the table that defines the nodes."""
        table = self.inputs.features
        place = self.inputs.edges.place if table is None else table.place
        last = facts["nodes"] - 1
        return f"{place}, whose {last + 1} rows are the nodes 0 to {last}" if facts["rows_are_nodes"] else place
