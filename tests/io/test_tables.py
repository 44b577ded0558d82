"""Tables in memory, read by as_graph: pandas frames, and every object that exports an Arrow C stream."""

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch

from localgcl import LocalGCLWarning, as_graph
from localgcl.io.tables import as_table
from tests.io.helpers import edge_set

X = np.arange(8, dtype=np.float32).reshape(4, 2)
EDGES = pd.DataFrame({"weight": 1, "target": ["b", "c"], "source": ["a", "b"]})
FEATURES = pd.DataFrame({"id": ["c", "a", "b", "e"], "f": X[:, 0], "g": X[:, 1]})


@pytest.mark.parametrize(
    ("features", "labels"),
    [
        (FEATURES, pd.DataFrame({"id": ["a", "b"], "label": [1, 0]})),
        (FEATURES.set_index("id"), pd.Series([1, 0], index=["a", "b"])),
        (pd.DataFrame(X, index=["c", "a", "b", "e"]), pd.DataFrame({"label": [1, 0]}, index=["a", "b"])),
        (FEATURES, pd.Series([-1, 1, 0, -1])),
        (pa.Table.from_pandas(FEATURES, preserve_index=False), pa.table({"id": ["a", "b"], "label": [1, 0]})),
        (FEATURES, [-1, 1, 0, -1]),
    ],
    ids=["columns", "index", "unnamed index", "counted series", "pyarrow", "list"],
)
@pytest.mark.parametrize("edges", [EDGES, pa.Table.from_pandas(EDGES)], ids=["pandas", "pyarrow"])
def test_tables(edges: Any, features: Any, labels: Any) -> None:
    graph = as_graph(edges, x=features, y=labels, name="tables")
    assert graph.node_ids.tolist() == ["c", "a", "b", "e"]
    assert edge_set(graph) == [("a", "b"), ("b", "c")]
    np.testing.assert_array_equal(graph.x.numpy(), X)
    assert graph.y is not None
    assert graph.y.tolist() == [-1, 1, 0, -1]
    assert graph.name == "tables"


def test_tables_match_numbers_with_their_text() -> None:
    edges = pd.DataFrame({"source": [1, 20], "target": [20, 1]})
    features = pd.DataFrame({"id": ["20", "1", "x"], "f": [0.0, 1.0, 2.0]})
    assert edge_set(as_graph(edges, x=features)) == [("1", "20"), ("20", "1")]
    labelled = as_graph(edges, x=features.assign(id=[20, 1, 3]), y=pd.DataFrame({"id": ["1"], "y": [4]}))
    assert labelled.node_ids.tolist() == [20, 1, 3]  # the features say what the nodes are called
    assert labelled.y is not None
    assert labelled.y.tolist() == [-1, 4, -1]


def test_tables_without_features_have_all_ids_sorted() -> None:
    edges = pd.DataFrame({"source": [10, 9], "target": [9, 100]})
    with pytest.warns(LocalGCLWarning, match="structural"):
        graph = as_graph(edges, y=pd.Series([2], index=[7]))
    assert graph.node_ids.tolist() == [7, 9, 10, 100]
    assert graph.y is not None
    assert graph.y.tolist() == [2, -1, -1, -1]


@pytest.mark.parametrize("make", [np.array, torch.tensor, sp.csr_array])
def test_tables_of_edges_with_an_array_of_features(make: Any) -> None:
    graph = as_graph(pd.DataFrame({"source": [0], "target": [3]}), x=make(X))
    assert edge_set(graph) == [(0, 3)]


def test_one_feature_in_a_series_goes_by_its_index() -> None:
    graph = as_graph(pd.DataFrame({"source": [7], "target": [5]}), x=pd.Series([1.0, 2.0], index=[5, 7]))
    assert graph.node_ids.tolist() == [5, 7]
    assert graph.x.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("edges", "x", "y", "message"),
    [
        (
            EDGES.rename(columns={"source": "from"}),
            FEATURES,
            None,
            "'weight', 'target', 'from'; edges need the columns",
        ),
        (EDGES, FEATURES.iloc[:2], None, r"the table of edges: node 'b' has no row in x; add its row"),
        (EDGES, FEATURES.iloc[3:], None, r"node 'a' \(and 1 more\) has no row"),
        (EDGES, FEATURES.assign(id="a"), None, "x: node 'a' has 4 rows; keep one row"),
        (EDGES, FEATURES.assign(f="cat"), None, "column 'f' is of type .*: encode "),
        (EDGES, FEATURES.assign(f="cat", g="dog"), None, "x: 2 columns are no numbers: 'f', 'g'; encode "),
        (EDGES, FEATURES.set_axis(["id", "f", "f"], axis=1), None, "x has several columns of one name: 'f'; rename or drop"),
        (EDGES, FEATURES.set_axis(["id", "f", "id"], axis=1), None, "x has several columns of one name: 'id'"),
        (EDGES.set_axis(["source", "target", "Source"], axis=1), FEATURES, None, "several columns of one name: 'source'"),
        (EDGES, FEATURES[["id"]], None, "only the column 'id'"),
        (EDGES, FEATURES.assign(g=np.nan), None, "column 'g' is empty for node 'c'"),
        (EDGES, FEATURES[["f", "g"]] + 0.5, None, "id column 'f': node id 0.5 is no integer"),
        (EDGES, FEATURES, pd.DataFrame({"id": ["a", "a"], "y": [0, 1]}), "y: node 'a' has 2 rows"),
        (EDGES, FEATURES, pd.DataFrame({"id": ["z"], "y": [0]}), "labelled node 'z' has no row"),
        (EDGES, FEATURES, pd.DataFrame({"id": ["a"], "y": [1.5]}), "y: the label of node 'a' is 1.5, not a class number"),
        (EDGES, FEATURES, pd.DataFrame({"id": ["a", "b"], "y": ["cat", "0"]}), "the label of node 'a' is 'cat', not a class"),
        (EDGES, FEATURES, FEATURES, "y has the columns 'id', 'f', 'g'; labels need two: id and label"),
        (
            EDGES.assign(source=pd.Series(["a", None])),
            FEATURES,
            None,
            "edges, source: the node id in data row 2 is empty",
        ),
        (EDGES.assign(source=pd.array(["a", None], dtype="string")), FEATURES, None, "the node id in data row 2 is empty"),
        (EDGES.assign(source=True), FEATURES, None, "node ids are of type bool"),
        (EDGES.assign(source=1e300), FEATURES, None, r"node id 1e\+300 is no integer"),
    ],
)
def test_tables_that_do_not_fit_are_refused(edges: Any, x: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_graph(edges, x=x, y=y)


def test_ids_beside_a_table_of_edges_are_refused() -> None:
    with pytest.raises(ValueError, match="node_ids cannot be given beside a table"):
        as_graph(EDGES, x=FEATURES, node_ids=[1, 2, 3, 4])


def test_values_in_node_order_without_a_class_are_unknown() -> None:
    edges = pd.DataFrame({"source": [0], "target": [1]})
    graph = as_graph(edges, x=X, y=pd.Series([1.0, np.nan, 0.0, np.nan]))
    assert graph.y is not None
    assert graph.y.tolist() == [1, -1, 0, -1]
    with pytest.raises(ValueError, match="y has 2 labels for 4 nodes"):
        as_graph(edges, x=X, y=[0, 1])


# Which tables there are


class Exporter:
    """Another library's table: it can do nothing but export an Arrow C stream."""

    def __init__(self, exported: Any) -> None:
        self._exported = exported

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._exported.__arrow_c_stream__(requested_schema)


def test_whatever_exports_an_arrow_stream_is_a_table() -> None:
    edges = Exporter(pa.table({"source": ["a", "b"], "target": ["b", "c"]}))
    features = Exporter(pa.table({"id": ["c", "a", "b", "e"], "f": X[:, 0], "g": X[:, 1]}))
    graph = as_graph(edges, features, Exporter(pa.table({"id": ["a", "b"], "label": [1, 0]})))
    assert graph.node_ids.tolist() == ["c", "a", "b", "e"]
    assert edge_set(graph) == [("a", "b"), ("b", "c")]
    np.testing.assert_array_equal(graph.x.numpy(), X)
    assert graph.y is not None
    assert graph.y.tolist() == [-1, 1, 0, -1]
    with pytest.raises(TypeError, match="x is a Exporter with ids of its own"):
        as_graph(sp.csr_array(np.eye(4)), features)


def test_a_stream_that_can_be_read_once_is_read_once() -> None:
    reader = pa.table({"source": [0, 1], "target": [1, 2]}).to_reader()
    assert edge_set(as_graph((reader, X))) == [(0, 1), (1, 2)]


def test_a_stream_of_one_column_is_no_table() -> None:
    column = Exporter(pa.chunked_array([[0, 1, 1, 0]]))
    assert as_table(column) is None
    graph = as_graph((sp.csr_array(np.eye(4)), X), y=pa.chunked_array([[0, 1, 1, 0]]))
    assert graph.y is not None
    assert graph.y.tolist() == [0, 1, 1, 0]
    with pytest.raises(TypeError, match=r"cannot make a graph of .*Exporter; give .*__arrow_c_stream__"):
        as_graph(column)


def test_a_stream_that_breaks_off_is_an_error_not_a_missing_table() -> None:
    def batches() -> Any:
        yield pa.record_batch({"source": [0], "target": [1]})
        raise ValueError("connection lost")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"source": pa.int64(), "target": pa.int64()}), batches())
    with pytest.raises(ValueError, match="connection lost"):
        as_graph(Exporter(reader), X)


def test_types_that_only_arrow_has() -> None:
    """Views and categories as polars exports them, decimals as DuckDB does; chunks with categories of their own."""
    names = pa.chunked_array([pa.array(["a"]).dictionary_encode(), pa.array(["b"]).dictionary_encode()])
    features = pa.table({"id": pa.array(["b", "a"]).cast(pa.string_view()), "f": pa.array([Decimal("1.50"), Decimal(2)])})
    graph = as_graph(pa.table({"source": names, "target": pa.array(["b", "b"]).cast(pa.string_view())}), features)
    assert edge_set(graph) == [("a", "b"), ("b", "b")]
    assert graph.x.tolist() == [[1.5], [2.0]]
    counted = as_graph(pa.table({"source": pa.array([Decimal(3)]), "target": pa.array([Decimal(1)])}), X)
    assert counted.node_ids.dtype == np.int64
    assert edge_set(counted) == [(3, 1)]


def test_booleans_and_categories_of_numbers_are_features() -> None:
    features = pd.DataFrame({"id": [0, 1], "b": [True, False], "c": pd.Categorical([5, 7])})
    assert as_graph(pd.DataFrame({"source": [0], "target": [1]}), features).x.tolist() == [[1.0, 5.0], [0.0, 7.0]]


def test_polars() -> None:
    import polars as pl

    edges = pl.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    features = pl.DataFrame({"id": pl.Series(["c", "a", "b"], dtype=pl.Categorical), "f": [0.5, 1.5, 2.5]})
    graph = as_graph(edges, features, pl.DataFrame({"id": ["a"], "y": [1]}))
    assert graph.node_ids.tolist() == ["c", "a", "b"]
    assert edge_set(graph) == [("a", "b"), ("b", "c")]
    assert graph.x.tolist() == [[0.5], [1.5], [2.5]]
    assert graph.y is not None
    assert graph.y.tolist() == [-1, 1, -1]
    in_order = as_graph(edges, features, pl.Series([2, 0, 1]))
    assert in_order.y is not None
    assert in_order.y.tolist() == [2, 0, 1]


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    edges = duckdb.sql("select 1::hugeint as source, 2 as target union all select 2, 3")
    features = duckdb.sql("select * from (values (3, 0.5), (2, 1.5), (1, 2.5)) as t(id, f)")
    graph = as_graph(edges, features, duckdb.sql("select 2 as id, 4 as y"))
    assert graph.node_ids.tolist() == [3, 2, 1]
    assert edge_set(graph) == [(1, 2), (2, 3)]
    assert graph.x.tolist() == [[0.5], [1.5], [2.5]]
    assert graph.y is not None
    assert graph.y.tolist() == [-1, 4, -1]


# What becomes of a pandas frame


def test_pandas_index_is_the_first_column_where_it_holds_ids() -> None:
    frame = pd.DataFrame({"f": [1.0, 2.0]})
    assert as_table(frame).column_names == ["f"]
    assert as_table(frame.set_axis([7, 5])).column_names == ["f"]  # integers without a name: a counter
    assert as_table(frame.set_axis(["a", "b"])).to_pydict() == {"index": ["a", "b"], "f": [1.0, 2.0]}
    assert as_table(frame.rename_axis("node")).to_pydict() == {"node": [0, 1], "f": [1.0, 2.0]}
    pairs = frame.set_axis(pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))
    assert as_table(pairs).column("index").to_pylist() == ["('a', 1)", "('b', 2)"]


def test_a_pandas_series_is_a_table_where_its_index_was_given() -> None:
    assert as_table(pd.Series([1, 2])) is None
    assert as_table(pd.Series([1, 2], index=[5, 7], name="y")).to_pydict() == {"index": [5, 7], "y": [1, 2]}
    assert as_table(pd.Series([1, 2], index=pd.RangeIndex(2, name="id"))).to_pydict() == {"id": [0, 1], "None": [1, 2]}


def test_pandas_columns_that_arrow_would_refuse() -> None:
    twice = pd.DataFrame([[1.0, 2.0]], columns=["f", "f"])
    assert as_table(twice).column_names == ["f", "f"]
    mixed = pd.DataFrame({"id": [1, "a", None], "place": [(0, 0), (0, 1), None]})
    assert as_table(mixed).to_pydict() == {"id": ["1", "a", None], "place": ["(0, 0)", "(0, 1)", None]}


def test_the_index_of_a_pandas_frame_survives_pyarrow() -> None:
    frame = pd.DataFrame({"f": X[:, 0], "g": X[:, 1]}, index=pd.Index(list("cabe"), name="node"))
    table = pa.Table.from_pandas(frame)
    assert table.column_names[-1] == "node"
    graph = as_graph(EDGES, table)
    assert graph.node_ids.tolist() == ["c", "a", "b", "e"]
    np.testing.assert_array_equal(graph.x.numpy(), X)


def test_a_pyarrow_table_cut_after_pandas() -> None:
    """The metadata that pandas leaves in a table still describes the index after columns or rows are dropped."""
    indexed = pa.Table.from_pandas(FEATURES.set_axis(list("wxyz")))
    assert as_graph(EDGES, indexed.select(["id", "f", "g"])).node_ids.tolist() == ["c", "a", "b", "e"]
    named = pa.Table.from_pandas(FEATURES.rename_axis("row"))  # a range, of which only the limits are kept
    with pytest.raises(ValueError, match=r"x has 3 rows, but its pandas index 'row' has 4.*reset_index"):
        as_graph(EDGES, named.slice(0, 3))
