import dataclasses
import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import localgcl as lg
from localgcl import Split
from localgcl.commands import main
from localgcl.evaluation import Scores, evaluate
from localgcl.report.findings import Findings
from localgcl.report.measures import read_scores
from localgcl.report.nodes import read_subject
from localgcl.report.writing import collect
from localgcl.training import RunFolder
from tests.report.customers import IDS, train_customers


def test_a_report_is_written_from_python(run: RunFolder, tmp_path: Path) -> None:
    said: list[str] = []
    found = lg.write_report(run.path, tmp_path / "page.html", layout="pca", scores=False, clusters=2, say=said.append)
    assert (tmp_path / "page.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert len(found.clusters) == 2
    assert said == ["embedding the graph", "clustering 60 nodes", "placing nodes in the plane"]


def test_a_report_that_fails_leaves_the_old_one(run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> str:
        raise OSError("the disk is full")

    monkeypatch.setattr("localgcl.report.writing.page", broken)
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(OSError, match="the disk is full"):
        lg.write_report(run, path, overwrite=True, layout="pca", scores=False, clusters=2)
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]
    assert path.read_text() == "old"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return train_customers(tmp_path_factory.mktemp("customers"))


@pytest.fixture(scope="module", autouse=True)
def short_probe() -> Iterator[None]:
    """The probe with 20 steps instead of 1,000: these graphs are easy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("localgcl.report.measures.evaluate", functools.partial(evaluate, steps=20))
        yield


@pytest.fixture(scope="module")
def found(run: RunFolder) -> Findings:
    return collect(run, layout="pca", clusters=3)


def test_the_map_has_every_node_under_its_own_id(found: Findings, run: RunFolder) -> None:
    graph = run.graph_source.read()
    assert sorted(found.map.ids) == sorted(IDS)
    assert list(found.map.ids) == graph.node_ids.tolist()
    assert found.map.shown == "All 60 nodes are shown."
    assert found.map.xy.shape == (60, 2)
    assert found.map.nearest.shape == found.map.similarity.shape == (60, 10)
    neighbours = graph.symmetrized().without_loops()
    np.testing.assert_array_equal(found.map.indptr, neighbours.indptr)
    np.testing.assert_array_equal(found.map.indices, neighbours.indices)


def test_the_label_comes_first_and_keeps_its_names(found: Findings) -> None:
    label = found.map.columns[0]
    assert label.name == "label"
    assert set(label.classes or ()) == {"gold", "silver", "bronze"}
    assert (label.values == -1).sum() == 15
    cluster = found.map.columns[1]
    assert cluster.classes == tuple(one.name for one in found.clusters) == ("cluster 1", "cluster 2", "cluster 3")


def test_the_run_is_scored_beside_its_baselines(found: Findings) -> None:
    assert [score.name for score in found.data["scores"]["rows"]] == ["local-gcl", "random-init", "raw-features"]
    assert all(score.metric == "accuracy in %" for score in found.data["scores"]["rows"])
    assert found.data["scores"]["rows"][0].mean > 90  # the groups are disconnected
    assert "5 splits" in found.data["scores"]["protocol"]
    assert "45 labelled nodes" in found.data["scores"]["protocol"]


def test_loss_degrees_homophily_and_kernel(found: Findings, run: RunFolder) -> None:
    assert [series.name for series in found.data["loss"]] == ["loss", "positive", "negative"]
    assert found.data["loss"][0].x.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(found.data["loss"][0].y, found.data["loss"][1].y + found.data["loss"][2].y, rtol=1e-5)
    assert found.data["graph"]["degrees"].y.sum() == 60
    assert found.data["graph"]["homophily"]["in this graph"] == 1.0
    assert 0.3 < found.data["graph"]["homophily"]["by chance"] < 0.4
    assert [series.name for series in found.data["kernel"]] == list(run.config.encoder.channels)
    for series in found.data["kernel"]:
        # 256 orthogonal frequencies: the error of an estimate is below 1/16, four deviations of a random one's.
        np.testing.assert_allclose(series.y, series.x, atol=0.25)
    assert found.notes == {}


def test_summary_settings_and_code_to_copy(found: Findings, run: RunFolder) -> None:
    assert found.summary["method"] == "local-gcl"
    assert found.summary["nodes"] == "60"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", found.summary["date"])
    assert 'negatives = "sorf"' in found.data["settings"]
    assert set(found.data["load"]) == {"Python", "pandas", "command line"}
    assert f"localgcl embed {run.path}" in found.data["load"]["command line"]
    names: dict[str, Any] = {}
    exec(found.data["load"]["Python"], names)  # code to copy has to run
    np.testing.assert_array_equal(names["z"], lg.Embedder.load(run.path).transform(run.graph_source.read()))
    np.testing.assert_array_equal(names["near"].rows, found.map.nearest)


def test_without_labels_the_notes_say_so(tmp_path: Path) -> None:
    found = collect(train_customers(tmp_path, labels=False), layout="pca", clusters=2)
    assert found.data["scores"]["rows"] == ()
    assert found.data["graph"]["homophily"] == {}
    assert "no labels" in found.notes["scores"]
    assert "no labels" in found.notes["homophily"]
    assert found.map.columns[0].name == "cluster"


def test_of_many_nodes_a_sample_is_shown(run: RunFolder) -> None:
    found = collect(run, layout="pca", clusters=2, most=25, seed=1)
    assert found.map.shown == "Shown are 25 of 60 nodes, drawn at random."
    assert len(found.map.ids) == len(set(found.map.ids)) == 25
    assert len(found.map.indptr) == 26
    graph = run.graph_source.read()
    place = {name: position for position, name in enumerate(graph.node_ids.tolist())}
    dense = (graph.to_scipy() + graph.to_scipy().T).toarray()
    for row, name in enumerate(found.map.ids):
        for other in found.map.indices[found.map.indptr[row] : found.map.indptr[row + 1]]:
            assert dense[place[name], place[found.map.ids[other]]]
    degree = next(column for column in found.map.columns if column.name == "degree")
    whole = graph.symmetrized().without_loops().degree.numpy()
    np.testing.assert_array_equal(degree.values, whole[[place[name] for name in found.map.ids]])  # of the whole graph
    assert "localgcl evaluate" in found.notes["scores"]
    assert found.data["graph"]["degrees"].y.sum() == 60


def test_the_same_seed_gives_the_same_findings(run: RunFolder) -> None:
    a, b = (collect(run, layout="pca", scores=False) for _ in range(2))
    assert a.notes["scores"] == "Scores were not asked for."
    for field in dataclasses.fields(a.map):
        if field.name != "columns":
            np.testing.assert_array_equal(getattr(a.map, field.name), getattr(b.map, field.name))
    assert a.clusters == b.clusters


def test_a_graph_folder_is_reported_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    pd.DataFrame({"source": rng.integers(40, size=90), "target": rng.integers(40, size=90)}).to_csv("edges.csv", index=False)
    pd.DataFrame(rng.normal(size=(40, 5)), columns=list("abcde")).rename_axis("id").to_csv("x.csv")
    assert main(["convert", "edges.csv", "--features", "x.csv", "--out", "graph", "--quiet"]) == 0
    fast = ("--dim", "10", "--steps", "2", "--batch", "16", "--device", "cpu", "--quiet")
    assert main(["train", "./graph", *fast, "--out", "run"]) == 0
    for most in (100, 15):
        found = collect(RunFolder.open("run"), layout="pca", clusters=2, most=most)
        assert len(found.map.ids) == min(most, 40)
        assert [column.name for column in found.map.columns] == ["cluster", "degree", "a", "b", "c", "d", "e"]


def test_a_method_without_a_kernel_says_so(tmp_path: Path) -> None:
    graph = lg.load("digits").subgraph(torch.arange(60))
    lg.train(graph, tmp_path / "run", method="raw-features", device="cpu")
    found = collect(RunFolder.open(tmp_path / "run"), graph, layout="pca", clusters=2)
    assert found.data["kernel"] == ()
    assert "raw-features has no kernel" in found.notes["kernel"]
    assert [score.name for score in found.data["scores"]["rows"]] == ["raw-features"]
    with pytest.raises(ValueError, match="does not say which graph it was trained on"):
        collect(RunFolder.open(tmp_path / "run"))


def test_large_splits_are_thinned_and_that_is_said(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localgcl.report.measures.MOST", (10, 5, 8))
    seen: list[Split] = []

    def spy(z: Any, graph: lg.Graph, splits: Sequence[Split], **settings: Any) -> Scores:
        seen.extend(splits)
        return evaluate(z, graph, splits, steps=5, **settings)

    monkeypatch.setattr("localgcl.report.measures.evaluate", spy)
    _, told, _ = read_scores(read_subject(run))
    assert "at most 10 nodes to train, 5 to validate and 8 to test on: localgcl evaluate uses all" in told
    assert {(len(split.train), len(split.val), len(split.test)) for split in seen} <= {(10, n, 8) for n in (3, 4, 5)}
    assert all(torch.equal(a.train, b.train) for a, b in zip(seen[:5], seen[5:10], strict=True))  # the same for every row


def test_labels_that_cannot_be_scored_are_a_note(run: RunFolder) -> None:
    graph = run.graph_source.read()
    one = graph.derived(y=torch.where(torch.arange(60) < 3, 0, -1))
    rows, _, note = read_scores(read_subject(run, one))
    assert rows == ()
    assert note.startswith("Scores could not be computed: ")
