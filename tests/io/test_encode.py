"""Tables of mixed columns: how each kind becomes numbers, fitted once and applied to other files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import localgcl as lg
from localgcl.io.encode import KEPT, Encoding, fit_encoding
from localgcl.io.folder import rows as reading
from localgcl.io.folder.convert import convert
from localgcl.io.roles import Columns
from tests.io.helpers import parquet, put

EDGES = "source,target\na,b\nb,c\n"
MIXED = "id,age,vip,since,city\na,1,True,2020-01-01,Rome\nb,,false,2020-01-02 12:00,Oslo\nc,3,,,Rome\n"


def fitted(**columns: Any) -> tuple[Encoding, Any]:
    table = pa.table(columns)
    encoding = fit_encoding(table, "x")
    return encoding, dict(zip(encoding.names, encoding.apply(table, "x").T.tolist(), strict=True))


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (["1", "", "4", "2"], {"c": [1, 2, 4, 2], "c=(missing)": [0, 1, 0, 0]}),
        (pa.array([1, None, 4, 2]), {"c": [1, 2, 4, 2], "c=(missing)": [0, 1, 0, 0]}),
        ([1.0, float("nan"), 4.0, 2.0], {"c": [1, 2, 4, 2], "c=(missing)": [0, 1, 0, 0]}),
        (["true", "False"], {"c": [1, 0]}),
        (pa.array([True, False, None, False]), {"c": [1, 0, 0, 0], "c=(missing)": [0, 0, 1, 0]}),
        (["1970-01-02", "1970-01-03T12:00:00"], {"c": [1, 2.5]}),
        (["1970-01-02T00:00:00Z", "1970-01-02T01:00:00+01:00"], {"c": [1, 1]}),
        (pa.array([86_400, 0], pa.timestamp("s", "UTC")), {"c": [1, 0]}),
        (pa.array([2, None, 4], pa.date32()), {"c": [2, 3, 4], "c=(missing)": [0, 1, 0]}),
        (["v", "u", "v", "NA"], {"c=v": [1, 0, 1, 0], "c=u": [0, 1, 0, 0], "c=(missing)": [0, 0, 0, 1]}),
        (pa.array(["v", "u", "v"]).dictionary_encode(), {"c=v": [1, 0, 1], "c=u": [0, 1, 0]}),
        (pa.array([2**63 + 2**62, 0], pa.uint64()), {"c": [float(np.float32(2**63 + 2**62)), 0]}),
    ],
)
def test_columns_by_kind(column: Any, expected: dict[str, list[float]]) -> None:
    encoding, found = fitted(c=column)
    assert found == expected
    assert Encoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding


def test_rare_categories_share_a_feature() -> None:
    texts = [f"v{i}" for i in range(KEPT + 5) for _ in range(40 - i)]
    encoding, found = fitted(c=texts)
    assert len(found) == KEPT + 1
    assert list(found)[:2] == ["c=v0", "c=v1"]
    assert sum(found["c=(other)"]) == sum(40 - i for i in range(KEPT, KEPT + 5))
    other = encoding.apply(pa.table({"c": ["new", "v0"]}), "x")
    assert other[0].tolist() == [0] * KEPT + [1]
    small, _ = fitted(c=["u", "u", "v"])
    assert small.apply(pa.table({"c": ["new"]}), "x").tolist() == [[0, 0]]  # a feature that training never saw would be noise


def test_what_cannot_be_encoded_is_refused_all_at_once() -> None:
    words = [f"word {i}" for i in range(100)]
    table = pa.table({"n": [1, 2] * 50, "note": words, "email": words, "none": pa.nulls(100), "list": [[1]] * 100})
    with pytest.raises(ValueError, match="columns that cannot be encoded") as caught:
        fit_encoding(table, "x.csv")
    message = str(caught.value)
    assert "'note' (text, 100 distinct), 'email' (text, 100 distinct), 'none' (empty), 'list' (of type list" in message
    assert "(--drop note,email,none,list), or encode them yourself" in message
    assert fit_encoding(table, "x", drop=("note", "email", "none", "list")).names == ("n",)


def test_other_files_are_encoded_alike(tmp_path: Path) -> None:
    edges, x = put(tmp_path / "e.csv", EDGES), put(tmp_path / "x.csv", MIXED)
    graph = lg.read_graph(edges, features=x, encode="auto")
    names = ("age", "age=(missing)", "vip", "vip=(missing)", "since", "since=(missing)", "city=Rome", "city=Oslo")
    assert graph.feature_names == names
    assert graph.encoding is not None
    shuffled = put(tmp_path / "z.csv", "city,since,id,age,vip\nParis,2020-01-05,a,7,\nOslo,,b,,\nRome,,c,,\n")
    again = lg.read_graph(edges, features=shuffled, id="id", encode=graph.encoding)
    assert again.feature_names == names
    assert again.x[0].tolist() == [7, 0, 0.5, 1, 18266, 0, 0, 0]
    with pytest.raises(ValueError, match=r"lacks 2 of the 4 columns .*: 'age', 'city'; add them"):
        lg.read_graph(edges, features=put(tmp_path / "w.csv", "id,vip,since\na,,\nb,,\nc,,\n"), encode=graph.encoding)
    wrong = put(tmp_path / "w.csv", "id,age,vip,since,city\na,old,,soon,\n")
    with pytest.raises(ValueError, match=r"other cells .*: 'age' \(number\), 'since' \(date\)"):
        lg.read_graph(edges, features=wrong, encode=graph.encoding)
    more = put(tmp_path / "w.csv", MIXED.replace("city", "city,more").replace("Rome", "Rome,1").replace("Oslo", "Oslo,1"))
    with pytest.warns(lg.LocalGCLWarning, match="not fitted to are ignored: 'more'"):
        lg.read_graph(edges, features=more, encode=graph.encoding)


@pytest.mark.parametrize("rows", [1, 1 << 20])
def test_convert_encodes_as_read_graph_does(tmp_path: Path, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_FITTED", rows)
    edges, x = put(tmp_path / "e.csv", EDGES), put(tmp_path / "x.csv", MIXED)
    convert(edges, tmp_path / "graph", features=x, columns=Columns(encode="auto"))
    read, opened = lg.read_graph(edges, features=x, encode="auto"), lg.Graph.open(tmp_path / "graph")
    np.testing.assert_array_equal(opened.x, read.x)
    assert (opened.feature_names, opened.encoding) == (read.feature_names, json.loads(json.dumps(read.encoding)))
    with pytest.raises(ValueError, match="graph of other files or options"):
        convert(edges, tmp_path / "graph", features=x)
    with pytest.raises(ValueError, match=r"bare\.csv has no column of features left"):
        convert(edges, tmp_path / "no", features=put(tmp_path / "bare.csv", "id\na\nb\n"), columns=Columns(encode="auto"))


def test_without_it_all_columns_are_listed_at_once(tmp_path: Path) -> None:
    edges = put(tmp_path / "e.csv", EDGES)
    table = pd.DataFrame({"id": ["a", "b", "c"], "n": [1, 2, 3], "m": [1, None, 3], "t": ["u", "v", "w"], "s": ["1", "2", "x"]})
    table.to_csv(tmp_path / "x.csv", index=False)
    table.to_parquet(tmp_path / "x.parquet")
    for name in ("x.csv", "x.parquet"):
        message = f"{name}: 2 columns are no numbers: 't', 's', and 1 columns have empty cells: 'm'; encode .*--encode auto"
        with pytest.raises(ValueError, match=message):
            lg.read_graph(edges, features=tmp_path / name)


def test_columns_can_be_left_out(tmp_path: Path) -> None:
    edges, x = put(tmp_path / "e.csv", EDGES), put(tmp_path / "x.csv", "id,note,f\na,one,1\nb,two,2\nc,,3\n")
    graph = lg.read_graph(edges, features=x, drop=["note"])
    convert(edges, tmp_path / "graph", features=x, columns=Columns(drop=("note",)))
    for found in (graph, lg.Graph.open(tmp_path / "graph")):
        assert found.feature_names == ("f",)
        np.testing.assert_array_equal(found.x, [[1], [2], [3]])
    with pytest.raises(ValueError, match=r"x\.csv has no columns 'nite' to leave out"):
        lg.read_graph(edges, features=x, drop=["nite"])
    np.save(tmp_path / "x.npy", np.eye(3))
    with pytest.raises(ValueError, match="drop and encode are for columns of features"):
        lg.read_graph(edges, drop=["f"])
    with pytest.raises(ValueError, match="no columns to encode or drop"):
        lg.read_graph(edges, features=tmp_path / "x.npy", encode="auto")


def test_what_encode_may_be(tmp_path: Path) -> None:
    edges = put(tmp_path / "e.csv", EDGES)
    x = put(tmp_path / "x.parquet", parquet(id=["a", "b", "c"], f=[1, 2, 3]))
    with pytest.raises(FileNotFoundError, match="'all', which is no file; give 'auto'"):
        lg.read_graph(edges, features=x, encode="all")
    with pytest.raises(ValueError, match=r"encoding\.json is damaged"):
        lg.read_graph(edges, features=x, encode=put(tmp_path / "encoding.json", "{}"))
    with pytest.raises(ValueError, match="encode is of type int"):
        lg.read_graph(edges, features=x, encode=3)
