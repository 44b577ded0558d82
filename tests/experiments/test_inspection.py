from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from localgcl.commands.inspect import lines
from localgcl.datasets import sbm
from localgcl.datasets.source import Source
from localgcl.experiments import inspection
from localgcl.experiments.inspection import inspect, inspect_graph, label_facts, structure_facts, undirected_edges
from localgcl.graph import Graph
from localgcl.methods.settings import choose_settings

EDGES = "source,target\na,b\nb,c\nc,a\na,b\nd,d\n"
MIXED = (
    "id,age,note,city,when\na,1,hello x,Rome,2020-01-01\nb,,foo y,Rome,2021-01-01\nc,3,bar z,Oslo,\nd,4,last,Rome,2022-01-01\n"
)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Inspects files of these contents, times no step."""
    monkeypatch.chdir(tmp_path)

    def inspected(edges: str = EDGES, features: str | None = None, labels: str | None = None, **columns: str) -> dict[str, Any]:
        given = {"edges": edges, "features": features, "labels": labels}
        for name, content in given.items():
            if content is not None:
                Path(f"{name}.csv").write_text(content)
        paths = {name: f"{name}.csv" for name, content in given.items() if content is not None}
        return inspect(Source(**paths, **columns), device="cpu", seconds=0)

    return inspected


def test_structure_is_that_of_the_undirected_graph(files: Callable[..., dict[str, Any]]) -> None:
    facts = files()["structure"]
    assert (facts["nodes"], facts["edges"], facts["pairs"], facts["self_loops"]) == (4, 5, 3, 1)
    assert (facts["components"], facts["largest_component"], facts["isolated"]) == (2, 3, 1)
    assert facts["degree"] == {"min": 0, "median": 2.0, "mean": 1.5, "max": 2}


def test_homophily_is_compared_with_chance() -> None:
    # A path 0-1-2-3 of classes a a b b, and a node without a label at its end.
    y, names = [0, 0, 1, 1, -1], ("a", "b")
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], x=np.eye(5), y=y, class_names=names)
    facts = label_facts(graph, undirected_edges(graph))
    assert facts == {
        "labelled": 4,
        "classes": {"a": 2, "b": 2},
        "pairs": 3,
        "homophily": pytest.approx(2 / 3),
        "by_chance": pytest.approx(0.5),
    }
    assert label_facts(graph.derived(y=None), undirected_edges(graph)) is None


def test_labels_that_no_edge_joins_have_no_homophily(files: Callable[..., dict[str, Any]]) -> None:
    found = files(labels="id,y\na,red\nd,blue\n")
    assert found["labels"] == {"labelled": 2, "classes": {"blue": 1, "red": 1}, "pairs": 0}
    assert any(line.startswith("labels: 2 nodes (50.0%) in 2 classes") for line in lines(found))


def test_all_columns_and_all_problems_are_told_at_once(files: Callable[..., dict[str, Any]]) -> None:
    found = files(features=MIXED, labels="id,y\na,1\nb,x\n")
    kinds = {column["name"]: (column["kind"], column["missing"], column["features"]) for column in found["columns"]}
    assert kinds == {"age": ("number", 1, 2), "note": ("category", 0, 0), "city": ("category", 0, 2), "when": ("date", 1, 2)}
    assert found["features"] == 6  # encoded without the column that cannot be
    first, second, third = found["problems"]
    assert "'note', 'city', 'when'" in first
    assert "--encode auto" in first
    assert "--drop note" in second
    assert "the label of node 'b' is 'x'" in third
    told = "\n".join(lines(found))
    assert "refused (text, 4 distinct): --drop, or encode it yourself" in told
    assert "problems (3), which stop localgcl train:" in told


def test_a_table_that_can_be_read_has_no_problems(files: Callable[..., dict[str, Any]]) -> None:
    found = files(features=MIXED, encode="auto", drop="note")
    assert not found["problems"]
    assert [column["name"] for column in found["columns"] if column["dropped"]] == ["note"]
    assert "left out" in "\n".join(lines(found))


@pytest.mark.parametrize(
    ("features", "problem"),
    [
        ("", "features.csv is empty"),
        ("id,v\na,1\na,2\nb,1\nc,1\nd,1\n", "node 'a' has 2 rows"),
        ("id,v\na,1\nb,1\n", "has no row in features.csv"),
        ("id,t\na,one x\nb,two y\nc,three z\nd,four\n", "features are numbers"),
        ("\x00\x01\x02\n", "features.csv"),
    ],
)
def test_features_that_cannot_be_used_are_a_problem_and_the_rest_is_told(
    features: str, problem: str, files: Callable[..., dict[str, Any]]
) -> None:
    found = files(features=features)
    assert any(problem in line for line in found["problems"])
    assert found["structure"]["nodes"] == 4
    assert found["features"] == 1024
    assert any("could not be used" in note for note in found["notes"])
    assert not any("no features given" in note for note in found["notes"])


def test_edges_that_cannot_be_read_leave_the_columns(files: Callable[..., dict[str, Any]]) -> None:
    found = files(edges="from,to\na,b\n", features=MIXED)
    assert "--source, --target" in found["problems"][0]
    assert "structure" not in found
    assert len(found["columns"]) == 4
    assert lines(found)[0].startswith("features: 4 columns")


def test_settings_are_those_that_training_takes() -> None:
    found = inspect_graph(sbm(60, classes=2, features=6), device="cpu", seconds=0)
    chosen = choose_settings("local-gcl", sbm(60, classes=2, features=6))
    assert found["settings"] == chosen.values
    assert found["reasons"] == list(chosen.reasons.values())
    assert all(cost["seconds"] is None for cost in found["methods"].values())
    assert "not estimated" in "\n".join(lines({**found, "name": "g", "notes": [], "problems": [], "columns": []}))


def test_every_method_has_memory_and_a_small_graph_has_times() -> None:
    graph = sbm(60, classes=2, features=6)
    found = inspect_graph(graph, device="cpu", seconds=60)["methods"]
    assert all(cost["memory_bytes"] > 2**20 and cost["fits"] for cost in found.values())
    assert {name for name, cost in found.items() if cost["seconds"] is None} == set()
    assert "raw-features" not in found


def test_times_grow_by_the_square_where_two_sizes_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = sbm(10_000, classes=2, features=4, mean_degree=2)

    def seconds(growth: float, **settings: Any) -> float | None:
        steps = iter([inspection.Timed(0, 1, 0), inspection.Timed(0, growth, 0)])
        monkeypatch.setattr(inspection, "_timed", lambda *_: next(steps))
        config = choose_settings("grace", graph, given={"steps": 1, **settings}).config
        return inspection._seconds(graph, config, torch.device("cpu"))

    scale = 10_000 / inspection._SAMPLE
    assert seconds(2.0) == pytest.approx(2 * scale)
    assert seconds(4.0) == pytest.approx(4 * scale**2)
    assert seconds(1.0, batch=100, sampled=5) == pytest.approx(1.0)  # a batch is as large on any graph


def test_a_sample_has_the_mean_degree_and_rows_of_the_graph() -> None:
    graph = sbm(5000, classes=2, features=4, mean_degree=6)
    sample = inspection._random(graph, 512)
    assert sample.num_nodes == 512
    assert sample.num_edges / 512 == pytest.approx(graph.num_edges / 5000, rel=1e-2)
    rows = {tuple(row) for row in graph.x.tolist()}
    assert all(tuple(row) in rows for row in sample.x.tolist())


def test_components_of_very_large_graphs_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localgcl.experiments.inspection._MOST_EDGES", 3)
    graph = sbm(60, classes=2, features=6)
    facts = structure_facts(graph, undirected_edges(graph))
    assert facts["components"] is None
