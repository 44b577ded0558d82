"""Ids of a stored graph: found and read a group at a time."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

from localgcl.graph import Graph
from localgcl.graph.stored import FolderError, Header
from localgcl.io.stored_ids import StoredIds


def of_memory(names: list[Any]) -> StoredIds:
    return StoredIds.of_graph(Graph.from_edges([], [], x=torch.zeros(len(names), 1), node_ids=np.array(names)))


def of_disk(names: list[Any], folder: Path) -> StoredIds:
    pyarrow.parquet.write_table(pa.table({"id": names}), folder / "ids.parquet", row_group_size=2)
    return StoredIds.of_folder(folder, Header("g", len(names), 0, 1, files={"ids.parquet": {}}))


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize(
    ("names", "wanted", "found"),
    [
        ([5, 9, 2, 7, 1], [1, 5, 4], [4, 0, -1]),
        ([5, 9, 2, 7, 1], ["1", "x", "05", "9"], [4, -1, -1, 1]),
        (["a", "9", "c"], [9, 3], [1, -1]),
        (["a", "9", "c"], ["c", "d", "a"], [2, -1, 0]),
    ],
)
def test_ids_are_found(on_disk: bool, names: list[Any], wanted: list[Any], found: list[int], tmp_path: Path) -> None:
    ids = of_disk(names, tmp_path) if on_disk else of_memory(names)
    assert ids.find(pa.array(wanted, pa.large_string() if isinstance(wanted[0], str) else None)).tolist() == found
    assert not ids.numbered
    assert ids.take(np.array([0, 2])).to_pylist() == [names[0], names[2]]
    assert ids.take(np.array([], dtype=np.int64)).type == ids.kind


@pytest.mark.parametrize("on_disk", [False, True])
def test_numbers_in_order_need_no_list(on_disk: bool, tmp_path: Path) -> None:
    ids = StoredIds.of_folder(tmp_path, Header("g", 4, 0, 1)) if on_disk else of_memory([0, 1, 2, 3])
    assert ids.numbered
    assert ids.find(pa.array([3, 4, -1, 0])).tolist() == [3, -1, -1, 0]
    texts = pa.array(["3", "03", "-1", "x", "٣", "9" * 30, "4", "+1"], pa.large_string())
    assert ids.find(texts).tolist() == [3] + [-1] * 7
    assert ids.take(np.array([1, 3])).to_pylist() == [1, 3]


def test_groups_without_a_wanted_node_are_not_read(tmp_path: Path) -> None:
    read: list[int] = []
    ids = of_disk(["a", "b", "c", "d", "e"], tmp_path)

    def counted(group: int) -> Any:
        read.append(group)
        return ids.read(group)

    assert ids._replace(read=counted).take(np.array([4])).to_pylist() == ["e"]
    assert read == [2]


def test_too_few_ids_are_refused(tmp_path: Path) -> None:
    of_disk(["a", "b"], tmp_path)
    with pytest.raises(FolderError, match="2 ids for 3 nodes"):
        StoredIds.of_folder(tmp_path, Header("g", 3, 0, 1, files={"ids.parquet": {}}))
