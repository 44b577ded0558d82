"""Columns of the user's table, back from the features that were made of them."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import localgcl as lg
from localgcl.report.clusters import Clustering, find_clusters
from localgcl.report.describing import colours, describe
from localgcl.report.node_table import read_table
from localgcl.report.reading import Subject, read_subject
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
    monkeypatch.setattr("localgcl.report.describing._VALUES", 30 * 5)
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
