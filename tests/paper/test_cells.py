import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl import training
from localgcl.config import choices
from localgcl.datasets import digits, random_splits
from localgcl.evaluation import evaluate
from localgcl.methods import METHODS, configure
from localgcl.training import Interrupted, Model
from paper import cells
from paper.cells import Cell, citation_splits, run
from paper.store import FIELDS
from tests.paper.problems import cell, graph

CIRCUMSTANCES = ("seed", "device", "threads", "deterministic", "log_every", "checkpoint_every", "tensorboard")


@pytest.fixture(autouse=True)
def _small_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "_graph", graph)


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, dict[str, Any]]]:
    """What evaluate was called with: embeddings, graph and splits; and the rest."""
    calls, real = [], evaluate

    def kept(*arguments: Any, **settings: Any) -> Any:
        calls.append((arguments, settings))
        return real(*arguments, **settings)

    monkeypatch.setattr(cells, "evaluate", kept)
    return calls


class Fit:
    """`fit`, which remembers its calls and, where asked to, breaks off with `error` after step `last` of a training."""

    def __init__(self) -> None:
        self.real, self.calls = training.fit, list[tuple[Any, bool]]()
        self.last, self.error = -1, BaseException()

    def __call__(self, graph: Any, config: Any, **arguments: Any) -> Model:
        self.calls.append((config, arguments.get("resume", False)))

        def stop(row: dict[str, Any]) -> None:
            if row["step"] == self.last:
                raise self.error

        return self.real(graph, config, callbacks=[stop], **arguments)


@pytest.fixture
def fit(monkeypatch: pytest.MonkeyPatch) -> Fit:
    watched = Fit()
    monkeypatch.setattr(cells, "fit", watched)
    return watched


def other(field: "dataclasses.Field[Any]", value: Any) -> Any:
    """Another value that the option allows."""
    if allowed := choices(field):
        return next(choice for choice in allowed if choice != value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return "cpu"
    if isinstance(value, tuple):
        return value[:-1]
    return value + 1 if isinstance(value, int) else value / 2 + 0.03125


@pytest.mark.parametrize("method", ["local-gcl", "bgrl"])
def test_a_recipe_changes_with_every_setting_but_not_with_circumstances(method: str) -> None:
    mine = cell(method=method)
    config = mine.config
    groups = (config.preparation, config.encoder, config.training, config.options)
    fields = {field.name: field for group in groups for field in dataclasses.fields(group)}
    later = {name for name, field in fields.items() if field.metadata["later"]}  # left out while they have their default
    assert set(mine.settings) | set(CIRCUMSTANCES) | later == set(fields)  # defaults, too
    assert not set(mine.settings) & later
    changed = {}
    for name, field in fields.items():
        settings = {name: other(field, config.flat()[name])}
        changed[name] = dataclasses.replace(mine, config=config.replace(**settings)).recipe
    assert {name for name, recipe in changed.items() if recipe == mine.recipe} == set(CIRCUMSTANCES)
    assert len(set(changed.values())) == len(fields) - len(CIRCUMSTANCES) + 1
    assert configure(method, config.flat()) == config  # spelled out defaults are the same recipe


def test_a_recipe_changes_with_graph_method_protocol_and_timing_but_not_with_the_seed() -> None:
    mine = cell()
    others = [
        dataclasses.replace(mine, graph="citeseer"),
        dataclasses.replace(mine, timed=True),
        dataclasses.replace(mine, protocol="linear"),
        dataclasses.replace(mine, probe={"neighbours": 3}),
        dataclasses.replace(mine, splits="random"),
    ]
    # Two methods with the same settings: they have none of their own.
    untrained = [cell(method=name) for name in ("random-init", "raw-features")]
    assert len({one.recipe for one in (mine, *others, *untrained)}) == 8
    assert dataclasses.replace(mine, seed=5).recipe == mine.recipe
    assert dataclasses.replace(mine, seed=5).key == (mine.recipe, 5)


def test_a_recipe_is_the_same_in_every_process() -> None:
    code = (
        "from localgcl.methods import configure\nfrom paper.cells import Cell\n"
        "print(Cell(configure('grace', {'steps': 7, 'dim': 4}), 'cora', 3).recipe)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == Cell(configure("grace", {"dim": 4, "steps": 7}), "cora", 0).recipe


def test_a_row_has_all_that_a_result_needs(tmp_path: Path) -> None:
    mine = cell(seed=3, protocol="linear")
    row = run(mine, "cpu", tmp_path, commit="abc", jobs=2)
    assert list(row.keys() ^ set(FIELDS)) == []
    assert (row["recipe"], row["method"], row["graph"], row["seed"]) == (mine.recipe, "local-gcl", "cora", 3)
    assert (row["outcome"], row["steps"], row["peak_mib"], row["commit"], row["jobs"]) == ("ok", 2, "", "abc", 2)
    assert 0 < row["test"] <= 100
    assert 0 < row["validation"] <= 100
    assert row["test"] == pytest.approx(sum(json.loads(row["test_by_split"])) / 2, abs=1e-3)  # of two splits, rounded
    assert " thread" in row["hardware"]
    # The settings are enough to make the cell again.
    assert Cell(configure(row["method"], json.loads(row["settings"])), "cora", 0, protocol="linear").recipe == mine.recipe
    assert not any(tmp_path.iterdir())


def test_a_seed_decides_weights_probe_and_the_split_where_the_graph_has_none(
    tmp_path: Path, scored: list[Any], fit: Fit
) -> None:
    run(cell(seed=4, graph="photo"), "cpu", tmp_path)
    ((_, given, (split,)), settings), (config, _) = scored[0], fit.calls[0]
    assert config.training.seed == settings["seed"] == 4
    (mine,) = random_splits(given, num=1, seed=4)
    assert torch.equal(split.train, mine.train)
    assert torch.equal(split.test, mine.test)
    run(cell(seed=4), "cpu", tmp_path)
    assert scored[1][0][2] == graph("cora").splits


def test_an_evaluator_of_its_own(tmp_path: Path, scored: list[Any]) -> None:
    mine = dataclasses.replace(cell(seed=2, protocol="dgi"), probe={"repeats": 3, "steps": 2}, splits="random")
    row = run(mine, "cpu", tmp_path)
    ((_, given, (split,)), settings) = scored[0]
    assert given.splits  # which are not used
    (drawn,) = random_splits(given, num=1, seed=2)
    assert torch.equal(split.train, drawn.train)
    assert {name: settings[name] for name in ("protocol", "repeats", "steps")} == {"protocol": "dgi", "repeats": 3, "steps": 2}
    assert row["protocol"] == mine.evaluator == "dgi repeats=3 steps=2 splits=random"
    assert len(json.loads(row["test_by_split"])) == 3
    assert cell(protocol="dgi").evaluator == "dgi"


def test_without_validation_nodes_that_column_is_empty() -> None:
    split = dataclasses.replace(graph().splits[0], val=torch.zeros(0, dtype=torch.int64))
    row = cells._scored(evaluate(graph().x, graph(), [split], protocol="dgi", steps=1, repeats=2))
    assert (row["validation"], len(json.loads(row["test_by_split"]))) == ("", 2)


def test_a_timed_cell_trains_a_few_steps_before_the_clock_starts(tmp_path: Path, fit: Fit) -> None:
    run(cell(steps=5, warmup=4), "cpu", tmp_path)
    assert [config.training.steps for config, _ in fit.calls] == [5]
    fit.calls.clear()
    row = run(cell(steps=5, warmup=4, timed=True), "cpu", tmp_path)
    assert [config.training.steps for config, _ in fit.calls] == [3, 5]
    assert row["steps"] == 5


@pytest.fixture
def _long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings of four steps are long."""
    monkeypatch.setattr(cells, "_LONG", 4)


LONG = cell(steps=11, negatives="rff", num_features=256)  # draws in every step


@pytest.mark.usefixtures("_long")
@pytest.mark.parametrize("error", [OSError("power cut"), Interrupted("stopped", [])])
def test_an_interrupted_training_goes_on_and_equals_an_undisturbed_one(
    error: BaseException, tmp_path: Path, scored: list[Any], fit: Fit
) -> None:
    whole = run(LONG, "cpu", tmp_path / "whole")
    fit.last, fit.error = 9, error
    with pytest.raises(type(error), match=str(error)):
        run(LONG, "cpu", tmp_path / "parts")
    (folder,) = (tmp_path / "parts").iterdir()
    assert "checkpoint-00000008" in " ".join(path.name for path in folder.iterdir())
    fit.last = 7  # has been passed, unless it starts from the beginning
    parts = run(LONG, "cpu", tmp_path / "parts")
    assert [resumed for _, resumed in fit.calls] == [False, False, True]
    (first, *_), (second, *_) = scored[0][0], scored[1][0]
    assert torch.equal(first, second)
    lasting = set(whole) - {"date", "seconds"}
    assert {name: parts[name] for name in lasting} == {name: whole[name] for name in lasting}
    assert not any((tmp_path / "parts").iterdir())
    assert not any((tmp_path / "whole").iterdir())


@pytest.mark.usefixtures("_long")
def test_a_finished_training_is_only_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fit: Fit) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise OSError("power cut")

    whole = run(LONG, "cpu", tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(cells, "evaluate", broken)
        with pytest.raises(OSError, match="power cut"):
            run(LONG, "cpu", tmp_path)
    fit.last, fit.error = 0, OSError("it was trained again")
    again = run(LONG, "cpu", tmp_path)
    assert (again["test"], again["steps"]) == (whole["test"], 11)
    assert not any(tmp_path.iterdir())


@pytest.mark.usefixtures("_long")
def test_a_folder_that_was_only_just_made_is_begun_anew(tmp_path: Path) -> None:
    folder = tmp_path / f"{LONG.recipe}-0-cpu"
    folder.mkdir()
    (folder / ".config.toml.12345678.toml").touch()
    assert run(LONG, "cpu", tmp_path)["outcome"] == "ok"
    assert not folder.exists()


def test_a_short_training_writes_nothing(tmp_path: Path, fit: Fit) -> None:
    fit.last, fit.error = 1, OSError("power cut")
    with pytest.raises(OSError, match="power cut"):
        run(cell(), "cpu", tmp_path)
    assert not any(tmp_path.iterdir())


@pytest.mark.usefixtures("_long")
@pytest.mark.parametrize("last", [3, 9])  # before and after the first checkpoint
def test_running_out_of_memory_is_a_result(last: int, tmp_path: Path, fit: Fit) -> None:
    fit.last, fit.error = last, torch.cuda.OutOfMemoryError("tried to allocate")
    row = run(LONG, "cpu", tmp_path)
    assert row["outcome"].startswith("out of memory (")
    assert row["outcome"].endswith(" GiB)")
    assert set(row) == set(FIELDS) - {"test", "validation", "test_by_split", "seconds", "steps", "peak_mib"}
    assert not any(tmp_path.iterdir())


def test_running_out_of_shared_memory_is_none(tmp_path: Path, fit: Fit) -> None:
    fit.last, fit.error = 1, torch.cuda.OutOfMemoryError("tried to allocate")
    with pytest.raises(RuntimeError, match="out of memory beside 2 other cells; run it again with --jobs 1"):
        run(cell(), "cpu", tmp_path, jobs=3)


def test_memory_that_was_held_before_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("empty_cache", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda *_: None)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: 3 * 2**20)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda _: 10 * 2**20)
    place, config = torch.device("cuda"), cell().config.replace(device="cpu")
    # A model that was found finished comes back on the CPU: what it took is not known.
    assert cells._train(graph(), config, place, None)[1]["peak_mib"] == ""
    monkeypatch.setattr(Model, "device", property(lambda _: place))
    assert cells._train(graph(), config, place, None)[1]["peak_mib"] == 7


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_a_cell(method: str) -> None:
    mine = cell(method=method)
    assert json.loads(json.dumps(mine.settings)) == mine.settings


def test_citation_splits_have_the_sizes_of_the_public_ones() -> None:
    graph = digits()
    first, second = citation_splits(graph, per_class=20, val=500, test=1000, num=2, seed=3)
    assert graph.y is not None
    assert graph.y[first.train].bincount().tolist() == [20] * 10
    assert (first.val.numel(), first.test.numel()) == (500, 1000)
    assert torch.cat([first.train, first.val, first.test]).unique().numel() == 1700  # no node twice
    (again,) = citation_splits(graph, num=1, seed=4)
    assert torch.equal(second.test, again.test)  # drawn with its seed alone
    assert not torch.equal(first.test, second.test)
    with pytest.raises(ValueError, match="too few for 20 of each class, 500 to validate on and 1700 to test on"):
        citation_splits(graph, test=1700)
