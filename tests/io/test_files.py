import gzip
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from localgcl import LocalGCLWarning
from localgcl.io.export import write_embeddings
from localgcl.io.files import read_graph
from localgcl.io.labels import Labels
from localgcl.io.targets import read_labelled_embeddings
from tests.io.helpers import edge_set, parquet, put, saved

EDGES = "source,target\na,b\nb,c\n"
FEATURES = "id,f,g\nc,0,1.5\na,2,3\nb,4,5\ne,6,-7e2\n"
X = np.array([[0, 1.5], [2, 3], [4, 5], [6, -700]], dtype=np.float32)


# Edges

EDGE_FILES: dict[str, Callable[[Path], object]] = {
    "by name.csv": lambda path: put(path, "weight,Target,SOURCE\n1,2,1\n1.0,3,2\n"),
    "tabs.tsv": lambda path: put(path, "source\ttarget\n1\t2\n2\t3\n"),
    "no header.csv": lambda path: put(path, "1,2\n2,3\n"),
    "windows.csv": lambda path: put(path, "\ufeffsource, target\r\n1, 2\r\n\r\n2, 3\r\n"),
    "quoted.csv": lambda path: put(path, '"source","target"\n"1","2"\n"2","3"'),
    "zipped.csv.gz": lambda path: put(path, gzip.compress(b"source,target\n1,2\n2,3\n")),
    "zipped.tsv.gz": lambda path: put(path, gzip.compress(b"source\ttarget\n1\t2\n2\t3\n")),
    "table.parquet": lambda path: pyarrow.parquet.write_table(pa.table({"target": [2, 3], "source": [1, 2]}), path),
    "text.parquet": lambda path: pyarrow.parquet.write_table(pa.table({"source": ["1", "2"], "target": ["2", "3"]}), path),
    "categories.parquet": lambda path: pd.DataFrame({"source": ["1", "2"], "target": ["2", "3"]}, dtype="category").to_parquet(
        path
    ),
    "floats.parquet": lambda path: pyarrow.parquet.write_table(pa.table({"source": [1.0, 2.0], "target": [2.0, 3.0]}), path),
    "tall.npy": lambda path: np.save(path, np.array([[1, 2], [2, 3], [2, 3]])),
    "wide.npy": lambda path: np.save(path, np.array([[1, 2, 2], [2, 3, 3]], dtype=np.int32)),
    "ends.npz": lambda path: np.savez(path, source=[1, 2], target=[2, 3]),
    "edge_index.npz": lambda path: np.savez(path, edge_index=[[1, 2], [2, 3]], x=[0], y=[0]),
}


@pytest.mark.parametrize("name", EDGE_FILES)
def test_edges_of_every_format(tmp_path: Path, name: str) -> None:
    EDGE_FILES[name](tmp_path / name)
    with pytest.warns(LocalGCLWarning, match="no features given: using 1024 structural features"):
        graph = read_graph(tmp_path / name)
    assert graph.node_ids.tolist() == [1, 2, 3]
    assert sorted(set(edge_set(graph))) == [(1, 2), (2, 3)]
    assert graph.num_edges == (3 if name.endswith(".npy") else 2)  # repeats stay
    assert graph.name == name.split(".")[0]


def test_edges_of_a_sparse_matrix(tmp_path: Path) -> None:
    adjacency = sp.csr_array((np.ones(2), (np.array([0, 1]), np.array([1, 2]))), shape=(5, 5))
    sp.save_npz(tmp_path / "a.npz", adjacency)
    with pytest.warns(LocalGCLWarning, match="structural"):
        graph = read_graph(tmp_path / "a.npz")
    assert graph.num_nodes == 5  # the shape counts isolated nodes too
    assert edge_set(graph) == [(0, 1), (1, 2)]
    np.testing.assert_array_equal(graph.to_scipy().toarray(), adjacency.toarray())


# Features and labels

FEATURE_FILES: dict[str, Callable[[Path], object]] = {
    "x.csv": lambda path: put(path, FEATURES),
    "x.tsv": lambda path: put(path, FEATURES.replace(",", "\t")),
    "x.csv.gz": lambda path: put(path, gzip.compress(FEATURES.encode())),
    "pandas.csv": lambda path: pd.DataFrame(X, index=list("cabe")).to_csv(path),
    "x.parquet": lambda path: pd.DataFrame({"id": list("cabe"), "f": X[:, 0].astype(int), "g": X[:, 1]}).to_parquet(path),
    "counter.parquet": lambda path: pd.DataFrame(
        {"id": list("cabe"), "f": X[:, 0], "g": X[:, 1]}, index=[9, 8, 7, 6]
    ).to_parquet(path),
    "index.parquet": lambda path: pd.DataFrame(
        {"f": X[:, 0], "g": X[:, 1]}, index=pd.Index(list("cabe"), name="node")
    ).to_parquet(path),
    "unnamed.parquet": lambda path: pd.DataFrame({"f": X[:, 0], "g": X[:, 1]}, index=list("cabe")).to_parquet(path),
}


@pytest.mark.parametrize("name", FEATURE_FILES)
def test_features_of_every_table(tmp_path: Path, name: str) -> None:
    FEATURE_FILES[name](tmp_path / name)
    graph = read_graph(put(tmp_path / "e.csv", EDGES), features=tmp_path / name, name="abc")
    assert graph.node_ids.tolist() == ["c", "a", "b", "e"]
    assert edge_set(graph) == [("a", "b"), ("b", "c")]
    assert graph.x.dtype == torch.float32
    np.testing.assert_array_equal(graph.x.numpy(), X)
    assert graph.y is None
    assert graph.name == "abc"


def test_features_by_position(tmp_path: Path) -> None:
    edges = put(tmp_path / "e.csv", "source,target\n0,1\n2,1\n")
    np.save(tmp_path / "x.npy", X.astype(np.float64))
    np.savez(tmp_path / "x.npz", x=X)
    sp.save_npz(tmp_path / "sparse.npz", sp.csr_matrix(X))
    for name, layout in (("x.npy", torch.strided), ("x.npz", torch.strided), ("sparse.npz", torch.sparse_csr)):
        graph = read_graph(edges, features=tmp_path / name)
        assert graph.node_ids.tolist() == [0, 1, 2, 3]
        assert graph.x.layout == layout
        np.testing.assert_array_equal(graph.x.to_dense().numpy(), X)


def test_features_of_a_frame_whose_index_is_a_named_range(tmp_path: Path) -> None:
    index = pd.RangeIndex(10, 50, 10, name="id")
    pd.DataFrame(X, index=index, columns=["f", "g"]).to_parquet(tmp_path / "x.parquet")  # of a range, only limits are written
    graph = read_graph(put(tmp_path / "e.csv", "10,20\n"), features=tmp_path / "x.parquet")
    assert graph.node_ids.tolist() == [10, 20, 30, 40]
    np.testing.assert_array_equal(graph.x.numpy(), X)


LABEL_FILES: dict[str, Callable[[Path], object]] = {
    "y.csv": lambda path: put(path, "node,class\nb,2\nc,0\n"),
    "fractions of nothing.csv": lambda path: put(path, "node,class\nb,2.0\nc,0.0\n"),
    "pandas.csv": lambda path: pd.Series([2, 0], index=["b", "c"]).to_csv(path),
    "y.tsv": lambda path: put(path, "node\tclass\nc\t0\nb\t2\ne\t-1\n"),
    "y.parquet": lambda path: pd.DataFrame({"id": ["b", "c"], "y": np.array([2, 0], dtype=np.uint8)}).to_parquet(path),
    "text.parquet": lambda path: pd.DataFrame({"id": ["b", "c"], "y": ["2", "0"]}).to_parquet(path),
    "y.npy": lambda path: np.save(path, np.array([0, -1, 2, -1])),
    "column.npy": lambda path: np.save(path, np.array([[0.0], [-1], [2], [-1]])),
    "y.npz": lambda path: np.savez(path, y=[0, -1, 2, -1]),
}


@pytest.mark.parametrize("name", LABEL_FILES)
def test_labels_of_every_format(tmp_path: Path, name: str) -> None:
    LABEL_FILES[name](tmp_path / name)
    paths = put(tmp_path / "e.csv", EDGES), put(tmp_path / "x.csv", FEATURES)
    graph = read_graph(paths[0], features=paths[1], labels=tmp_path / name)
    assert graph.y is not None
    assert graph.y.tolist() == [0, -1, 2, -1]


def test_nodes_without_features_are_those_of_edges_and_labels(tmp_path: Path) -> None:
    edges = put(tmp_path / "e.csv", "source,target\n10,9\n9,100\n")
    with pytest.warns(LocalGCLWarning, match="structural"):
        by_id = read_graph(edges, labels=put(tmp_path / "y.csv", "id,label\n7,3\n"))
    assert by_id.node_ids.tolist() == [7, 9, 10, 100]  # sorted as numbers
    assert by_id.y is not None
    assert by_id.y.tolist() == [3, -1, -1, -1]
    np.save(tmp_path / "y.npy", np.zeros(102, dtype=int))
    with pytest.warns(LocalGCLWarning, match="structural"):
        assert read_graph(edges, labels=tmp_path / "y.npy").num_nodes == 102  # one label a node: isolated nodes count


def test_tables_name_their_features_and_arrays_do_not(tmp_path: Path) -> None:
    edges = put(tmp_path / "e.csv", "source,target\n0,1\n")
    pd.DataFrame({"id": [0, 1], "g": [1, 2], " f": [3, 4]}).to_parquet(tmp_path / "x.parquet")
    pd.DataFrame(X, index=range(4)).to_csv(tmp_path / "counted.csv")
    np.save(tmp_path / "x.npy", X)
    files = {
        put(tmp_path / "x.csv", "id,g,\ufeffé \n0,1,2\n1,3,4\n"): ("g", "\ufeffé"),
        put(tmp_path / "x.tsv", 'id\tg\t"a, b"\n0\t1\t2\n1\t3\t4\n'): ("g", "a, b"),
        tmp_path / "x.parquet": ("g", " f"),
        tmp_path / "counted.csv": ("0", "1"),
        tmp_path / "x.npy": None,
    }
    for path, names in files.items():
        assert read_graph(edges, features=path).feature_names == names
    with pytest.warns(LocalGCLWarning, match="structural"):
        assert read_graph(edges).feature_names is None


@pytest.mark.parametrize("header", ["source,target,target", "Source,SOURCE,target", "source,target,other, Target "])
def test_an_end_of_an_edge_is_named_once(tmp_path: Path, header: str) -> None:
    cells = ",".join("0123"[: header.count(",") + 1])
    with pytest.raises(ValueError, match=r"e\.csv has several columns of one name: '(source|target)'; rename"):
        read_graph(put(tmp_path / "e.csv", f"{header}\n{cells}\n"))
    table = pa.table([[0]] * (header.count(",") + 1), names=header.split(","))
    pyarrow.parquet.write_table(table, tmp_path / "e.parquet")
    with pytest.raises(ValueError, match=r"e\.parquet has several columns of one name"):
        read_graph(tmp_path / "e.parquet")


def test_columns_that_are_not_read_may_repeat(tmp_path: Path) -> None:
    edges = put(tmp_path / "e.csv", "source,target,note,note\na,b,1,2\n")
    with pytest.warns(LocalGCLWarning, match="edge columns that are not used: 'note';"):
        assert read_graph(edges, features=put(tmp_path / "x.csv", FEATURES)).num_edges == 1


@pytest.mark.parametrize(
    ("file", "name"),
    [("people.csv", "people"), ("a.b.csv", "a"), ("..csv", "graph"), (".csv", "graph"), (". .csv", "graph"), (".x.csv", "x")],
)
def test_a_graph_is_named_after_its_file(tmp_path: Path, file: str, name: str) -> None:
    assert read_graph(put(tmp_path / file, EDGES), features=put(tmp_path / "features.csv", FEATURES)).name == name


ESCAPE = "\x1b]0;owned\x07\x1b[31m"


@pytest.mark.parametrize(
    ("edges", "features", "labels"),
    [
        (f"source,target\n{ESCAPE},b\n", FEATURES, None),
        (f"{ESCAPE},target\na,b\n", FEATURES, None),
        (EDGES, f"id,f\na,1\nb,{ESCAPE}\nc,3\n", None),
        (EDGES, f"id,f\na,1\nb,2\nc,3\n{ESCAPE},4\n{ESCAPE},4\n", None),
        (EDGES, f"id,{ESCAPE},{ESCAPE}\na,1,2\n", None),
        (EDGES, f"id,{ESCAPE}\na,\nb,\nc,\n", None),
        (EDGES, FEATURES, f"id,y\na,{ESCAPE}\nb,0\n"),
        (EDGES, FEATURES, f"id,y\n{ESCAPE},1\n"),
        (EDGES, f"{ESCAPE},0.5\na,1\n", None),
    ],
)
def test_errors_print_no_escape_codes_of_cells_and_file_names(
    tmp_path: Path, edges: str, features: str, labels: str | None
) -> None:
    folder = tmp_path / "\x1b[2Jfolder"
    folder.mkdir()
    with pytest.raises(ValueError, match="folder") as caught:
        read_graph(
            put(folder / "e.csv", edges),
            features=put(folder / "x.csv", features),
            labels=None if labels is None else put(folder / "y.csv", labels),
        )
    assert str(caught.value).isprintable()
    assert r"\x1b[2J" in str(caught.value)


# Ids


def test_numbers_match_their_text(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"source": [1, 20], "target": [20, 1]}), tmp_path / "e.parquet")
    graph = read_graph(tmp_path / "e.parquet", features=put(tmp_path / "x.csv", "id,f\n20,0\n1,1\nx,2\n"))
    assert graph.node_ids.tolist() == ["20", "1", "x"]
    assert edge_set(graph) == [("1", "20"), ("20", "1")]


@pytest.mark.parametrize(
    "names", [["007", "7"], ["18446744073709551616", "18446744073709551617"], ["1e3", "1000"], ["0x1F", "31"]]
)
def test_ids_that_a_number_would_not_hold_stay_text(tmp_path: Path, names: list[str]) -> None:
    first, second = names
    edges = put(tmp_path / "e.csv", f"source,target\n{first},{second}\n")
    graph = read_graph(edges, features=put(tmp_path / "x.csv", f"id,f\n{first},0\n{second},1\n"))
    assert graph.node_ids.tolist() == names
    assert edge_set(graph) == [(first, second)]


@settings(deadline=None, max_examples=30)
@given(
    names=st.lists(
        st.one_of(
            st.text(string.ascii_letters + 'é ",.-', min_size=1).filter(lambda s: s == s.strip()), st.integers().map(str)
        ),
        min_size=2,
        max_size=6,
        unique=True,
    ),
    picks=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=8),
)
def test_any_ids_survive(tmp_path_factory: pytest.TempPathFactory, names: list[str], picks: list[tuple[int, int]]) -> None:
    folder = tmp_path_factory.mktemp("ids")
    ends = [(names[a % len(names)], names[b % len(names)]) for a, b in picks]
    pd.DataFrame(ends, columns=["source", "target"]).to_csv(folder / "e.csv", index=False)
    pd.DataFrame({"id": names, "f": np.arange(len(names))}).to_csv(folder / "x.csv", index=False)
    graph = read_graph(folder / "e.csv", features=folder / "x.csv")
    assert [str(node) for node in graph.node_ids.tolist()] == names
    assert sorted((str(a), str(b)) for a, b in edge_set(graph)) == sorted(ends)


# Embeddings with labels


@pytest.mark.parametrize("extension", ["npy", "parquet", "csv", "tsv"])
@pytest.mark.parametrize("ids", [[2, 0, 3, 1], ["x", "y z", "7", "w,"]])
def test_embeddings_come_back_as_written(tmp_path: Path, extension: str, ids: list[Any]) -> None:
    z = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    write_embeddings(tmp_path / f"z.{extension}", z, ids)
    named = range(4) if extension == "npy" else ids  # NPY holds no ids
    pd.DataFrame({"id": named, "label": [3, 1, 0, 2]}).iloc[::-1].to_csv(tmp_path / "y.csv", index=False)
    read_z, y = read_labelled_embeddings(tmp_path / f"z.{extension}", tmp_path / "y.csv")
    np.testing.assert_array_equal(read_z, z)
    assert isinstance(y, Labels)
    assert y.numbers.tolist() == [3, 1, 0, 2]


def test_embeddings_without_a_label_are_unknown(tmp_path: Path) -> None:
    z = put(tmp_path / "z.csv", "id,e0\nb,1\na,2\nc,3\n")
    _, y = read_labelled_embeddings(z, put(tmp_path / "y.csv", "id,label\na,1\nc,-1\n"))
    assert isinstance(y, Labels)
    assert y.numbers.tolist() == [-1, 1, -1]
    np.save(tmp_path / "y.npy", np.array([3, 0, 1]))
    _, y = read_labelled_embeddings(z, tmp_path / "y.npy")
    assert isinstance(y, Labels)
    assert y.numbers.tolist() == [3, 0, 1]
    with pytest.raises(ValueError, match=r"y\.csv: labelled node 'q' \(and 1 more\) has no row in .*z\.csv"):
        read_labelled_embeddings(z, put(tmp_path / "y.csv", "id,label\na,1\nq,1\nr,0\n"))
    np.save(tmp_path / "y.npy", np.array([3, 0]))
    with pytest.raises(ValueError, match=r"y\.npy has 2 labels for 3 nodes"):
        read_labelled_embeddings(z, tmp_path / "y.npy")


def test_targets_are_chosen_among_columns_beside_a_pandas_range(tmp_path: Path) -> None:
    """pandas keeps only the limits of such an index, and it becomes a column once."""
    z = put(tmp_path / "z.csv", "id,e0\n0,1\n1,2\n2,3\n")
    frame = pd.DataFrame({"a": [1, 2, 3], "kind": ["u", "v", "u"]}, index=pd.RangeIndex(3, name="node"))
    frame.to_parquet(tmp_path / "y.parquet")
    labels = read_labelled_embeddings(z, tmp_path / "y.parquet", wanted=["kind"])[1]
    assert isinstance(labels, Labels)
    assert (labels.numbers.tolist(), labels.names) == ([0, 1, 0], ("u", "v"))
    np.save(tmp_path / "y.npy", np.array([3, 0, 1]))
    with pytest.raises(ValueError, match=r"y\.npy has no columns to name with target_columns \(--target-columns\)"):
        read_labelled_embeddings(z, tmp_path / "y.npy", wanted=["kind"])


# Refusals: name of the bad file, its content, the message

BAD_FEATURES: list[tuple[str, str | bytes, str]] = [
    ("x.csv", "id,f\na,1\nb,2\n", r"e\.csv: node 'c' has no row in .*x\.csv; add its row or drop its edges"),
    ("x.csv", "id,f\nb,2\nz,3\n", r"e\.csv: node 'a' has no row"),
    ("x.csv", "id,f\nz,2\n", r"e\.csv: node 'a' \(and 1 more\) has no row in .*x\.csv"),
    ("x.csv", "id,f\na,1\nb,2\nc,3\na,4\n", r"x\.csv: node 'a' has 2 rows; keep one row per node"),
    ("x.csv", "id,f\na,1\nb,nan\nc,3\n", r"x\.csv: node 'b' has a feature that is NaN or infinite"),
    ("x.csv", "id,f\na,1\nb,2\nc,-inf\n", r"node 'c' has a feature that is NaN or infinite"),
    ("x.csv", "id,f\na,1\nb,2\nc,1e99\n", r"node 'c' has a feature that is NaN or infinite"),
    ("x.csv", "id,f,colour\na,1,2\nb,2,red\n", r"x\.csv, line 3, column 'colour': invalid value 'red'; features are numbers"),
    ("x.csv", "id,f,g\na,1,2\nb,,3\nc,1,1\n", r"column 'f' is empty for node 'b'; fill it in or drop the row"),
    ("x.csv", "id,f\na,1\n,2\n", "the node id in data row 2 is empty"),
    ("x.csv", "id,f\na,1\nb,2,3\n", r"x\.csv, line 3: 3 cells where there should be 2"),
    ("x.csv", "id,f,g,f,g\na,1,2,3,4\n", r"x\.csv has several columns of one name: 'f', 'g'; rename or drop the repeats"),
    ("x.csv", "id,f,id\na,1,2\n", "several columns of one name: 'id'"),
    ("x.csv", "id,f\n", "has a header but no rows"),
    ("x.csv", "id\na\nb\n", "has only the column 'id'; give the id first, then the features"),
    ("x.csv", "7,0.5,1\n8,1,2\n", r"the first row \('7', '0.5', '1'\) looks like data; add a header line"),
    ("x.csv", "a,0,0,1\nb,1,2,0\n", "looks like data"),
    (
        "x.parquet",
        parquet(id=["a", "b", "c"], colour=["x", "y", "z"]),
        r"column 'colour' is of type string; features are numbers",
    ),
    (
        "x.parquet",
        parquet(id=["a", "b", "c"], f=["x", "y", "z"], g=[1, 2, 3], h=[[0], [1], [2]]),
        "2 columns are no numbers: 'f', 'h'; encode .*--encode auto",
    ),
    ("x.parquet", parquet(id=["a", "b", "c"], f=[1, None, 2]), "column 'f' is empty for node 'b'"),
    ("x.parquet", parquet(id=["a", "b", "c"], f=[None, None, None]), "column 'f' is empty for node 'a'"),
    ("x.parquet", parquet(id=["a", "b", "c"], f=[1, np.inf, 2]), "node 'b' has a feature that is NaN or infinite"),
    ("x.parquet", parquet(f=[0.5, 0.25], g=[0.5, 0.25]), "id column 'f': node id 0.5 is no integer; use integers or text"),
    ("x.parquet", parquet(v=[[0.5], [0.25]], g=[0.5, 0.25]), "node ids are of type list"),
    ("x.parquet", parquet(id=[], f=[]), "has no rows"),
    ("x.npy", saved(np.save, X), r"e\.csv: node 'a' \(and 1 more\) has no row in .*x\.npy, whose 4 rows are the nodes 0 to 3"),
    ("x.npy", saved(np.save, np.array(["a"])), "features are numbers"),
    ("x.npy", saved(np.save, np.zeros((3, 0))), r"shape \(3, 0\)"),
    ("x.npz", saved(np.savez, features=X), "has the arrays 'features'; it needs x"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_FEATURES)
def test_bad_features_are_refused_in_one_line(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read_graph(put(tmp_path / "e.csv", EDGES), features=put(tmp_path / name, content))
    assert name in str(caught.value) or "'a'" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_features_by_position_that_are_not_finite_name_the_node(tmp_path: Path, make: Any) -> None:
    x = np.array([[1.0, 0.0], [0.0, 2.0], [np.nan, 0.0]])
    path = tmp_path / "x.npz"
    if make is np.array:
        np.savez(path, x=x)
    else:
        sp.save_npz(path, make(x))
    with pytest.raises(ValueError, match=r"x\.npz: node 2 has a feature that is NaN or infinite"):
        read_graph(put(tmp_path / "e.csv", "0,1\n"), features=path)


BAD_LABELS: list[tuple[str, str | bytes, str]] = [
    ("y.csv", "id,label\na,0\nzoe,1\n", r"y\.csv: labelled node 'zoe' has no row in .*x\.csv; add its row or drop its label"),
    ("y.csv", "id,label\na,0\na,1\n", r"y\.csv: node 'a' has 2 rows"),
    (
        "y.csv",
        "id,label\na,0\nb,1.5\n",
        r"y\.csv: the label of node 'b' is '1.5', not a class number; number the classes 0, 1, 2",
    ),
    ("y.csv", "id,label\na,0\nb,cat\n", "the label of node 'b' is 'cat', not a class number"),
    ("y.csv", "id,label\na,-2\n", "the label of node 'a' is '-2'"),
    ("y.csv", "id,label\n,0\n", "the node id in data row 1 is empty"),
    ("y.csv", "id,id\na,0\n", "several columns of one name: 'id'"),
    ("y.csv", "id,label\n", "has a header but no rows"),
    ("y.csv", "id,label,more\na,1,2\n", "has the columns 'id', 'label', 'more'; labels need two"),
    ("y.csv", "id,label\na,1e30\n", "the label of node 'a' is '1e30'"),
    ("y.csv", "5,3\n6,1\n", "looks like data"),
    ("y.csv", "a,0\nb,1\n", r"the first row \('a', '0'\) looks like data"),
    ("y.parquet", parquet(id=["a", "b"], y=[0.5, 1.0]), "the label of node 'a' is 0.5"),
    ("y.npy", saved(np.save, np.array([0, 1])), "has 2 labels for 4 nodes; give one per node"),
    ("y.npy", saved(np.save, np.eye(4)), r"shape \(4, 4\); labels need shape \(n,\)"),
    ("y.npz", saved(np.savez, z=[1]), "has the arrays 'z'; it needs y"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_LABELS)
def test_bad_labels_are_refused_in_one_line(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    paths = put(tmp_path / "e.csv", EDGES), put(tmp_path / "x.csv", FEATURES)
    with pytest.raises(ValueError, match=message) as caught:
        read_graph(paths[0], features=paths[1], labels=put(tmp_path / name, content))
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv does not exist; check the path"):
        read_graph(tmp_path / "nowhere.csv")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npy does not exist"):
        read_graph(put(tmp_path / "e.csv", EDGES), features=tmp_path / "nowhere.npy")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match=r"folder\.csv is a folder"):
        read_graph(tmp_path / "folder.csv")


def test_bad_embeddings_are_refused(tmp_path: Path) -> None:
    labels = put(tmp_path / "y.csv", "id,label\na,1\n")
    with pytest.raises(ValueError, match=r"z\.csv: node 'a' has 2 rows"):
        read_labelled_embeddings(put(tmp_path / "z.csv", "id,e0\na,1\na,2\n"), labels)
    np.save(tmp_path / "z.npy", np.array([[1.0], [np.nan]]))
    with pytest.raises(ValueError, match=r"z\.npy: node 1 has a feature that is NaN"):
        read_labelled_embeddings(tmp_path / "z.npy", labels)
    sp.save_npz(tmp_path / "z.npz", sp.csr_array(X))
    with pytest.raises(ValueError, match="one dense row per node"):
        read_labelled_embeddings(tmp_path / "z.npz", labels)
