"""Files of every format: what they decode to, and what is refused."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

from localgcl.graph import Graph
from localgcl.io.columns import features_of
from localgcl.io.files import read_graph
from localgcl.io.folder.convert import convert
from localgcl.io.formats import edge_table, id_table, kind_of, read_arrays
from localgcl.io.roles import Columns
from tests.io.helpers import parquet, put, saved

EDGES = "source,target\na,b\nb,c\n"


def edges(path: Path) -> dict[str, list[Any]]:
    table: dict[str, list[Any]] = edge_table(path, kind_of(path)).to_pydict()
    return table


def features(path: Path, value_type: Any = None) -> dict[str, list[Any]]:
    table: dict[str, list[Any]] = id_table(path, kind_of(path), value_type or pa.float32()).to_pydict()
    return table


# Which format


@pytest.mark.parametrize("name", ["a.csv", "a.TSV", "a.csv.gz", "A.Tsv.GZ", "a.b.parquet", "a.npy", "a.npz"])
def test_the_extension_names_the_format_in_any_case(tmp_path: Path, name: str) -> None:
    kind = kind_of(put(tmp_path / name, "x"))
    assert name.lower().endswith(kind)
    assert (kind.count(".") == 2) == ("gz" in name.lower())


# Headers


def test_edge_columns_keep_their_names_and_their_text(tmp_path: Path) -> None:
    path = put(tmp_path / "e.csv", "Weight, Target ,SOURCE\n1.0,007,a\n2, 8 ,b\n")
    assert edges(path) == {"Weight": ["1.0", "2"], "Target": ["007", "8"], "SOURCE": ["a", "b"]}


@pytest.mark.parametrize("text", ["1,2\n-3,4\n", "\ufeff1,2\n-3,4\n", "source,target\r\n1,2\r\n-3,4"])
def test_two_columns_of_integers_need_no_header(tmp_path: Path, text: str) -> None:
    assert edges(put(tmp_path / "e.csv", text)) == {"source": ["1", "-3"], "target": ["2", "4"]}


@pytest.mark.parametrize("text", ["a,b\nc,d\n", "1.5,2\n3,4\n", "1,2,3\n4,5,6\n", "1\n2\n"])
def test_anything_else_needs_one(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"edges need the columns 'source' and 'target': name others .*, rename them, or add"):
        edges(put(tmp_path / "e.csv", text))


@pytest.mark.parametrize("header", ["id,f", ",0", "id,0,1", ",0,1,2", "name,1,2", "user,0,1,2", "id,0.5x"])
def test_a_header_is_told_from_data(tmp_path: Path, header: str) -> None:
    row = ",".join(["a", *["1"] * header.count(",")])
    (first, *_), *rest = features(put(tmp_path / "x.csv", f"{header}\n{row}\n")).values()
    assert first == "a"
    assert rest == [[1.0]] * header.count(",")


@pytest.mark.parametrize("row", ["7,0.5,1", "a,0", "a,0,1", "a,0,0,1", "0,0,1,2", "ann,5", "7,1e3"])
def test_a_first_row_of_data_is_not_taken_for_a_header(tmp_path: Path, row: str) -> None:
    with pytest.raises(ValueError, match="looks like data; add a header line"):
        features(put(tmp_path / "x.csv", f"{row}\n{row}\n"))


def test_a_header_may_repeat_a_name(tmp_path: Path) -> None:
    path = put(tmp_path / "x.csv", "id,f,f\na,1,2\n")
    table = id_table(path, ".csv", pa.float32())
    assert table.column_names == ["id", "f", "f"]
    assert [column.to_pylist() for column in table.columns] == [["a"], [1.0], [2.0]]


# Cells


def test_gzipped_files_and_tabs_read_like_plain_ones(tmp_path: Path) -> None:
    text = "id,f\n007,1.5\nb c,-2e1\n"
    expected = {"id": ["007", "b c"], "f": [1.5, -20.0]}
    tabs = text.replace(",", "\t")
    for name, content in (("x.csv", text), ("x.tsv", tabs)):
        assert features(put(tmp_path / name, content)) == expected
        assert features(put(tmp_path / f"{name}.gz", gzip.compress(content.encode()))) == expected


def test_quotes_keep_commas_and_spaces_around_cells_are_dropped(tmp_path: Path) -> None:
    path = put(tmp_path / "y.csv", 'id,label\n"a, b", 1 \n c ,2\n')
    assert features(path, pa.string()) == {"id": ["a, b", "c"], "label": ["1", "2"]}


def test_an_empty_cell_stays_empty_and_words_for_nothing_stay_words(tmp_path: Path) -> None:
    path = put(tmp_path / "y.csv", "id,label\nnull,\nNA,nan\n")
    assert features(path, pa.string()) == {"id": ["null", "NA"], "label": ["", "nan"]}
    assert features(put(tmp_path / "x.csv", "id,f\na,\nb,1\n")) == {"id": ["a", "b"], "f": [None, 1.0]}


@pytest.mark.parametrize("short", ["b", "b,1,2"])
def test_a_ragged_row_is_named_by_its_line_however_long_the_file(tmp_path: Path, short: str) -> None:
    """pyarrow reads blocks in parallel and then counts no lines; the second reading, which does, must be the one reported."""
    rows = [f"n{i},{i}" for i in range(2000)]
    rows[1500] = short
    cells = short.count(",") + 1
    with pytest.raises(ValueError, match=rf"x\.csv, line 1502: {cells} cells where there should be 2"):
        features(put(tmp_path / "x.csv", "\n".join(["id,f", *rows])))


def test_a_bad_cell_is_named_by_line_and_column(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"x\.csv, line 3, column 'g': invalid value 'red'; features are numbers"):
        features(put(tmp_path / "x.csv", "id,f,g\na,1,2\nb,2,red\n"))


# Parquet


@pytest.mark.parametrize(
    ("index", "ids"),
    [
        (None, ["p", "q"]),
        ([9, 8], ["p", "q"]),
        (pd.Index(["a", "b"]), ["a", "b"]),
        (pd.Index([9, 8], name="node"), [9, 8]),
        (pd.RangeIndex(2, name="node"), [0, 1]),
        (pd.RangeIndex(4, 0, -2, name="node"), [4, 2]),
    ],
    ids=["no index", "integers", "text", "named integers", "named range", "range backwards"],
)
def test_ids_are_in_the_pandas_index_where_it_is_named_or_text(tmp_path: Path, index: Any, ids: list[Any]) -> None:
    frame = pd.DataFrame({"f": [1.0, 2.0]}, index=index)
    if ids == ["p", "q"]:
        frame.insert(0, "id", ids)
    frame.to_parquet(tmp_path / "x.parquet")
    rows = features_of(id_table(tmp_path / "x.parquet", ".parquet", pa.float32()), "x.parquet")
    assert rows.ids is not None
    assert rows.ids.to_pylist() == ids
    assert rows.values.tolist() == [[1.0], [2.0]]


# Arrays


def test_arrays_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=[1], y=[2], z=[3])
    assert {name: array.tolist() for name, array in read_arrays(tmp_path / "a.npz", ".npz", ("y", "x", "w")).items()} == {
        "x": [1],
        "y": [2],
    }
    np.save(tmp_path / "a.npy", np.array([4]))
    assert read_arrays(tmp_path / "a.npy", ".npy", ("x", "y"))["x"].tolist() == [4]
    sp.save_npz(tmp_path / "s.npz", sp.coo_array(np.eye(2)))
    np.testing.assert_array_equal(read_arrays(tmp_path / "s.npz", ".npz", ("x",))["x"].toarray(), np.eye(2))


@pytest.mark.parametrize("order", ["<", ">"])
def test_arrays_of_either_byte_order_are_read_alike(tmp_path: Path, order: str) -> None:
    np.save(tmp_path / "e.npy", np.array([[0, 1], [1, 2]], dtype=f"{order}i8"))
    np.save(tmp_path / "x.npy", np.array([[1.5], [2], [3]], dtype=f"{order}f8"))
    np.save(tmp_path / "y.npy", np.array([2, 0, 1], dtype=f"{order}i4"))
    graph = read_graph(tmp_path / "e.npy", features=tmp_path / "x.npy", labels=tmp_path / "y.npy")
    assert graph.indices.tolist() == [1, 2]
    assert graph.x.tolist() == [[1.5], [2], [3]]
    assert graph.y is not None
    assert graph.y.tolist() == [2, 0, 1]


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match=r"a\.npz cannot be read.*values of type '\|O'; save numbers or text"):
        read_arrays(tmp_path / "a.npz", ".npz", ("x",))


# Refusals: name of the bad file, its content, the message

PARQUET_BYTES = parquet(source=["a"] * 99, target=["b"] * 99)
NPY_BYTES = saved(np.save, np.arange(200).reshape(100, 2))
NPZ_BYTES = saved(np.savez_compressed, source=np.arange(500), target=np.arange(500))
GZIP_BYTES = gzip.compress("".join(["source,target\n", *(f"n{i * i % 977},n{i}\n" for i in range(5000))]).encode())

BAD_EDGES: list[tuple[str, str | bytes, str]] = [
    ("e.txt", EDGES, r"extension '\.txt'; known are \.csv, \.tsv"),
    ("e.csv", "", "e.csv is empty"),
    ("e.csv", "\n", "starts with an empty line"),
    ("e.csv", "source,target\n", "has a header but no rows"),
    ("e.csv", "from,to\na,b\n", "has the columns 'from', 'to'; edges need the columns 'source' and 'target'"),
    ("e.csv", "source|target\na|b\n", "has the columns 'source[|]target'"),
    ("e.csv", "1,2,3\n4,5,6\n", "has the columns '1', '2', '3'"),
    ("e.csv", "source,target\na,b\nb\n", r"e\.csv, line 3: 1 cells where there should be 2; mend or drop the line"),
    ("e.csv", "source,target\na,b,c\n", r"e\.csv, line 2: 3 cells where there should be 2"),
    ("e.csv", "source,target\na,b\n,c\n", r"e\.csv, source: the node id in data row 2 is empty"),
    ("e.csv", b"source,target\na,b\nb,\xff\xfe\n", "line 3, column 'target': invalid UTF8 data; save the file as UTF-8"),
    ("e.csv", b"\xff\xfe\x00\x01", "cannot be read"),
    ("e.csv", 'source,target\n"a,b\nb,c\n', "line 2: 1 cells"),
    ("e.csv.gz", EDGES, "cannot be read, it may be truncated or of another format"),
    ("e.csv.gz", GZIP_BYTES[: len(GZIP_BYTES) // 2], "cannot be read, it may be truncated.*write it again"),
    ("e.csv.gz", GZIP_BYTES[:-4], "cannot be read, it may be truncated"),
    ("e.csv.gz", GZIP_BYTES[:500] + bytes(99) + GZIP_BYTES[599:], "cannot be read"),
    ("e.parquet", EDGES, "cannot be read, it may be truncated"),
    ("e.parquet", PARQUET_BYTES[:-20], "cannot be read, it may be truncated"),
    ("e.parquet", PARQUET_BYTES[:10] + bytes(60) + PARQUET_BYTES[70:], "cannot be read"),
    ("e.npy", EDGES, "cannot be read"),
    ("e.npy", NPY_BYTES[:300], "cannot be read"),
    ("e.npy", NPY_BYTES[:20], "cannot be read"),
    ("e.npy", saved(np.save, np.array([{}, []], dtype=object)), "cannot be read.*values of type '.O'"),
    ("e.npy", NPZ_BYTES, r"is an NPZ archive; rename it"),
    ("e.npy", saved(np.save, np.zeros((3, 3), dtype=int)), r"shape \(3, 3\); edges need shape \(m, 2\) or \(2, m\)"),
    ("e.npy", saved(np.save, np.zeros((0, 2), dtype=int)), "0 sources and 0 targets"),
    ("e.npy", saved(np.save, np.array([[0.5, 1.0]])), "node id 0.5 is no integer"),
    ("e.npz", EDGES, "cannot be read"),
    ("e.npz", NPZ_BYTES[: len(NPZ_BYTES) // 2], "cannot be read"),
    ("e.npz", NPZ_BYTES[:100] + bytes(50) + NPZ_BYTES[150:], "cannot be read"),
    ("e.npz", saved(np.savez, a=[1]), "has the arrays 'a'; it needs edge_index or source or target"),
    ("e.npz", saved(np.savez, source=[1]), "has no array 'target'"),
    ("e.npz", saved(np.savez, source=[1, 2], target=[1]), "2 sources and 1 targets"),
    ("e.npz", saved(np.savez, source=np.array(1), target=[2, 3]), "1 sources and 2 targets"),
    ("e.npz", saved(np.savez, edge_index=np.array(7)), r"shape \(\); edges need shape"),
    ("e.npy", NPY_BYTES[:60], "cannot be read"),
    ("e.npz", saved(sp.save_npz, sp.csr_array(np.ones((2, 3)))), r"shape \(2, 3\); an adjacency matrix must be square"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_EDGES)
def test_bad_edges_are_refused_in_one_line(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read_graph(put(tmp_path / name, content))
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


# Semicolons


@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz"])
def test_a_header_without_commas_may_have_semicolons(tmp_path: Path, name: str) -> None:
    rows = EDGES.replace(",", ";")
    content = gzip.compress(rows.encode()) if name.endswith("gz") else "\ufeff" + rows
    assert edges(put(tmp_path / name, content)) == {"source": ["a", "b"], "target": ["b", "c"]}
    x = put(tmp_path / "x.csv", 'id;"a, b";c\na;"1,5";0,5\nb;2;1\nc;;"1"\n')
    table = put(tmp_path / "y.csv", 'id,"a; b"\na,1\nb,2\n')
    assert features(table) == {"id": ["a", "b"], "a; b": [1, 2]}
    with pytest.warns(match=r"'a, b' \(number like 1.234,5\), 'c' \(number like 1.234,5\)"):
        graph = read_graph(tmp_path / name, features=x, encode="auto")
    assert graph.x.tolist() == [[1.5, 0, 0.5], [2, 0, 1], [1.75, 1, 1]]


def test_semicolons_in_convert(tmp_path: Path) -> None:
    put(tmp_path / "e.csv", EDGES.replace(",", ";"))
    put(tmp_path / "x.csv", "f;id\n1;a\n2;b\n3;c\n")
    convert(tmp_path / "e.csv", tmp_path / "graph", features=tmp_path / "x.csv", columns=Columns(id="id"))
    assert np.asarray(Graph.open(tmp_path / "graph").x).tolist() == [[1], [2], [3]]
