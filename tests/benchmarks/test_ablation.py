from pathlib import Path

import pytest
from benchmarks import ablation

from localgcl.datasets import sbm
from localgcl.experiments.search.trials import Problem, TrialResult
from localgcl.methods import configure
from localgcl.recipes import recipe
from localgcl.system.files import RowFile

STORED = Path(ablation.__file__).parent / "results" / "ablation.csv"
PAGE = STORED.parents[2] / "docs" / "levers.md"


@pytest.mark.parametrize("graph", ablation.GRAPHS)
def test_a_variant_takes_one_lever_out(graph: str) -> None:
    found = dict(ablation.variants(graph))
    whole = configure("local-gcl", found[ablation.WHOLE]).flat()
    assert found[ablation.WHOLE] == recipe("local-gcl", graph)
    for lever in set(found) & set(ablation.PLAIN):
        changed = configure("local-gcl", found[lever]).flat()
        assert {name for name in whole if whole[name] != changed[name]} == {lever}
    assert set(found) - {ablation.WHOLE} <= set(ablation.NAMES)


def row(lever: str, seed: int, validation: float) -> dict[str, str]:
    told = dict.fromkeys(ablation.FIELDS, "")
    return {**told, "graph": "cora", "lever": lever, "seed": str(seed), "validation": str(validation)}


def test_the_page_shows_paired_differences() -> None:
    rows = [row("recipe", 1000, 80.0), row("recipe", 1001, 90.0), row("head", 1000, 79.0), row("head", 1001, 89.0)]
    text = ablation.page(rows)
    assert "| the recipe | 85.00 | 2 | |" in text
    assert "| without the head | 84.00 | 2 | -1.00 [-1.00, -1.00] |" in text
    assert "- cora: without the head, -1.0" in text


def test_the_figure_has_a_line_for_each_graph_with_a_change(tmp_path: Path) -> None:
    rows = [row(lever, seed, 80.0 + seed % 3) for lever in ("recipe", "head") for seed in (1000, 1001)]
    rows.append({**row("recipe", 1000, 80.0), "graph": "cs"})
    ablation.figure(rows, tmp_path / "levers.svg")
    assert (tmp_path / "levers.svg").read_text(encoding="utf-8").count('id="ytick_') == 1


def test_rows_have_the_seeds_and_divisions_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Problem] = []
    monkeypatch.setattr(ablation, "load", lambda _: sbm(300, classes=3, features=8, splits=1))

    def validated(problem: Problem, _: object) -> TrialResult:
        seen.append(problem)
        return TrialResult(80.0, 0.0, 1.0)

    monkeypatch.setattr(ablation, "validated", validated)
    assert ablation.measure("cora", "recipe", 2, "cpu", "")["seed"] == 1002
    assert ["redrawn" in split.name for split in seen[0].splits[0]] == [True] * 6
    assert list(seen[0].seeds) == [1002]


@pytest.mark.skipif(not STORED.exists(), reason="no ablation.csv is stored yet; python -m benchmarks.ablation measures it")
def test_the_page_is_made_of_the_stored_rows() -> None:
    assert PAGE.read_text(encoding="utf-8") == ablation.page(RowFile(STORED, ablation.FIELDS).rows())
