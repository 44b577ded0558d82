"""benchmarks.large.accuracy: the block model in memory, and the table of the page."""

from pathlib import Path

import torch
from benchmarks.large import accuracy
from benchmarks.large.generate import BlockModel, write

from localgcl.graph import Graph
from localgcl.io.folder.convert import convert
from localgcl.system.files import RowFile

ROOT = Path(accuracy.__file__).parents[2]


def test_the_graph_in_memory_is_the_one_in_a_folder(tmp_path: Path) -> None:
    model = BlockModel(400, 1500, 3, classes=4)
    write(model, tmp_path / "files")
    files = {name: str(tmp_path / "files" / f"{name}-000.parquet") for name in ("edges", "features", "labels")}
    convert(files["edges"], tmp_path / "graph", features=files["features"], labels=files["labels"])
    stored, drawn = Graph.open(tmp_path / "graph"), accuracy.drawn(model).without_loops()
    assert torch.equal(stored.indptr, drawn.indptr)
    assert torch.equal(stored.indices, drawn.indices)
    assert torch.equal(torch.as_tensor(stored.x), drawn.x)
    assert stored.y is not None
    assert drawn.y is not None
    assert torch.equal(stored.y, drawn.y)


def test_a_row_is_measured_and_shown() -> None:
    graph = accuracy.drawn(BlockModel(3000, 9000, 8, classes=3))
    row = accuracy.measure(graph, "batches", 8, 0, "cpu", "")
    assert set(row) == set(accuracy.FIELDS)
    shown = accuracy.table([{name: str(value) for name, value in row.items()}])
    assert f"| 3,000 | in memory | 512 | {row['hardware']} | 1 | {row['accuracy']:.1f} |" in shown


def test_the_page_has_the_stored_rows() -> None:
    rows = RowFile(ROOT / "benchmarks" / "results" / "large-accuracy.csv", accuracy.FIELDS).rows()
    page = (ROOT / "docs" / "large.md").read_text(encoding="utf-8")
    assert f"{accuracy.START}\n{accuracy.table(rows)}\n{accuracy.END}" in page
