"""The block model behind measurements on large graphs."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from benchmarks.large import generate
from benchmarks.large.generate import BlockModel, write

from localgcl import read_graph

MODEL = BlockModel(1003, 8000, 5, classes=4, homophily=0.8, seed=1)


def test_the_model_is_as_asked(tmp_path: Path) -> None:
    paths = write(MODEL, tmp_path)
    graph = read_graph(*paths["edges"], features=paths["features"][0], labels=paths["labels"][0])
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == (1003, 8000, 5, 4)
    assert len(set(graph.node_ids.tolist())) == 1003
    # Five standard errors of a share of 0.8 among 8,000 edges: 0.022.
    assert graph.homophily() == pytest.approx(0.8, abs=0.022)
    assert graph.y is not None
    means = np.stack([graph.x[graph.y == label].numpy().mean(axis=0) for label in range(4)])
    assert np.abs(means[0] - means[1]).max() > 0.5  # classes differ by draws of deviation 1.4, means by 0.18


def test_content_does_not_depend_on_the_number_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "CHUNK", 300)
    one, three = write(MODEL, tmp_path / "one"), write(MODEL, tmp_path / "three", parts=3)
    for role, parts in three.items():
        assert len(parts) == 3
        joined = pa.concat_tables([pyarrow.parquet.read_table(part) for part in parts])
        assert joined.equals(pyarrow.parquet.read_table(one[role][0]))


def test_csv_holds_the_same(tmp_path: Path) -> None:
    small = BlockModel(20, 30, 2)
    tables, texts = write(small, tmp_path), write(small, tmp_path, kind="csv")
    ours, theirs = (read_graph(*paths["edges"], features=paths["features"][0]) for paths in (tables, texts))
    np.testing.assert_array_equal(ours.x.numpy(), theirs.x.numpy())
    assert ours.indices.tolist() == theirs.indices.tolist()


def test_classes_need_nodes() -> None:
    with pytest.raises(ValueError, match="5 classes for 3 nodes"):
        BlockModel(3, 1, 1, classes=5)
