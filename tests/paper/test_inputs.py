"""table-datasets and table-hyperparameters."""

import json
from pathlib import Path

import pytest
import torch

from localgcl.datasets import load
from localgcl.graph import Graph
from localgcl.recipes import recipes
from paper.inputs import count_graphs, graph_table, list_settings, settings_table


def counted(graphs: dict[str, Graph]) -> list[list[str]]:
    return graph_table(count_graphs(graphs)).rows


def test_counts_of_a_graph_nobody_prints() -> None:
    # 0 -> 1, 1 -> 2 and back, a loop at 3, and nothing at 4.
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 1, 3], x=torch.eye(5), y=[0, 0, 1, 1, 1])
    assert counted({"mine": graph}) == [["mine", "5", "4", "4", "2", "2", "5", "0.500"]]
    unlabelled = Graph.from_edges([0], [1], x=torch.eye(2))
    assert counted({"mine": unlabelled}) == [["mine", "2", "1", "2", "0", "0", "2", "-"]]


def test_printed_values_stand_beside_ours_where_they_differ(graphs_root: Path) -> None:
    graphs = {name: load(name, graphs_root, download=False) for name in ("cora", "citeseer", "actor")}
    assert counted(graphs) == [
        ["cora", "2,708", "10,556", "10,556", "0", "7", "1,433", "0.810"],
        ["citeseer", "3,327", "9,104 (printed 9,228)", "9,104", "48", "6", "3,703", "0.736"],
        ["actor", "7,600", "30,019 (printed 33,544)", "53,318", "0", "5", "932 (printed 931)", "0.219"],
    ]


def test_the_structure_of_arxiv_is_compared_with_arxiv() -> None:
    graph = Graph.from_edges([0], [1], x=torch.eye(2), y=[0, 1])
    ((_, nodes, *_),) = counted({"arxiv-structure": graph})
    assert nodes == "2 (printed 169,343)"


def test_hyperparameters(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = {
        "citeseer": {"dim": 2048, "layers": 1, "steps": 10, "learning_rate": 1e-3, "weight_decay": 1e-4, "scaling": "l1"},
        "physics": {"encoder": "mlp", "dim": 1024, "temperature": 0.7},
        "actor": {"include_self": True, "self_loops": 0.0},
    }
    monkeypatch.setattr("paper.inputs.recipes", lambda method: mine if method == "local-gcl-single" else {})
    assert settings_table(list_settings()).rows == [
        ["citeseer", "printed", "gcn", "20", "1", "1e-3", "1e-4", "2048", "4096", "0.5", ""],
        ["citeseer", "recipe", "gcn", "**10**", "1", "1e-3", "1e-4", "2048", "4096", "0.5", "**scaling=l1**"],
        ["physics", "printed", "mlp", "50", "2", "5e-4", "0", "1024", "4096", "0.7", "batch_norm=true"],
        ["physics", "recipe", "mlp", "50", "2", "5e-4", "0", "1024", "4096", "0.7", "**batch_norm=false**"],
        ["actor", "recipe", "gcn", "50", "2", "5e-4", "0", "512", "4096", "0.5", "self_loops=0, include_self=true"],
    ]


def test_every_recipe_is_in_the_table() -> None:
    rows = settings_table(list_settings()).rows
    assert {row[0] for row in rows if row[1] == "recipe"} == set(recipes("local-gcl-single"))
    assert sum(row[1] == "printed" for row in rows) == 7


def test_the_stored_table_has_the_recipes_of_today() -> None:
    """After a recipe has changed: python -m paper table-hyperparameters, then make pages."""
    path = Path(__file__).parents[2] / "results" / "table-hyperparameters.json"
    if not path.exists():
        pytest.skip("the results are not part of this build")
    assert json.loads(path.read_text())["rows"] == list_settings()
