"""Columns of the user's table, back from the features that were made of them."""

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import localgcl as lg
from localgcl.report.clusters import Clustering, colours, contrast, describe, find_clusters, joined, marks_of
from localgcl.report.nodes import Subject, read_subject, read_table
from localgcl.training import RunFolder
from tests.report.customers import COLOURS, EACH, IDS, train_customers


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    return read_subject(train_customers(tmp_path_factory.mktemp("customers")))


def test_features_are_called_as_in_the_table(subject: Subject) -> None:
    table = read_table(subject)
    assert table.names == (
        *("income", "income = (missing)"),
        *("colour = blue", "colour = green", "colour = red", "colour = (missing)"),
        *("since", "active"),
    )
    assert list(table.groups()) == ["income", "colour", "since", "active"]
    assert [name for name, kind in zip(table.names, table.kinds, strict=True) if kind == "date"] == ["since"]


def test_columns_are_decoded(subject: Subject) -> None:
    table, order = read_table(subject), [str(name) for name in subject.graph.node_ids]
    place = [order.index(name) for name in IDS]  # from the order of the file to that of the graph
    colour = table.column("colour")
    assert colour.classes == ("blue", "green", "red", "(missing)")
    assert colour.classes[int(colour.values[place[0]])] == COLOURS[0]
    assert colour.classes[int(colour.values[place[5]])] == "(missing)"
    income = table.column("income")
    assert np.isnan(income.values[place[0]])
    assert not np.isnan(income.values[place[1]])
    since = table.column("since")
    assert since.name == "since (year)"
    assert 2020 <= since.values[place[0]] < 2020.1
    assert 2022 <= since.values[place[-1]] < 2022.1
    active = table.column("active")
    assert active.classes == ("no", "yes")
    assert active.values[place[EACH]] == 1
    assert active.values[place[0]] == 0


def test_clusters_are_marked_in_the_units_of_the_table(subject: Subject) -> None:
    table, found = read_table(subject), find_clusters(subject.z, 3)
    clusters, differing = describe(subject, table, found)
    assert [cluster.size for cluster in clusters] == [20, 20, 20]
    marks = [mark for cluster in clusters for mark in cluster.marks]
    assert any(re.match(r"income: mean \d\d,\d{3} here, \d\d,\d{3} elsewhere", mark) for mark in marks)
    assert any(mark.startswith("since: mean 20") for mark in marks)
    assert any(mark.startswith("label = gold (of labelled nodes): 100% here, 0% elsewhere") for mark in marks)
    assert all(set(cluster.examples) <= set(IDS) for cluster in clusters)
    names = [column.name for column in colours(table, found, differing)]
    assert names == ["label", "cluster", "degree", "income", "colour", "since (year)", "active"]


def test_columns_without_names_are_numbered_as_arrays_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(30, 69)), np.ones((30, 1))], axis=1).astype(np.float32)
    x[:15, 3] += 9.0
    edges = torch.tensor([[i, (i + 1) % 30] for i in range(30)])
    graph = lg.Graph.from_edges(edges[:, 0], edges[:, 1], x=x)
    lg.train(graph, tmp_path / "run", dim=10, steps=1, device="cpu")
    subject = read_subject(RunFolder.open(tmp_path / "run"), graph)
    halves = np.repeat(np.array([0, 1], dtype=np.int32), 15)
    table, found = read_table(subject), Clustering(halves, 2, np.ones(30, dtype=np.float32), "")
    _, differing = describe(subject, table, found)
    names = [column.name for column in colours(table, found, differing)]
    assert len(names) == 2 + 24  # the cluster, the degree, and those that differ most of more than 64
    assert "feature 3" in names
    assert "feature 69" not in names  # a constant column
    monkeypatch.setattr("localgcl.report.clusters._VALUES", 30 * 5)
    assert len(colours(table, found, differing)) == 2 + 5


def test_columns_called_like_those_of_the_map_are_told_apart(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
    graph = lg.Graph.from_edges(range(12), [*range(1, 12), 0], x=x, feature_names=["degree", "b", "label"])
    lg.train(graph, tmp_path / "run", dim=10, steps=1, device="cpu")
    subject = read_subject(RunFolder.open(tmp_path / "run"), graph)
    table, found = read_table(subject), find_clusters(subject.z, 2)
    columns = {column.name: column for column in colours(table, found, describe(subject, table, found)[1])}
    assert list(columns) == ["cluster", "degree", "degree (feature)", "b", "label (feature)"]
    assert columns["degree"].values.tolist() == [2] * 12
    np.testing.assert_array_equal(columns["degree (feature)"].values, x[:, 0])


def cohen(values: np.ndarray, inside: np.ndarray) -> float:
    """The difference of means over the pooled deviation."""
    a, b = values[inside], values[~inside]
    pooled = (len(a) * a.var() + len(b) * b.var()) / (len(values) - 2)
    return float((a.mean() - b.mean()) / np.sqrt(pooled))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), offset=st.sampled_from([0.0, 1e6]))
def test_effects_are_differences_of_means_over_pooled_deviations(seed: int, offset: float) -> None:
    rng = np.random.default_rng(seed)
    x = offset + rng.normal(size=(40, 3))
    member = np.concatenate([np.arange(3), rng.integers(3, size=37)]).astype(np.int32)
    found = contrast(x, member, 3)
    for cluster in range(3):
        inside = member == cluster
        # Centred columns keep ten digits, also of numbers around a million.
        effect = [cohen(x[:, j], inside) for j in range(3)]
        np.testing.assert_allclose(found.effect[cluster], effect, rtol=1e-6, atol=1e-9)  # one may be 0 but for rounding
        np.testing.assert_allclose(found.here[cluster], x[inside].mean(0))
        np.testing.assert_allclose(found.elsewhere[cluster], x[~inside].mean(0))


def test_many_rows_are_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, member = rng.normal(size=(50, 2)), rng.integers(4, size=50).astype(np.int32)
    whole = contrast(x, member, 4)
    monkeypatch.setattr("localgcl.report.clusters._ROWS", 7)
    np.testing.assert_allclose(contrast(x, member, 4).effect, whole.effect)


def test_sparse_columns_are_those_of_the_dense_matrix() -> None:
    rng = np.random.default_rng(1)
    x = (rng.random((60, 5)) < 0.3).astype(np.float32) * np.array([1, 1, 2, 0.5, 1], dtype=np.float32)
    member = rng.integers(3, size=60).astype(np.int32)
    dense, sparse = contrast(x, member, 3), contrast(sp.csr_array(x), member, 3)
    np.testing.assert_allclose(sparse.effect, dense.effect, rtol=1e-9)
    assert sparse.shares.tolist() == dense.shares.tolist() == [True, True, False, False, True]


def test_nothing_marks_out_a_constant_column_an_empty_cluster_or_a_single_one() -> None:
    x, member = np.ones((6, 1)), np.array([0, 0, 0, 1, 1, 1], dtype=np.int32)
    assert not contrast(x, member, 2).effect.any()
    moving = np.arange(6.0)[:, None]
    assert not contrast(moving, member, 3).effect[2].any()
    assert not contrast(moving, np.zeros(6, dtype=np.int32), 1).effect.any()


def test_marks_are_sentences_with_units() -> None:
    member = np.repeat(np.array([0, 1], dtype=np.int32), 50)
    noise = np.tile([-0.01, 0.01], 50)  # of mean 0 in both clusters
    columns = {
        "income": 31_000 + 21_000 * (member == 0) + noise,
        "colour = red": np.concatenate([np.arange(50) < 40, np.arange(50) < 6]).astype(float),
        "since": 18_262.0 + 366 * (member == 1) + noise,
        "noise": noise,
        "share": 0.1 + 0.8 * (member == 0) + noise,
    }
    found = joined([contrast(values[:, None], member, 2) for values in columns.values()])
    marks = marks_of(found, 0, list(columns), ["number", "number", "date", "number", "number"])
    assert set(marks) == {
        "income: mean 52,000 here, 31,000 elsewhere",
        "colour = red: 80% here, 12% elsewhere",
        "since: mean 2020-01-01 here, 2021-01-01 elsewhere",
        "share: mean 0.9 here, 0.1 elsewhere",
    }
    assert marks[-1].startswith("colour")  # the weakest of them


def test_shares_near_zero_and_one_are_not_rounded_to_them() -> None:
    member = np.repeat(np.array([0, 1], dtype=np.int32), [500, 500])
    x = np.zeros((1000, 1))
    x[:498] = 1.0
    x[999] = 1.0
    found = contrast(x, member, 2)
    assert marks_of(found, 0, ["word"], ["number"]) == ("word: 99.6% here, 0.2% elsewhere",)
    x[:500], x[999] = 1.0, 0.0
    assert marks_of(contrast(x, member, 2), 1, ["word"], ["number"]) == ("word: 0% here, 100% elsewhere",)
