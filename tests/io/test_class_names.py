"""Classes that are text: their names stay with the graph, from files to scores."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from localgcl import Graph, as_graph, evaluate, read_graph, to_pyg
from localgcl.commands import main
from localgcl.datasets.splits import few_label_splits
from localgcl.io.folder import streams
from localgcl.io.folder.convert import convert
from localgcl.io.stored_ids import StoredIds
from tests.io.helpers import parquet, put, saved

EDGES = "source,target\na,b\nb,c\nc,d\n"
FEATURES = "id,f\na,1\nb,2\nc,3\nd,4\n"
NAMES = ("active", "churned")

FILES: dict[str, str | bytes] = {
    "y.csv": "id,label\nc,churned\na,active\nd,\n",
    "y.tsv": "id\tlabel\nc\tchurned\na\tactive\nb\t-1\n",
    "y.parquet": parquet(id=["c", "a", "d"], label=["churned", "active", None]),
    "y.npy": saved(np.save, np.array(["active", "", "churned", "nan"])),
}


@pytest.mark.parametrize("name", FILES)
def test_text_labels_become_classes_with_names(tmp_path: Path, name: str) -> None:
    edges, x = put(tmp_path / "e.csv", EDGES), put(tmp_path / "x.csv", FEATURES)
    labels = put(tmp_path / name, FILES[name])
    read = read_graph(edges, features=x, labels=labels)
    convert(edges, tmp_path / "graph", features=x, labels=labels)
    for graph in (read, Graph.open(tmp_path / "graph")):
        assert graph.class_names == NAMES
        assert graph.y is not None
        assert graph.y.tolist() == [0, -1, 1, -1]
        assert graph.num_classes == 2


def test_booleans_are_classes_and_missing_numbers_are_unknown(tmp_path: Path) -> None:
    edges, x = put(tmp_path / "e.csv", EDGES), put(tmp_path / "x.csv", FEATURES)
    for content, y, names in (
        (parquet(id=["a", "b", "c"], y=[True, None, False]), [1, -1, 0, -1], ("False", "True")),
        (parquet(id=["a", "b", "c"], y=[1, None, 0]), [1, -1, 0, -1], None),
        (parquet(id=["a", "b", "c"], y=[1.0, float("nan"), 0.0]), [1, -1, 0, -1], None),
    ):
        labels = put(tmp_path / "y.parquet", content)
        convert(edges, tmp_path / "graph", features=x, labels=labels, overwrite=True)
        for graph in (read_graph(edges, features=x, labels=labels), Graph.open(tmp_path / "graph")):
            assert graph.y is not None
            assert graph.y.tolist() == y
            assert graph.class_names == names
    dates = put(tmp_path / "y.parquet", parquet(id=["a"], y=[pd.Timestamp("2020-01-01")]))
    with pytest.raises(ValueError, match="labels are of type timestamp"):
        read_graph(edges, features=x, labels=dates)


def test_batches_of_a_conversion_share_the_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch has other classes, and the first one looks like numbers."""
    monkeypatch.setattr(streams, "_BLOCK", 1 << 12)
    count = 4000
    names = [f"n{i}" for i in range(count)]
    pd.DataFrame({"source": names, "target": [*names[1:], names[0]]}).to_csv(tmp_path / "e.csv", index=False)
    pd.DataFrame({"id": names, "f": 1.0}).to_csv(tmp_path / "x.csv", index=False)
    classes = [f"class-{i // 1000}" for i in reversed(range(count))]
    pd.DataFrame({"id": names, "y": classes}).to_csv(tmp_path / "y.csv", index=False)
    files: dict[str, Any] = {"features": tmp_path / "x.csv", "labels": tmp_path / "y.csv"}
    convert(tmp_path / "e.csv", tmp_path / "graph", **files)
    graph = Graph.open(tmp_path / "graph")
    assert graph.class_names == ("class-0", "class-1", "class-2", "class-3")
    assert graph.y is not None
    assert [graph.class_names[label] for label in graph.y.tolist()] == classes
    pd.DataFrame({"id": names, "y": [*["1"] * 3000, *classes[3000:]]}).to_csv(tmp_path / "y.csv", index=False)
    with pytest.raises(ValueError, match="the label of node 'n3000' is 'class-0', not a class number"):
        convert(tmp_path / "e.csv", tmp_path / "other", **files)


def test_names_come_back_from_other_types() -> None:
    graph = as_graph(([[0, 1], [1, 2]], np.eye(3)), y=["b", "a", None])
    assert graph.class_names == ("a", "b")
    assert as_graph(to_pyg(graph)).class_names == ("a", "b")
    assert as_graph(graph, x=np.ones((3, 2))).class_names == ("a", "b")
    assert as_graph(graph, y=[0, 1, 2]).class_names is None
    assert graph.symmetrized().without_loops().class_names == ("a", "b")
    assert graph.with_features(np.ones((3, 2))).subgraph(graph.indices[:1]).class_names == ("a", "b")
    edges = pd.DataFrame({"source": ["u"], "target": ["v"]})
    tables = as_graph(edges, pd.DataFrame({"f": [1.0, 2.0]}, index=["u", "v"]), pd.Series(["yes", "no"], index=["u", "v"]))
    assert tables.class_names == ("no", "yes")
    assert StoredIds.of_graph(tables).num_nodes == 2


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("a",), "1 class names, but a label is 1; give a name for each of the classes 0 to 1"),
        (("a", "a"), "two classes are called 'a'"),
    ],
)
def test_names_must_fit_the_classes(names: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Graph.from_edges([0], [1], x=np.eye(2), y=[0, 1], class_names=names)


def test_messages_call_classes_by_their_names() -> None:
    x = np.eye(6)
    graph = as_graph(([[0], [1]], x), y=["cat", "cat", "cat", "dog", "dog", "ant"])
    with pytest.raises(ValueError, match="class 'ant' has one node"):
        evaluate(x, graph)
    with pytest.raises(ValueError, match="class 'ant' has 1 nodes"):
        few_label_splits(graph, 1)
    with pytest.raises(ValueError, match="all labels are class 'cat'"):
        evaluate(x, as_graph(([[0], [1]], x), y=["cat"] * 6))


def test_a_run_with_few_text_labels_is_evaluated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """40 labels of 400 nodes."""
    monkeypatch.chdir(tmp_path)
    names = [f"c{i}" for i in range(400)]
    kinds = np.array(["gold", "silver"])[np.arange(400) % 2]
    pd.DataFrame({"source": names, "target": [*names[2:], *names[:2]]}).to_csv("e.csv", index=False)
    noise = np.random.default_rng(0).normal(size=400)
    pd.DataFrame({"id": names, "f": noise + 3 * (kinds == "gold"), "g": noise}).to_csv("x.csv", index=False)
    pd.DataFrame({"id": names, "tier": kinds}).iloc[:40].to_csv("y.csv", index=False)
    files = "--edges e.csv --features x.csv --labels y.csv"
    fast = "--encoder gcn --dim 8 --steps 3 --device cpu --quiet"
    assert main(f"train {files} {fast} --out run".split()) == 0
    assert main(["evaluate", "run", "--splits", "2"]) == 0
    assert main(["embed", "run", "-o", "z.parquet"]) == 0
    assert main(["evaluate", "z.parquet", "--labels", "y.csv", "--splits", "2"]) == 0
    assert capsys.readouterr().out.count("accuracy in %, 2 splits") == 2
