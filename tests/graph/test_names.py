"""Feature names: what a Graph keeps, and columns matched by name."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch

from localgcl import LocalGCLWarning, as_graph
from localgcl.config import Preparation
from localgcl.graph import Graph, Split
from localgcl.graph.checks import column_names
from localgcl.graph.prepare import column_statistics, match_features, prepare
from localgcl.io.convert import to_pyg

X = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32)


def named(*names: str, x: Any = X, make: Any = np.asarray) -> Graph:
    return Graph.from_edges([0, 0, 1], [1, 1, 1], x=make(x), y=[0, 1], feature_names=names)


def test_frames_name_their_columns_and_arrays_do_not() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert Graph.from_edges([0], [1], x=X).feature_names is None
    assert Graph.from_edges([0], [1], x=frame).feature_names == ("a", "b", "c")
    assert Graph.from_edges([0], [1], x=pa.table({"a": [1.0, 2.0]})).feature_names == ("a",)
    assert Graph.from_edges([0], [1], x=frame, feature_names=["u", "v", "w"]).feature_names == ("u", "v", "w")
    assert Graph.from_edges([0], [1], x=X).with_features(frame).feature_names == ("a", "b", "c")
    edges = pd.DataFrame({"source": [0], "target": [1]})
    assert as_graph(edges, frame.rename_axis("id")).feature_names == ("a", "b", "c")
    assert as_graph((edges, X)).feature_names is None
    assert as_graph(Graph.from_edges([0], [1], x=frame), name="other").feature_names == ("a", "b", "c")
    assert as_graph(Graph.from_edges([0], [1], x=frame), X).feature_names is None  # other features


def test_pyg_takes_names_there_and_back() -> None:
    pytest.importorskip("torch_geometric")
    assert as_graph(to_pyg(named("a", "b", "c"))).feature_names == ("a", "b", "c")
    assert as_graph(to_pyg(Graph.from_edges([0], [1], x=X))).feature_names is None


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("a", "b"), "2 feature names for 3 feature columns; give one name per column"),
        (("a", "b", "a"), "several columns of one name: 'a'; rename or drop the repeats"),
    ],
)
def test_names_are_checked(names: tuple[str, ...], message: str) -> None:
    whole = Graph.from_edges([0], [1], x=X)
    with pytest.raises(ValueError, match=message):
        Graph.from_edges([0], [1], x=X, feature_names=names)
    with pytest.raises(ValueError, match=message):
        whole.with_features(X, names)
    with pytest.raises(ValueError, match=message):
        Graph(whole.indptr, whole.indices, whole.x, feature_names=names)


def test_names_are_text() -> None:
    with pytest.raises(ValueError, match="feature name 0 is of type int; give text"):
        column_names([0, 1, 2], 3)
    with pytest.raises(ValueError, match="1 feature names for 3 feature columns"):
        column_names("abc", 3)  # one name, not three


def test_every_change_of_a_graph_keeps_the_names() -> None:
    graph = named("a", "b", "c")
    split = Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([], dtype=torch.int64))
    changed = {
        "symmetrized": graph.symmetrized(),
        "coalesced": graph.coalesced(),
        "without_loops": graph.without_loops(),
        "with_edges": graph.with_edges(graph.indices, graph.rows),
        "keep_edges": graph.keep_edges(graph.loops),
        "subgraph": graph.subgraph(torch.tensor([1])),
        "with_splits": graph.with_splits([split]),
        "derived": graph.derived(name="other"),
        "to": graph.to("meta"),
    }
    for name, other in changed.items():
        assert other.feature_names == ("a", "b", "c"), name
    for scaling in ("raw", "binary", "l1", "l2", "standard"):
        preparation = Preparation(scaling=scaling)
        assert prepare(graph, preparation, column_statistics(graph, scaling)).feature_names == ("a", "b", "c")
    assert graph.with_features(X).feature_names is None  # other features have other names


# Matching


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_another_order_is_put_right_in_silence(make: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", LocalGCLWarning)
        matched = match_features(named("c", "a", "b", x=X[:, [2, 0, 1]], make=make), ("a", "b", "c"))
        same = named("a", "b", "c", make=make)
        assert match_features(same, ("a", "b", "c")) is same
    assert matched.x.to_dense().tolist() == X.tolist()
    assert matched.x.layout == same.x.layout
    assert matched.feature_names == ("a", "b", "c")


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_an_extra_column_is_ignored_and_named(make: Any) -> None:
    with pytest.warns(LocalGCLWarning, match="not trained on are ignored: 'b'") as caught:
        matched = match_features(named("c", "b", "a", make=make), ("a", "c"))
    assert len(caught) == 1
    assert matched.x.to_dense().tolist() == X[:, [2, 0]].tolist()
    assert matched.num_features == 2


def test_a_missing_column_is_an_error_that_names_it() -> None:
    with pytest.raises(
        ValueError,
        match=r"lacks 1 of the 3 feature columns that the model was trained on: 'd'; add them.*\(the graph has 'a', ",
    ):
        match_features(named("a", "b", "c"), ("a", "d", "b"))
    many = tuple(f"n{i}" for i in range(100))
    with pytest.raises(ValueError, match=r"lacks 100 of the 100 .*: 'n0', .*'n5'\.\.\. \(100 in all\);") as caught:
        match_features(named("a", "b", "c"), many)
    assert len(str(caught.value)) < 300


def test_one_side_without_names_goes_by_position_and_says_so() -> None:
    bare, full = Graph.from_edges([0], [1], x=X), named("c", "a", "b")
    with pytest.warns(LocalGCLWarning, match="the graph's features have no names, so .* matched by position"):
        assert match_features(bare, ("a", "b", "c")) is bare
    with pytest.warns(LocalGCLWarning, match="trained on features without names, so .* matched by position"):
        assert match_features(full, None) is full
    with warnings.catch_warnings():
        warnings.simplefilter("error", LocalGCLWarning)
        assert match_features(bare, None) is bare
