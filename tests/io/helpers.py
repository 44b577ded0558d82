"""What several tests of this folder share."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from localgcl import Graph


def edge_set(graph: Graph) -> list[tuple[Any, Any]]:
    """The stored edges in the user's ids, sorted."""
    source, target = graph.node_ids[graph.rows.numpy()], graph.node_ids[graph.indices.numpy()]
    return sorted(zip(source.tolist(), target.tolist(), strict=True))


def put(path: Path, content: str | bytes) -> Path:
    """Writes a file and returns its path."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def saved(save: Callable[..., None], *arrays: Any, **named: Any) -> bytes:
    """The bytes that numpy or scipy saves."""
    buffer = io.BytesIO()
    save(buffer, *arrays, **named)
    return buffer.getvalue()


def parquet(**columns: Any) -> bytes:
    """A Parquet file of these columns."""
    out = pa.BufferOutputStream()
    pyarrow.parquet.write_table(pa.table(columns), out)
    return bytes(out.getvalue().to_pybytes())
