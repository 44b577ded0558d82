"""`convert`: the folder holds the graph that `read_graph` gives, undirected and without loops."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch

from localgcl import Graph, LocalGCLWarning, read_graph
from localgcl.io.folder import streams, structural
from localgcl.io.folder.convert import convert
from tests.io.helpers import parquet, put

EDGES = "source,target\nb,a\na,b\nb,c\nc,c\na,d\nd,c\nb,c\nc,c\n"
FEATURES = "id,f,g\nc,0,1.5\na,2,3\nb,4,5\ne,6,-7e2\nd,1,1\n"
LABELS = "id,y\na,1\nd,0\nc,1\n"
NOTES = pytest.mark.filterwarnings("default::localgcl.LocalGCLWarning")


def same(found: Graph, expected: Graph) -> None:
    """Both have the same arrays."""
    expected = expected.symmetrized().without_loops()
    assert torch.equal(found.indptr, expected.indptr)
    assert torch.equal(found.indices, expected.indices)
    for ours, theirs in ((found.weights, expected.weights), (found.y, expected.y)):
        assert (ours is None) == (theirs is None)
        assert ours is None or theirs is None or torch.equal(ours, theirs)
    np.testing.assert_array_equal(found.node_ids, expected.node_ids)
    assert found.node_ids.dtype == expected.node_ids.dtype
    assert found.feature_names == expected.feature_names
    assert found.name == expected.name
    assert found.x.layout == expected.x.layout
    # Structural features are standardised in blocks of columns, whose sums round differently.
    torch.testing.assert_close(found.x.to_dense(), expected.x.to_dense(), rtol=0, atol=1e-6)


def round_trip(folder: Path, **files: Any) -> Graph:
    """Converts, and compares with `read_graph` of the same files."""
    convert(out=folder / "graph", **files)
    found = Graph.open(folder / "graph")
    same(found, read_graph(**files))
    assert not (folder / "graph" / ".convert").exists()
    return found


CASES: dict[str, tuple[str, str, str]] = {
    "text": (EDGES, FEATURES, LABELS),
    "integers": ("target,SOURCE\n7,5\n5,3\n3,3\n", "id,a\n7,1\n5,2\n9,3\n3,4\n", "node,label\n9,2\n7,0.0\n"),
    "counted": ("0,1\n1,2\n2,0\n", "id,a\n0,1\n1,2\n2,3\n3,4\n", "id,y\n3,1\n"),
    "written with zeros": ("source,target\n007,7\n", "id,a\n7,1\n007,2\n", "id,y\n7,1\n"),
    "integers and text": ("source,target\n1,2\n", "id,a\n1,1\nx,2\n2,3\n", "id,y\n1,1\n"),
    "spaces and quotes": ('source , target\n" a b ",c\n', "id,a\nc,1\na b,2\n", "id,y\nc,1\n"),
}


@pytest.mark.parametrize("name", CASES)
def test_tables_with_ids_of_any_kind(tmp_path: Path, name: str) -> None:
    paths: dict[str, Any] = {
        role: put(tmp_path / f"{role}.csv", text)
        for role, text in zip(("edges", "features", "labels"), CASES[name], strict=True)
    }
    graph = round_trip(tmp_path, **paths)
    assert (tmp_path / "graph" / "ids.parquet").exists() == (name != "counted")
    assert graph.num_edges > 0


def test_sizes_and_types_are_in_the_header(tmp_path: Path) -> None:
    files: dict[str, Any] = {"features": put(tmp_path / "x.csv", FEATURES), "labels": put(tmp_path / "y.csv", LABELS)}
    header = convert(put(tmp_path / "people.csv", EDGES), tmp_path / "graph", **files)
    assert (header.name, header.nodes, header.edges, header.features, header.loops) == ("people", 5, 8, 2, 2)
    assert header.column_types == {"id": "string", "f": "float", "g": "float"}
    stored = json.loads((tmp_path / "graph" / "header.json").read_text())
    assert set(stored["files"]) == {"indptr.npy", "indices.npy", "x.npy", "y.npy", "ids.parquet"}
    assert np.load(tmp_path / "graph" / "indices.npy").dtype == np.int32


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_in_several_files(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_ROWS", 7)
    rng = np.random.default_rng(0)
    names = np.array([f"n{i}" for i in rng.permutation(60)])
    tables = {
        "edges": pd.DataFrame({"source": rng.choice(names, 200), "target": rng.choice(names, 200)}),
        "features": pd.DataFrame({"id": names, "a": rng.normal(size=60).astype(np.float32), "b": rng.integers(9, size=60)}),
        "labels": pd.DataFrame({"id": names[:40], "y": rng.integers(3, size=40)}),
    }
    whole: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    for role, table in tables.items():
        (tmp_path / role).mkdir()
        for number, rows in enumerate(np.array_split(np.arange(len(table)), 3)):
            part = tmp_path / role / f"{number}.{kind}"
            _save(table.iloc[rows], part)
        whole[role] = tmp_path / f"{role}.{kind}"
        _save(table, whole[role])
        parts[role] = str(tmp_path / role / f"*.{kind}")
    convert(out=tmp_path / "edges-graph", **parts, name="edges")
    same(Graph.open(tmp_path / "edges-graph"), read_graph(**whole))


def _save(table: pd.DataFrame, path: Path) -> None:
    table.to_csv(path, index=False) if path.suffix == ".csv" else table.to_parquet(path, index=False)


def test_a_glob_is_named_after_the_folder(tmp_path: Path) -> None:
    for part in "ab":
        put(tmp_path / f"e{part}.csv", EDGES)
    assert convert(str(tmp_path / "e*.csv"), tmp_path / "people", features=put(tmp_path / "x.csv", FEATURES)).name == "people"


def test_text_ids_after_a_head_of_integers(tmp_path: Path) -> None:
    put(tmp_path / "1.csv", "source,target\n1,2\n")
    put(tmp_path / "2.csv", "source,target\nx,2\n")
    features = put(tmp_path / "x.csv", "id,a\n2,1\nx,2\n1,3\n")
    convert(str(tmp_path / "[12].csv"), tmp_path / "graph", features=features)
    graph = Graph.open(tmp_path / "graph")
    assert graph.node_ids.tolist() == ["2", "x", "1"]
    assert graph.indices.tolist() == [1, 2, 0, 0]


@NOTES
@pytest.mark.parametrize("labels", [None, "id,y\nz,1\na,0\n"], ids=["edges alone", "labels name more nodes"])
def test_structural_features_where_none_are_given(tmp_path: Path, labels: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structural, "_EDGES", 3)  # blocks of a few rows
    monkeypatch.setattr(structural, "_ROWS", 2)
    files: dict[str, Any] = {
        "edges": put(tmp_path / "edges.csv", EDGES),
        **({} if labels is None else {"labels": put(tmp_path / "y.csv", labels)}),
    }
    with pytest.warns(LocalGCLWarning, match="no features given: using 1024 structural features"):
        graph = round_trip(tmp_path, **files)
    assert graph.num_features == 1024


@NOTES
def test_structural_features_of_a_ring(tmp_path: Path) -> None:
    ring = "source,target\n" + "".join(f"{i},{(i + 1) % 20}\n" for i in range(20))
    graph = round_trip(tmp_path, edges=put(tmp_path / "e.csv", ring))
    assert not graph.x[:, 0].any()  # all degrees are equal


@NOTES
def test_structural_features_a_few_columns_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edges = put(tmp_path / "edges.csv", "source,target,weight\n1,2,3\n2,2,.5\n2,3,1\n1,1,1\n1,1,2\n")
    monkeypatch.setattr(structural, "_COPIES", 2**22)  # so that 4 columns fit into 512 MiB / 2
    monkeypatch.setattr(structural, "_EDGES", 2)
    convert(edges, tmp_path / "graph", memory=2**29)
    same(Graph.open(tmp_path / "graph"), read_graph(edges))


WEIGHTS: dict[str, str] = {
    "one direction": "a,b,2\nb,c,.1\nc,c,5\n",
    "both directions, not all": "a,b,2\nb,a,2\nb,c,1\n",
    "undirected": "a,b,2\nb,a,2\nb,c,.1\nc,b,.1\nd,d,3\n",
    "undirected up to rounding": "a,b,2\nb,a,2.000001\nb,c,.3\nc,b,.3\n",
    "different": "a,b,2\nb,a,3\nb,c,.3\nc,b,.3\n",
    "repeats": "a,b,.1\na,b,.2\na,b,.7\nb,a,1\nc,b,.5\nc,b,.25\n",
    "halves that sum to one": "a,b,.5\na,b,.5\nc,d,1\n",
    "ones": "a,b,1\na,b,1\nb,c,1\n",
    "large": "a,b,3e38\nb,a,3e38\n",
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_are_merged_as_a_graph_merges_them(tmp_path: Path, name: str) -> None:
    edges = put(tmp_path / "edges.csv", "source,target,Weight\n" + WEIGHTS[name])
    round_trip(tmp_path, edges=edges, features=put(tmp_path / "x.csv", FEATURES))


def test_weights_by_name_or_none(tmp_path: Path) -> None:
    edges, features = put(tmp_path / "e.csv", "source,target,cost\na,b,2\n"), put(tmp_path / "x.csv", FEATURES)
    round_trip(tmp_path, edges=edges, features=features, weight="cost")
    with pytest.warns(LocalGCLWarning, match="edge columns that are not used: 'cost'"):
        convert(edges, tmp_path / "bare", features=features, weight="")
    assert Graph.open(tmp_path / "bare").weights is None


@NOTES
def test_edges_of_weight_zero_are_left_out(tmp_path: Path) -> None:
    edges = put(tmp_path / "e.csv", "source,target,weight\na,b,0\na,c,2\nb,c,0\n")
    with pytest.warns(LocalGCLWarning, match="2 edges of weight 0 are left out \\(first 'a' -> 'b'\\)"):
        graph = round_trip(tmp_path, edges=edges, features=put(tmp_path / "x.csv", FEATURES))
    assert graph.num_edges == 2


def _npy(path: Path, array: Any) -> Path:
    np.save(path, array)
    return path


def _npz(path: Path, matrix: Any) -> Path:
    sp.save_npz(path, matrix)
    return path


X = np.arange(8.0).reshape(4, 2)
ARRAYS: dict[str, Callable[[Path], dict[str, Path]]] = {
    "npy": lambda at: {
        "edges": _npy(at / "e.npy", [[0, 1], [1, 3], [3, 3]]),
        "features": _npy(at / "x.npy", X),
        "labels": _npy(at / "y.npy", [0, 1, -1, 1]),
    },
    "sparse features": lambda at: {
        "edges": _npy(at / "e.npy", [[0, 1], [1, 3], [3, 3]]),
        "features": _npz(at / "x.npz", sp.csr_matrix(X)),
    },
    "an adjacency matrix": lambda at: {
        "edges": _npz(at / "e.npz", sp.csr_matrix(np.diag([2.0, 3.0, 0.5], k=1))),
        "features": _npy(at / "x.npy", X),
    },
    "a table of edges": lambda at: {"edges": put(at / "e.csv", "0,1\n3,2\n"), "features": _npy(at / "x.npy", X)},
}


@pytest.mark.parametrize("name", ARRAYS)
def test_numpy_files(tmp_path: Path, name: str) -> None:
    round_trip(tmp_path, **ARRAYS[name](tmp_path))


def test_only_loops(tmp_path: Path) -> None:
    graph = round_trip(
        tmp_path, edges=put(tmp_path / "e.csv", "source,target\na,a\n"), features=put(tmp_path / "x.csv", FEATURES)
    )
    assert graph.num_edges == 0


def test_pandas_index_as_ids(tmp_path: Path) -> None:
    frame = pd.DataFrame({"f": [1.0, 2.0], "g": [True, False]}, index=["b", "a"])
    frame.to_parquet(tmp_path / "x.parquet")
    round_trip(tmp_path, edges=put(tmp_path / "e.csv", "source,target\na,b\n"), features=tmp_path / "x.parquet")


def test_names_of_folders_are_no_patterns(tmp_path: Path) -> None:
    odd = tmp_path / "it's a [graph] *?"
    odd.mkdir()
    round_trip(odd, edges=put(odd / "e.csv", EDGES), features=put(odd / "x.csv", FEATURES), labels=put(odd / "y.csv", LABELS))


FAULTS: dict[str, tuple[dict[str, str], str]] = {
    "an edge of no node": (
        {"e.csv": "source,target\na,z\ny,b\n"},
        r"e.csv: node 'y' \(and 1 more\) has no row in .*x.csv; add its row or drop its edges",
    ),
    "a label of no node": (
        {"y.csv": "id,y\nz,1\na,1\n"},
        "y.csv: labelled node 'z' has no row in .*x.csv; add its row or drop its label",
    ),
    "two rows of a node": ({"x.csv": "id,f\na,1\nb,2\nc,3\nd,4\na,2\n"}, "x.csv: node 'a' has 2 rows; keep one row per node"),
    "two labels of a node": ({"y.csv": "id,y\na,1\nb,1\na,1\n"}, "y.csv: node 'a' has 2 rows; keep one row per node"),
    "a label that is no number": ({"y.csv": "id,y\na,cat\nb,0\n"}, "the label of node 'a' is 'cat', not a class number"),
    "three columns of labels": ({"y.csv": "id,y,z\na,1,2\n"}, "labels need two: id and label"),
    "an empty id": ({"e.csv": "source,target\na,b\n,b\n"}, "e.csv, source: the node id in data row 2 is empty"),
    "text among features": (
        {"x.csv": "id,f,g,h\na,1,2,x\nb,no,2,3\nc,1,1,y\nd,1,1,1\n"},
        "x.csv: 2 columns are no numbers: 'f' \\('no' for node 'b'\\), 'h' \\('x' for node 'a'\\); encode them",
    ),
    "holes among features": (
        {"x.csv": "id,f,g,h\na,1,,3\nb,nan,2,3\nc,1,1,1\nd,1,1e40,1\n"},
        "x.csv: features are empty, NaN or infinite in 'f' \\(first for node 'b'\\), 'g' \\(first for node 'a'\\); fill",
    ),
    "no header": ({"x.csv": "a,1,2\nb,2,3\n"}, "looks like data; add a header line"),
    "no ends": ({"e.csv": "from,to\na,b\n"}, "edges need the columns 'source' and 'target'"),
    "no edges": ({"e.csv": "source,target\n"}, "e.csv has a header but no rows; write it again"),
    "no nodes": ({"x.csv": "id,f\n"}, "x.csv has a header but no rows; write it again"),
    "a short line": ({"e.csv": "source,target\na,b\na\n"}, "e.csv, line 3: 1 cells where there should be 2"),
    "a negative weight": (
        {"e.csv": "source,target,weight\na,b,-1\n"},
        "the weight of edge 'a' -> 'b' is -1.0; weights are numbers from 0",
    ),
    "a weight that is no number": (
        {"e.csv": "source,target,weight\na,b,x\n"},
        "the weight of edge 'a' -> 'b' is 'x', not a number",
    ),
    "too large weights": ({"e.csv": "source,target,weight\na,b,3e38\na,b,3e38\n"}, "sum to more than 3.4e\\+38; rescale them"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_one_line_and_leave_nothing(tmp_path: Path, name: str) -> None:
    changed, message = FAULTS[name]
    for file, text in {"e.csv": EDGES, "x.csv": FEATURES, "y.csv": LABELS, **changed}.items():
        put(tmp_path / file, text)
    with pytest.raises(ValueError, match=message) as caught:
        convert(tmp_path / "e.csv", tmp_path / "graph", features=tmp_path / "x.csv", labels=tmp_path / "y.csv")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "graph").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"b", r"e\.csv, line 3: 1 cells where there should be 2; mend or drop the line"),
        (b"b,c,d", r"e\.csv, line 3: 3 cells where there should be 2; mend or drop the line"),
        (b"b,\xfc", r"e\.csv, line 3, column 'target': invalid UTF8 data; save the file as UTF-8"),
    ],
)
def test_a_bad_line_of_a_streamed_table_has_a_number(
    tmp_path: Path, line: bytes, message: str, request: pytest.FixtureRequest
) -> None:
    """pyarrow counts no lines while it reads with several threads, as it does outside these tests."""
    request.addfinalizer(functools.partial(pa.set_cpu_count, pa.cpu_count()))
    pa.set_cpu_count(2)
    edges = put(tmp_path / "e.csv", b"source,target\na,b\n" + line + b"\n" + b"c,d\n" * 100)
    with pytest.raises(ValueError, match=message):
        convert(edges, tmp_path / "graph")


def test_an_unknown_node_is_told_as_read_graph_tells_it(tmp_path: Path) -> None:
    edges, features = put(tmp_path / "e.csv", "source,target\na,z\n"), put(tmp_path / "x.csv", FEATURES)
    with pytest.raises(ValueError, match="has no row") as theirs:
        read_graph(edges, features=features)
    with pytest.raises(ValueError, match="has no row") as ours:
        convert(edges, tmp_path / "graph", features=features)
    assert str(ours.value) == str(theirs.value)


def test_parquet_columns_that_are_no_numbers(tmp_path: Path) -> None:
    put(tmp_path / "x.parquet", parquet(id=["a", "b"], f=["u", "v"], g=[1, 2], h=[[1], [2]]))
    with pytest.raises(ValueError, match=r"x.parquet: 2 columns are no numbers: 'f', 'h'; encode .*--encode auto.* or drop"):
        convert(put(tmp_path / "e.csv", "source,target\na,b\n"), tmp_path / "graph", features=tmp_path / "x.parquet")


def test_files_with_other_columns(tmp_path: Path) -> None:
    edges = put(tmp_path / "e.csv", EDGES)
    put(tmp_path / "x1.csv", FEATURES)
    put(tmp_path / "x2.csv", "id,g,f\nz,1,2\n")
    with pytest.raises(
        ValueError, match=r"x2.csv has the columns 'id', 'g', 'f', but .*x1.csv has 'id', 'f', 'g'; give all files"
    ):
        convert(edges, tmp_path / "graph", features=str(tmp_path / "x*.csv"))
    put(tmp_path / "e2.csv", "source,target,weight\na,b,1\n")
    with pytest.raises(ValueError, match=r"e.csv has no edge weights, but other files have"):
        convert(str(tmp_path / "e*.csv"), tmp_path / "graph", features=tmp_path / "x1.csv")


def test_files_that_are_not_there_or_damaged(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no file matches .*e\*.csv; check the folder and the pattern"):
        convert(str(tmp_path / "e*.csv"), tmp_path / "graph")
    with pytest.raises(ValueError, match=r"e.parquet cannot be read, it may be truncated"):
        convert(put(tmp_path / "e.parquet", b"PAR1 and more"), tmp_path / "graph")
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", X)
    with pytest.raises(ValueError, match="is one of 2 files; only CSV, TSV and Parquet may come in parts"):
        convert(str(tmp_path / "[ab].npy"), tmp_path / "graph")
