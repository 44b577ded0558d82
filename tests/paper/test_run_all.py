import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localgcl.experiments import sweep
from localgcl.methods import configure
from localgcl.system.workers import Workers
from paper import cells as module
from paper.cells import Cell, run_all
from paper.store import LEDGER_FIELDS, ResultRow, Store
from tests.experiments.copying import Copying
from tests.paper.problems import TINY, cell, evaluations, out_of_memory, row

Run = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def _committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests do not depend on the state of this checkout."""
    monkeypatch.setattr(module, "check_committed", lambda _: None)


def numbers(mine: ResultRow) -> dict[str, Any]:
    """As `run` returns it, before it is text."""
    kinds = {"test": float, "seconds": float, "steps": int, "seed": int}
    return {**mine, **{name: kind(mine[name]) for name, kind in kinds.items()}}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Cell]:
    """The cells that were run, by a `run` that takes no time and scores 80 plus the seed."""
    cells: list[Cell] = []

    def run(mine: Cell, *_: Any) -> dict[str, Any]:
        cells.append(mine)
        return numbers(row(mine, 80.0 + mine.seed))

    monkeypatch.setattr(module, "run", run)
    return cells


def everything(cells: list[Cell], store: Store, **options: Any) -> tuple[list[str], list[str]]:
    """Failures, and what was said."""
    said: list[str] = []
    return run_all(cells, store, device="cpu", commit="abc", say=said.append, **options), said


def test_what_has_a_result_is_not_run_again(tmp_path: Path, ran: list[Cell]) -> None:
    store = Store(tmp_path)
    failures, said = everything([cell(0), cell(1)], store)
    assert failures == []
    assert said[0] == "cells to run: 2"
    assert re.fullmatch(r"\[2/2, \d+ s\] local-gcl cora seed 1: 81\.00 after 2 steps in 1\.5 s", said[2])
    assert everything([cell(1), cell(2), cell(0)], store)[1][0] == "cells to run: 1"
    assert ran == [cell(0), cell(1), cell(2)]
    assert everything([cell(1)], store) == ([], [])
    assert {key: mine["test"] for key, mine in store.rows().items()} == {cell(s).key: f"{80.0 + s}" for s in (0, 1, 2)}
    assert evaluations(store, [cell().recipe]) == 3


def test_a_cell_that_is_asked_for_twice_runs_once(tmp_path: Path, ran: list[Cell]) -> None:
    same = [cell(0), cell(0, log_every=7), cell(0, timed=True), cell(0)]  # two of them are timed or not
    everything(same, Store(tmp_path))
    assert [mine.timed for mine in ran] == [False, True]


def test_a_row_that_was_dropped_is_measured_again_and_counted_again(tmp_path: Path, ran: list[Cell]) -> None:
    store = Store(tmp_path)
    everything([cell(0), cell(1)], store)
    store.results.path.unlink()
    everything([cell(0), cell(1)], store)
    assert len(ran) == 4
    assert evaluations(store, [cell().recipe]) == 4


def test_a_failure_stops_nothing_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(mine: Cell, *_: Any) -> dict[str, Any]:
        if mine.seed < 3:
            raise (ValueError("the loss became\n  nan"), RuntimeError("no kernel"), FileNotFoundError("no cora"))[mine.seed]
        return numbers(row(mine))

    monkeypatch.setattr(module, "run", run)
    store = Store(tmp_path)
    failures, said = everything([cell(seed) for seed in range(4)], store)
    assert failures == [
        "local-gcl cora seed 0: the loss became nan",
        "local-gcl cora seed 1: no kernel",
        "local-gcl cora seed 2: no cora",
    ]
    assert said[1].endswith("local-gcl cora seed 0: failed: the loss became nan")
    assert set(store.rows()) == {cell(3).key}
    assert evaluations(store, [cell().recipe]) == 1


def test_a_mistake_in_the_code_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "run", lambda *_: dict[str, Any]()["nothing"])
    with pytest.raises(KeyError, match="nothing"):
        everything([cell()], Store(tmp_path))


def test_out_of_memory_is_told_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "run", lambda mine, *_: out_of_memory(mine))
    store = Store(tmp_path)
    failures, said = everything([cell()], store)
    assert failures == []
    assert said[1].endswith("seed 0: out of memory (16 GiB)")
    assert store.rows()[cell().key]["outcome"] == "out of memory (16 GiB)"
    assert evaluations(store, [cell().recipe]) == 0


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_time_starts_nothing(jobs: int, tmp_path: Path, ran: list[Cell]) -> None:
    failures, said = everything([cell(0), cell(1)], Store(tmp_path), minutes=0, jobs=jobs)
    assert (failures, ran) == ([], [])
    assert said == ["cells to run: 2", "time is up, cells left: 2; repeat the command to go on"]
    assert not any(tmp_path.iterdir())


def test_after_so_many_minutes_no_cell_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=1000.0)
    clock.monotonic = lambda: clock.now

    def run(mine: Cell, *_: Any) -> dict[str, Any]:
        clock.now += 60
        return numbers(row(mine))

    monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(sweep, "time", clock)
    store = Store(tmp_path)
    cells = [cell(seed) for seed in range(5)]
    assert everything(cells, store, minutes=1.5)[1][-1] == "time is up, cells left: 3; repeat the command to go on"
    assert everything(cells, store, minutes=3)[1][-1].startswith("[3/3, 180 s]")  # the last was started in time
    assert len(store.rows()) == 5


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(mine: Cell, *_: Any) -> dict[str, Any]:
        if mine.seed == 1:
            raise KeyboardInterrupt
        return numbers(row(mine))

    monkeypatch.setattr(module, "run", run)
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt, match="stopped after 1 of 3 cells; results are kept, repeat the command to go on"):
        everything([cell(0), cell(1), cell(2)], store)
    assert set(store.rows()) == {cell(0).key}


def test_recipes_are_checked_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: list[Cell]) -> None:
    everything([cell(0)], Store(tmp_path))

    def refuse(commit: str | None) -> None:
        raise ValueError(f"{commit}: not committed")

    monkeypatch.setattr(module, "check_committed", refuse)
    for commit in (None, "abc"):  # a named commit does not bypass the check
        with pytest.raises(ValueError, match=f"{commit}: not committed"):
            run_all([cell(1)], Store(tmp_path), device="cpu", commit=commit)
    run_all([cell(0)], Store(tmp_path), device="cpu")  # has its result: no labels are looked at
    assert ran == [cell(0)]


@pytest.mark.parametrize("workers", [Copying, pytest.param(Workers, marks=pytest.mark.slow)])
def test_processes_give_the_same_rows_and_outlive_a_failure(
    workers: type[Workers], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "Workers", workers)
    # Spawned processes know nothing of what is patched here: a real graph that needs no files.
    tiny = configure("local-gcl", TINY)
    wanted = [Cell(tiny, graph, seed, protocol="knn") for graph, seed in (("digits", 0), ("digitz", 0), ("digits", 1))]
    stores = {jobs: Store(tmp_path / str(jobs)) for jobs in (1, 2)}
    for jobs, store in stores.items():
        failures, said = everything(wanted, store, jobs=jobs)
        assert len(failures) == 1
        assert failures[0].startswith("local-gcl digitz seed 0: ")
        assert "did you mean 'digits'" in failures[0]
        assert len(said) == 4
        assert evaluations(store, [wanted[0].recipe]) == 2
    alone, both = (
        {
            key: {name: value for name, value in mine.items() if name not in ("date", "seconds", "jobs")}
            for key, mine in store.rows().items()
        }
        for store in stores.values()
    )
    assert both == alone
    assert set(alone) == {wanted[0].key, wanted[2].key}
    assert [mine["jobs"] for mine in stores[2].rows().values()] == ["2", "2"]
    assert stores[2].ledger.path.read_text().startswith(",".join(LEDGER_FIELDS))
