import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl.datasets.source import Source
from localgcl.experiments.search import log, trials, tune
from localgcl.experiments.search.space import SAMPLERS
from localgcl.recipes import recipes
from localgcl.system.files import RowFile
from localgcl.system.workers import Workers
from tests.experiments.copying import Copying
from tests.experiments.search.problems import FIXED, SMALL, graph, lasting, search

FIRST = {"layers": 2, "learning_rate": 5e-4, "temperature": 0.5, "include_self": False}  # the defaults


def test_the_log_holds_every_trial_and_the_recipe_the_best(tmp_path: Path) -> None:
    said: list[str] = []
    found = search(tmp_path, trials=6, commit="abc", say=said.append)
    rows = log.read(tmp_path / "trials.csv")
    assert rows == found.rows
    assert len(rows) == len(said) == 6
    assert json.loads(rows[0]["settings"]) == {**FIXED, **FIRST}
    assert len({row["settings"] for row in rows}) == 6
    shared = {"method": "local-gcl", "dataset": "sbm", "seeds": "1000-1001", "splits": "2", "commit": "abc", "protocol": "knn"}
    assert all(shared.items() <= row.items() for row in rows)
    winner = max(rows, key=lambda row: float(row["validation"]))
    assert found.validation == float(winner["validation"])
    recipe = tomllib.loads((tmp_path / "recipe.toml").read_text())
    assert recipe == {"sbm": found.settings}
    assert found.settings == json.loads(winner["settings"])
    about = (tmp_path / "recipe.toml").read_text()
    assert f"best of 6 trials by accuracy on validation nodes,\n# {winner['validation']} ±" in about


def test_a_recipe_has_what_was_varied_and_what_is_not_the_default(tmp_path: Path) -> None:
    found = search(tmp_path, trials=1, fixed={**FIXED, "negatives": "auto", "weight_decay": 0.1, "layers": 2})
    assert found.settings == {**FIRST, "weight_decay": 0.1, "dim": 8, "steps": 3, "self_loops": 0.5}


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_labels_of_test_nodes_do_not_matter(sampler: str, tmp_path: Path) -> None:
    labels, used = graph().y, torch.zeros(graph().num_nodes, dtype=torch.bool)
    assert labels is not None
    for split in graph().splits:
        used[torch.cat([split.train, split.val])] = True
    others = (~used).nonzero().flatten()
    shuffled = labels.clone()
    shuffled[others] = labels[others[torch.randperm(len(others), generator=torch.Generator().manual_seed(0))]]
    assert not torch.equal(labels, shuffled)
    settings: dict[str, Any] = {"sampler": sampler, "trials": 13 if sampler == "tpe" else 4, "seeds": 1}
    found = search(tmp_path / "a", **settings)
    again = search(tmp_path / "b", graph().derived(y=shuffled), **settings)
    assert lasting(again.rows) == lasting(found.rows)
    assert (tmp_path / "a" / "recipe.toml").read_text() == (tmp_path / "b" / "recipe.toml").read_text()


class Interruptible:
    """`trials.run`, with Ctrl-C in the trial after number `last`; remembers what it ran."""

    def __init__(self) -> None:
        self.real, self.ran, self.last = trials.run, list[str](), 0

    def __call__(self, problem: trials.Problem, settings: dict[str, Any]) -> trials.TrialResult:
        if len(self.ran) == self.last:
            raise KeyboardInterrupt
        self.ran.append(json.dumps(settings))
        return self.real(problem, settings)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_resumed_search_equals_an_uninterrupted_one(sampler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = search(tmp_path / "whole", sampler=sampler, trials=16, seeds=1)
    run = Interruptible()
    monkeypatch.setattr(trials, "run", run)
    # The first ten trials of TPE are random: it is stopped on either side of them.
    for run.last in (3, 13):
        with pytest.raises(KeyboardInterrupt, match=f"stopped after {run.last} of 16 trials; repeat the command"):
            search(tmp_path / "parts", sampler=sampler, trials=16, seeds=1)
        assert tomllib.loads((tmp_path / "parts" / "recipe.toml").read_text())
    run.last = 16
    parts = search(tmp_path / "parts", sampler=sampler, trials=16, seeds=1)
    assert lasting(parts.rows) == lasting(whole.rows)
    assert parts.settings == whole.settings
    assert len(run.ran) == len(set(run.ran)) == 16  # nothing twice


def test_known_trials_count_and_more_can_be_asked_for(tmp_path: Path) -> None:
    first = search(tmp_path, trials=3)
    said: list[str] = []
    more = search(tmp_path, trials=5, say=said.append)
    assert more.rows[:3] == first.rows
    assert len(more.rows) == 5
    assert said[0].startswith("3 trials are in ")
    assert search(tmp_path, trials=2).rows == more.rows  # enough: nothing is run


@pytest.mark.parametrize("change", [{"seeds": 1}, {"splits": 1}, {"protocol": "sklearn"}])
def test_rows_that_do_not_compare_are_left_alone(change: dict[str, Any], tmp_path: Path) -> None:
    search(tmp_path, trials=2)
    found = search(tmp_path, trials=2, **change)
    assert len(found.rows) == 2
    assert len(log.read(tmp_path / "trials.csv")) == 4


def test_rows_of_older_logs_do_not_compare(tmp_path: Path) -> None:
    """They were validated on seeds 0, 1..., which results are reported on."""
    (row, _) = search(tmp_path, trials=2).rows
    RowFile(tmp_path / "trials.csv", log.FIELDS).append({**row, "seeds": "2", "validation": "99.9"})
    assert search(tmp_path, trials=2).validation < 99.9


def test_rows_of_another_space_compare_but_do_not_count(tmp_path: Path) -> None:
    search(tmp_path, trials=3)
    found = search(tmp_path, trials=2, space={"weight_decay": (0.1, 0.2)})
    assert len(found.rows) == 5


def test_the_space_ends_the_search(tmp_path: Path) -> None:
    assert len(search(tmp_path, space={"layers": (1, 3)}, trials=50).rows) == 3  # the default, 2, joins


def test_lists_can_be_searched(tmp_path: Path) -> None:
    """Channels are a tuple as an option and a list in the log: a trial that is not recognised would be run for ever."""
    space = {"channels": [["X"], ["SX", "X"]], "encoder": ["hops"]}
    found = search(tmp_path, space=space, sampler="grid", trials=5, fixed={**FIXED, "encoder": "hops"})
    assert [json.loads(row["settings"])["channels"] for row in found.rows][1:] == [["X"], ["SX", "X"]]


def test_a_refused_trial_counts_as_worst(tmp_path: Path) -> None:
    fixed = {"negatives": "rff", "num_features": 8, "dim": 4, "steps": 1}
    space = {"temperature": (0.02,)}
    found = search(tmp_path, fixed={**fixed, "num_features": 128}, space=space, trials=2)
    refused, scored = sorted(found.rows, key=log.score)
    assert refused["note"].startswith("refused: ")
    assert (refused["validation"], log.score(refused)) == ("", 0.0)
    assert found.validation == float(scored["validation"]) > 0
    assert found.settings["temperature"] == 0.5


def test_nothing_but_refusals_is_an_error(tmp_path: Path) -> None:
    fixed = {"negatives": "rff", "num_features": 2, "temperature": 0.02}
    with pytest.raises(ValueError, match=r"no trial could be scored; .*trials.csv says why: refused"):
        search(tmp_path, fixed=fixed, space={"dim": (4,)}, trials=1)
    assert not (tmp_path / "recipe.toml").exists()


def test_a_recipe_of_the_users_own_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text("[sbm]\ndim = 3\n")
    with pytest.raises(FileExistsError, match="was not made by localgcl tune"):
        search(tmp_path, trials=1)
    assert (tmp_path / "recipe.toml").read_text() == "[sbm]\ndim = 3\n"
    assert not (tmp_path / "trials.csv").exists()


def test_a_table_that_is_no_log_is_not_added_to(tmp_path: Path) -> None:
    (tmp_path / "trials.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="has other columns than these rows"):
        search(tmp_path, trials=1)
    assert (tmp_path / "trials.csv").read_text() == "a,b\n1,2\n"


def test_a_search_starts_from_the_recipe_of_a_data_set_or_file(tmp_path: Path) -> None:
    cora = dataclasses.replace(graph(), name="cora")
    first = json.loads(search(tmp_path / "a", cora, start="recipe", trials=1).rows[0]["settings"])
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in recipes("local-gcl")["cora"].items()}
    assert first == {**FIRST, **listed, **FIXED}
    (tmp_path / "mine.toml").write_text("[sbm]\ntemperature = 0.8\nhidden = 6\ndim = 7\n")
    space = {"layers": (1, 2), "temperature": (0.5, 1.0)}
    rows = search(tmp_path / "b", start=tmp_path / "mine.toml", space=space, sampler="grid", trials=50, seeds=1).rows
    assert json.loads(rows[0]["settings"]) == {**FIXED, "layers": 2, "temperature": 0.8, "hidden": 6}
    assert {json.loads(row["settings"])["temperature"] for row in rows} == {0.5, 0.8, 1.0}  # it joins
    assert {json.loads(row["settings"])["hidden"] for row in rows} == {6}


def ring_files(folder: Path) -> dict[str, str]:
    """A labelled ring of 60 nodes in three files."""
    lines = [f"{i},{(i + 1) % 60}\n{i},{(i + 2) % 60}" for i in range(60)]
    (folder / "cora.csv").write_text("source,target\n" + "\n".join(lines) + "\n")
    (folder / "labels.csv").write_text("id,label\n" + "\n".join(f"{i},{i // 30}" for i in range(60)) + "\n")
    (folder / "x.csv").write_text("id,a\n" + "\n".join(f"{i},{i}" for i in range(60)) + "\n")
    names = {"edges": "cora.csv", "features": "x.csv", "labels": "labels.csv"}
    return {option: str(folder / name) for option, name in names.items()}


def test_a_users_file_does_not_get_the_recipe_of_a_data_set_of_its_name(tmp_path: Path) -> None:
    source = Source(None, *ring_files(tmp_path).values())
    found = tune(source, out=tmp_path / "out", trials=1, **{**SMALL, "start": "recipe"}, fixed={"dim": 4, "steps": 1})
    assert found.rows[0]["dataset"] == "cora"
    assert "weight_decay" not in json.loads(found.rows[0]["settings"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sampler": "tpee"}, "sampler is 'tpee'; choose one of random, tpe, grid"),
        ({"trials": 0}, "trials is 0"),
        ({"jobs": 0}, "jobs is 0"),
        ({"protocol": "kmeans"}, "picks nothing on validation nodes"),
        ({"method": "grase"}, "did you mean 'grace'"),
        ({"fixed": {"seed": 3}}, "seed cannot be fixed here"),
        ({"fixed": {"dims": 3}}, "did you mean 'dim'"),
        ({"space": "huge"}, "no space 'huge'"),
    ],
)
def test_slips_cost_nothing(wrong: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        search(tmp_path / "out", **{"trials": 1, **wrong})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("workers", [Copying, pytest.param(Workers, marks=pytest.mark.slow)])
def test_workers_do_the_same_trials(workers: type[Workers], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localgcl.experiments.sweep.Workers", workers)
    alone = search(tmp_path / "one", trials=5)
    both = search(tmp_path / "two", trials=5, jobs=2)

    def by_settings(rows: list[log.LogRow]) -> list[log.LogRow]:
        return sorted(lasting(rows), key=lambda row: row["settings"])

    assert by_settings(both.rows) == by_settings(alone.rows)


def test_ctrl_c_leaves_a_log_of_whole_rows(tmp_path: Path) -> None:
    file = tmp_path / "out" / "trials.csv"
    options = [f"--{option}={name}" for option, name in ring_files(tmp_path).items()]
    options += ["--jobs", "2", "--seeds", "1", "--protocol", "knn", "--steps", "100"]
    options += ["--encoder", "hops", "--dim", "16", "--negatives", "exact"]
    process = subprocess.Popen(
        [sys.executable, "-m", "localgcl", "tune", *options, "--out", str(file.parent)],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    # The recipe is written after the row: two trials or more are logged, and the last ones are far off.
    recipe = file.with_name("recipe.toml")
    while not (recipe.exists() and "best of 1 trials" not in recipe.read_text()) and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the parent and its workers
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    rows = log.read(file)
    assert errors == f"localgcl: stopped after {len(rows)} of 50 trials; repeat the command to go on\n"
    assert 2 <= len(rows) < 50
    assert all(row["validation"] and row["protocol"] == "knn" for row in rows)
