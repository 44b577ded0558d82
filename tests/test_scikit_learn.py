"""Estimators in scikit-learn: output as frames, pipelines and searches over nodes, and its checks where they apply."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

import localgcl as lg
from tests.unchecked import unchecked

SMALL: dict[str, Any] = {"dim": 8, "num_features": 64, "steps": 2, "device": "cpu"}
NAMES = np.array([f"n{i}" for i in range(90)])


@pytest.fixture(scope="module")
def graph() -> lg.Graph:
    drawn = lg.sbm(90, classes=3, features=6, separation=3.0, seed=0)
    return lg.as_graph(drawn, node_ids=NAMES)


# Frames


@pytest.mark.parametrize(
    "estimator",
    [
        lg.LocalGCL(**SMALL),
        lg.LocalGCL(**SMALL, encoder="hops", pca=5),
        lg.Embedder("raw-features", device="cpu"),
        lg.Embedder("mvgrl", dim=8, steps=1, device="cpu"),
    ],
    ids=["local-gcl", "pca", "raw-features", "mvgrl"],
)
def test_a_frame_has_node_ids_and_names_of_columns(estimator: Any, graph: lg.Graph) -> None:
    frame = clone(estimator).set_output(transform="pandas").fit_transform(graph)
    z = clone(estimator).fit_transform(graph)
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == NAMES.tolist()
    prefix = type(estimator).__name__.lower()
    assert frame.columns.tolist() == [f"{prefix}{i}" for i in range(z.shape[1])]
    np.testing.assert_array_equal(frame.to_numpy(), z)


def test_a_pipeline_of_frames(graph: lg.Graph) -> None:
    pipeline = make_pipeline(lg.LocalGCL(**SMALL), StandardScaler()).set_output(transform="pandas")
    frame = pipeline.fit_transform(graph)
    assert frame.index.tolist() == NAMES.tolist()
    assert pipeline.get_feature_names_out().tolist() == frame.columns.tolist()


def test_names_of_columns_need_a_fit(graph: lg.Graph) -> None:
    with pytest.raises(NotFittedError):
        lg.LocalGCL(**SMALL).get_feature_names_out()
    assert len(lg.LocalGCL(**SMALL).fit(graph).get_feature_names_out()) == 8


# Nodes


def test_cross_validation_trains_once_and_classifies(graph: lg.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    fits = counted(monkeypatch)
    assert graph.y is not None
    rows = lg.NodeEmbeddings(graph, lg.LocalGCL(**{**SMALL, "steps": 20}))
    scores = cross_val_score(make_pipeline(rows, LogisticRegression()), graph.node_ids, graph.y.numpy(), cv=3)
    assert len(fits) == 1
    assert scores.mean() > 0.6  # three equal classes: chance is 1/3


def test_a_search_trains_once_a_setting(graph: lg.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    fits = counted(monkeypatch)
    assert graph.y is not None
    rows = lg.NodeEmbeddings(graph, lg.LocalGCL(**SMALL))
    pipeline = make_pipeline(rows, LogisticRegression())
    search = GridSearchCV(pipeline, {"nodeembeddings__embedder__dim": [4, 8]}, cv=3, refit=False)
    search.fit(graph.node_ids, graph.y.numpy())
    assert fits == [4, 8]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The dimensions that are trained from now on."""
    fits: list[int] = []
    fit = lg.LocalGCL.fit

    def count(self: lg.LocalGCL, *given: Any, **named: Any) -> lg.LocalGCL:
        fits.append(self.dim or 0)
        return fit(self, *given, **named)

    monkeypatch.setattr(lg.LocalGCL, "fit", count)
    return fits


def test_rows_are_those_of_the_nodes(graph: lg.Graph) -> None:
    z = lg.LocalGCL(**SMALL).fit_transform(graph)
    rows = lg.NodeEmbeddings(graph, lg.LocalGCL(**SMALL)).fit()
    np.testing.assert_array_equal(rows.transform(["n7", "n2", "n7"]), z[[7, 2, 7]])
    np.testing.assert_array_equal(rows.transform(pd.DataFrame({"customer": ["n4"]})), z[[4]])
    np.testing.assert_array_equal(rows.transform(NAMES[:0]), z[:0])
    frame = rows.set_output(transform="pandas").transform(pd.Series(["n3", "n1"]))
    assert frame.index.tolist() == ["n3", "n1"]
    assert frame.columns[0] == "nodeembeddings0"


def test_nodes_that_are_not_there_are_named(graph: lg.Graph) -> None:
    rows = lg.NodeEmbeddings(graph, lg.Embedder("random-init", dim=4, device="cpu"))
    with pytest.raises(NotFittedError):
        rows.transform(["n1"])
    rows.fit()
    with pytest.raises(ValueError, match=r"X names 'n90' \(and 1 more\), which is no node of graph 'sbm'; give ids"):
        rows.transform(["n1", "n90", "n91"])
    with pytest.raises(ValueError, match=r"X has shape \(3, 2\); give a list of node ids"):
        rows.transform(np.ones((3, 2)))
    with unchecked(), pytest.raises(ValueError, match=r"graph is a tuple; give a localgcl\.Graph, such as as_graph returns"):
        lg.NodeEmbeddings(([[0], [1]], np.eye(2))).fit()  # type: ignore[arg-type]  # that is the test


def test_clones_share_the_graph_and_forget_other_settings(graph: lg.Graph) -> None:
    rows = lg.NodeEmbeddings(graph, lg.Embedder("random-init", dim=4, device="cpu")).fit()
    same, other = clone(rows), clone(rows).set_params(embedder__dim=6)
    assert same.graph is graph
    assert same.fit().embeddings_ is rows.embeddings_
    assert other.fit().embeddings_.shape == (90, 6)
    assert rows.embeddings_.shape == (90, 4)
    smaller = clone(rows).set_params(graph=graph.subgraph(torch.arange(10)))
    assert smaller.fit().embeddings_.shape == (10, 4)


# scikit-learn's own checks that give no data: those that do give tables, and these estimators take graphs or nodes.

CHECKS = (
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_mixin_order",
    "check_get_params_invariance",
    "check_set_params",
)


@pytest.mark.parametrize("check", CHECKS)
def test_estimator_checks(check: str, graph: lg.Graph) -> None:
    for estimator in (lg.LocalGCL(), lg.NodeEmbeddings(graph, lg.LocalGCL())):
        getattr(estimator_checks, check)(type(estimator).__name__, estimator)
