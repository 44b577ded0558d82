import json
from pathlib import Path

import pytest

from localgcl.recipes import recipes
from paper.settings_table import measure, table


def test_hyperparameters(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = {
        "citeseer": {"dim": 2048, "layers": 1, "steps": 10, "learning_rate": 1e-3, "weight_decay": 1e-4, "scaling": "l1"},
        "physics": {"encoder": "mlp", "dim": 1024, "temperature": 0.7},
        "actor": {"include_self": True, "self_loops": 0.0},
    }
    monkeypatch.setattr("paper.settings_table.recipes", lambda method: mine if method == "local-gcl-single" else {})
    assert table(measure()).rows == [
        ["citeseer", "printed", "gcn", "20", "1", "1e-3", "1e-4", "2048", "4096", "0.5", ""],
        ["citeseer", "recipe", "gcn", "**10**", "1", "1e-3", "1e-4", "2048", "4096", "0.5", "**scaling=l1**"],
        ["physics", "printed", "mlp", "50", "2", "5e-4", "0", "1024", "4096", "0.7", "batch_norm=true"],
        ["physics", "recipe", "mlp", "50", "2", "5e-4", "0", "1024", "4096", "0.7", "**batch_norm=false**"],
        ["actor", "recipe", "gcn", "50", "2", "5e-4", "0", "512", "4096", "0.5", "self_loops=0, include_self=true"],
    ]


def test_every_recipe_is_in_the_table() -> None:
    rows = table(measure()).rows
    assert {row[0] for row in rows if row[1] == "recipe"} == set(recipes("local-gcl-single"))
    assert sum(row[1] == "printed" for row in rows) == 7


def test_the_stored_table_has_the_recipes_of_today() -> None:
    """After a recipe has changed: python -m paper table-hyperparameters, then make pages."""
    path = Path(__file__).parents[2] / "results" / "table-hyperparameters.json"
    if not path.exists():
        pytest.skip("the results are not part of this build")
    assert json.loads(path.read_text())["rows"] == measure()
