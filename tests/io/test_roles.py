"""Tables whose columns have other names than source, target and id."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from localgcl import Graph, as_graph, read_graph
from localgcl.io.folder.convert import convert
from localgcl.io.roles import Columns
from tests.io.helpers import edge_set, parquet, put, saved

NAMES = {"source": "payer", "target": "payee", "id": "customer_id"}
COLUMNS = Columns("payer", "payee", "customer_id")
EDGES = "amount,payee,payer\n1,b,a\n1,c,b\n"
FEATURES = "age,customer_id,income\n1,a,10\n2,b,20\n3,c,30\n"
LABELS = "label,customer_id\n1,b\n0,c\n"

pytestmark = pytest.mark.filterwarnings("ignore:.*edge columns that are not used:localgcl.LocalGCLWarning")


def files(folder: Path) -> dict[str, Any]:
    return {
        "edges": put(folder / "e.csv", EDGES),
        "features": put(folder / "x.csv", FEATURES),
        "labels": put(folder / "y.csv", LABELS),
    }


def check(graph: Graph, edges: list[tuple[str, str]]) -> None:
    assert edge_set(graph) == edges
    assert graph.node_ids.tolist() == ["a", "b", "c"]
    assert graph.feature_names == ("age", "income")
    np.testing.assert_array_equal(graph.x, [[1, 10], [2, 20], [3, 30]])
    assert graph.y is not None
    assert graph.y.tolist() == [-1, 1, 0]


def test_read_graph_takes_the_names_in_any_case(tmp_path: Path) -> None:
    given = files(tmp_path)
    check(read_graph(**given, **NAMES), [("a", "b"), ("b", "c")])
    check(read_graph(**given, **{role: f" {name.upper()}" for role, name in NAMES.items()}), [("a", "b"), ("b", "c")])


def test_convert_takes_them_and_a_folder_of_other_names_is_another(tmp_path: Path) -> None:
    given, out = files(tmp_path), tmp_path / "graph"
    convert(out=out, columns=COLUMNS, **given)
    check(Graph.open(out), [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")])
    with pytest.raises(ValueError, match="graph of other files or options"):
        convert(out=out, columns=Columns("payee", "payer", "customer_id"), **given)


def test_parquet_and_npz(tmp_path: Path) -> None:
    edges = put(tmp_path / "e.parquet", parquet(payee=["b", "c"], payer=["a", "b"]))
    features = put(tmp_path / "x.parquet", parquet(age=[1, 2, 3], customer_id=["a", "b", "c"]))
    graph = read_graph(edges, features=features, **NAMES)
    assert edge_set(graph) == [("a", "b"), ("b", "c")]
    assert graph.feature_names == ("age",)
    convert(edges, tmp_path / "graph", features=features, columns=COLUMNS)
    assert Graph.open(tmp_path / "graph").feature_names == ("age",)
    arrays = put(tmp_path / "e.npz", saved(np.savez, payer=[0, 1], payee=[1, 2], source=[5, 5]))
    x = put(tmp_path / "x.npy", saved(np.save, np.eye(3)))
    assert edge_set(read_graph(arrays, features=x, source="payer", target="payee")) == [(0, 1), (1, 2)]


def test_frames(tmp_path: Path) -> None:
    edges, x, y = (pd.read_csv(path) for path in files(tmp_path).values())
    check(as_graph(edges, x, y, **NAMES), [("a", "b"), ("b", "c")])
    with pytest.raises(ValueError, match="are for columns of tables, and the edges are in none"):
        as_graph(([[0], [1]], np.eye(2)), source="payer")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {"source": "payer"},
            r"e\.csv has the columns 'amount', 'payee', 'payer'; edges need the columns 'payer' and 'target': name others "
            r"with source= and target= \(--source, --target\)",
        ),
        ({**NAMES, "id": "kunde"}, r"x\.csv has the columns 'age', 'customer_id', 'income', and no 'kunde'; .* id= \(--id\)"),
        ({**NAMES, "target": "Payer"}, "source and target are both the column 'payer'"),
    ],
)
def test_a_missing_column_is_named_with_those_there_are(tmp_path: Path, names: dict[str, str], message: str) -> None:
    given = files(tmp_path)
    with pytest.raises(ValueError, match=message) as caught:
        read_graph(**given, **names)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=message):
        convert(out=tmp_path / "graph", columns=Columns(names.get("source"), names.get("target"), names.get("id")), **given)


def test_names_are_refused_where_nothing_has_names(tmp_path: Path) -> None:
    edges = put(tmp_path / "e.npy", saved(np.save, np.array([[0, 1]])))
    with pytest.raises(ValueError, match=r"e\.npy has no columns to name"):
        read_graph(edges, source="payer")


def test_two_bare_integers_are_no_header_unless_columns_are_named(tmp_path: Path) -> None:
    edges = put(tmp_path / "e.csv", "0,1\n1,2\n")
    with pytest.raises(ValueError, match="has the columns '0', '1'; edges need the columns 'payer' and 'target'"):
        read_graph(edges, source="payer")
    assert edge_set(read_graph(edges, features=put(tmp_path / "x.csv", "id,f\n0,1\n1,1\n2,1\n"), source="0", target="1")) == [
        (1, 2)
    ]


def test_errors_of_cells_name_the_column_of_the_file(tmp_path: Path) -> None:
    given = files(tmp_path) | {"features": put(tmp_path / "x.csv", "age,customer_id,income\n1,a,much\n")}
    with pytest.raises(ValueError, match="column 'income'"):
        read_graph(**given, **NAMES)
    with pytest.raises(ValueError, match="'income'"):
        convert(out=tmp_path / "graph", columns=COLUMNS, **given)
