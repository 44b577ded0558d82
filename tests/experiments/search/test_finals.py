import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from localgcl.experiments.search import log, tuning
from localgcl.experiments.search.space import key
from localgcl.experiments.search.trials import Problem, TrialResult
from tests.experiments.search.problems import graph, lasting, search


class Referee:
    """`trials.run` for the finals: the scores are given, for each in the order of entry; remembers what it ran."""

    def __init__(self, *scores: float | None) -> None:
        self.scores, self.ran = scores, list[tuple[Problem, dict[str, Any]]]()

    def __call__(self, problem: Problem, settings: dict[str, Any]) -> TrialResult:
        score = self.scores[len(self.ran)]
        self.ran.append((problem, settings))
        return TrialResult(score, 0.5, 1.0) if score is not None else TrialResult(None, None, 1.0, "refused: nan")


def judged(monkeypatch: pytest.MonkeyPatch, *scores: float | None) -> Referee:
    referee = Referee(*scores)
    monkeypatch.setattr(tuning, "run", referee)
    return referee


def test_the_best_trials_are_validated_on_more_seeds(tmp_path: Path) -> None:
    plain = search(tmp_path / "plain", trials=4, seeds=1)
    said: list[str] = []
    found = search(tmp_path / "out", trials=4, seeds=1, finalists=2, final_seeds=3, say=said.append)
    rows = log.read(tmp_path / "out" / "trials.csv")
    assert lasting(rows[:4]) == lasting(plain.rows)
    assert rows[4:] == found.rows
    entered = log.best(plain.rows, 2)
    assert [row["settings"] for row in found.rows] == [row["settings"] for row in entered]
    assert {row["seeds"] for row in found.rows} == {"1000-1002"}
    assert found.validation == max(map(log.score, found.rows))
    # The same as a search with that many seeds finds.
    more = {row["settings"]: row for row in search(tmp_path / "more", trials=4, seeds=3).rows}
    assert lasting(found.rows) == lasting([more[row["settings"]] for row in found.rows])
    assert said[4:] == [
        f"finalist: {first['validation']} on seeds 1000, {final['validation']} on 1000-1002  {first['settings']}"
        for first, final in zip(entered, found.rows, strict=True)
    ]


def test_the_winner_of_the_finals_is_the_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    referee = judged(monkeypatch, 60.0, 90.0, 70.0)
    found = search(tmp_path, trials=4, finalists=3)
    settings = [given for _, given in referee.ran]
    trials = log.best(log.read(tmp_path / "trials.csv")[:4], 3)
    assert [key(given) for given in settings] == [row["settings"] for row in trials]
    assert found.validation == 90.0
    assert found.settings == settings[1]
    recipe = (tmp_path / "recipe.toml").read_text()
    assert tomllib.loads(recipe) == {"sbm": settings[1]}
    assert "best of 3 trials by accuracy on validation nodes,\n# 90.0 ± 0.5 over seeds 1000-1009 and" in recipe


def test_finals_that_are_in_the_log_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    referee = judged(monkeypatch, 60.0, 90.0, 70.0)
    first = search(tmp_path, trials=4, finalists=2)
    again = search(tmp_path, trials=4, finalists=2)
    assert again.rows == first.rows
    assert len(referee.ran) == 2
    more = search(tmp_path, trials=4, finalists=3)
    assert more.rows[:2] == first.rows
    assert len(referee.ran) == 3
    assert len(log.read(tmp_path / "trials.csv")) == 7


def test_finals_say_where_they_were_run_not_where_the_trials_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged(monkeypatch, 60.0)
    search(tmp_path, trials=1, commit="old")
    (row,) = search(tmp_path, trials=1, finalists=1, commit="new").rows
    assert row["commit"] == "new"
    assert row["date"]
    assert (row["method"], row["dataset"], row["splits"], row["protocol"]) == ("local-gcl", "sbm", "2", "knn")


def test_finals_do_not_see_test_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    referee = judged(monkeypatch, 60.0)
    search(tmp_path, trials=1, splits=1, finalists=1, final_seeds=3)
    ((problem, _),) = referee.ran
    assert len(problem.splits) == 3
    split = graph().splits[0]
    labels = problem.graph.y
    assert labels is not None
    assert set(labels[split.test].tolist()) == {-1}
    assert (labels[split.val] >= 0).all()


def test_a_finalist_that_is_refused_loses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    referee = judged(monkeypatch, None, 50.0)
    said: list[str] = []
    found = search(tmp_path, trials=3, finalists=2, say=said.append)
    assert found.settings == referee.ran[1][1]
    assert ", refused: nan on 1000-1009  " in said[3]
    assert json.loads(found.rows[0]["settings"]) == referee.ran[0][1]


def test_finals_without_a_score_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged(monkeypatch, None, None)
    with pytest.raises(ValueError, match=r"no finalist could be scored; .*trials\.csv says why: refused: nan"):
        search(tmp_path, trials=3, finalists=2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"finalists": 2, "final_seeds": 0}, "final-seeds is 0; it must be at least 1"),
        ({"finalists": -1}, "finalists is -1; it must be at least 0"),
    ],
)
def test_slips_cost_nothing(wrong: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        search(tmp_path / "out", trials=1, **wrong)
    assert not (tmp_path / "out").exists()
