"""python -m paper, from the command line to the files."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from localgcl.evaluation import evaluate
from localgcl.experiments.tables import Table
from paper import cells, lines, plots
from paper import reproduce as command
from paper.__main__ import main
from paper.lines import Experiment, Line
from paper.store import Store, digest
from paper.studies import STUDIES
from tests.paper.problems import TINY, graph

TABLE = Experiment(
    "Small table",
    "Read me.",
    (Line("local-gcl", "local-gcl", seeds=2), Line("wider", "local-gcl", {"dim": 9}, seeds=2), Line("gca", "gca")),
    ("cora", "photo"),
    table="tbl-exp-main",
)


def curve(axis: str, option: str, values: tuple[int, ...], **changes: Any) -> Experiment:
    points = tuple(Line("local-gcl", "local-gcl", {option: value}, seeds=1, value=value) for value in values)
    return Experiment(f"Small curve of {axis}", "Read me.", points, ("cora",), layout="curve", axis=axis, **changes)


SMALL = {
    "small-table": TABLE,
    "small-scale": curve("steps", "steps", (2, 3), timed=True),
    "small-d": curve("d", "dim", (8, 16)),
    "small-D": dataclasses.replace(
        curve("D", "num_features", (64, 128)), lines=(Line("x", "dgi", {"dim": 8}, seeds=1, value=64),)
    ),
}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small experiments on small graphs, scored by the fastest protocol."""
    monkeypatch.setattr(command, "EXPERIMENTS", SMALL)
    monkeypatch.setattr(command, "GROUPS", {"small-both": ("small-d", "small-D")})
    known = {"local-gcl": {**TINY, "num_features": 64}, "dgi": {"dim": 8, "steps": 2}}
    monkeypatch.setattr(lines, "recipe", lambda method, _: known.get(method))
    monkeypatch.setattr(cells, "_graph", graph)
    monkeypatch.setattr(cells, "check_committed", lambda _: None)
    monkeypatch.setattr(command, "check_commit", lambda _: None)

    def fast(*arguments: Any, protocol: str, **settings: Any) -> Any:
        assert protocol == "linear"
        return evaluate(*arguments, protocol="knn", **settings)

    monkeypatch.setattr(cells, "evaluate", fast)


@pytest.fixture
def never(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("nothing should be run")

    monkeypatch.setattr(cells, "fit", refuse)


def reproduce(*arguments: str | Path, device: str = "cpu") -> int:
    return main([*map(str, arguments), "--device", device])


def test_from_nothing_to_tables_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "results"
    assert reproduce("small-table", "--out", out, "--commit", "abcdefghij") == 0
    printed = capsys.readouterr().out
    assert "cells to run: 8" in printed
    assert "[8/8, " in printed
    for title in ("Small table\n", "Small table: local-gcl minus the others\n", "Small table: peak memory\n"):
        assert title in printed
    assert "not complete: gca: no recipe on cora, photo\n" in printed
    assert "commit abcdefg." in " ".join(printed.split())
    files = {f"small-table{part}{suffix}" for part in ("", "-differences", "-memory") for suffix in (".md", ".tex")}
    assert {path.name for path in out.iterdir()} == {*files, "results.csv", "ledger.csv"}
    assert f"written, as .md and .tex: {out / 'small-table'}, " in printed
    page = (out / "small-table.md").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert page.startswith("## Small table\n\n| method | seeds | cora | photo |\n")
    assert " [84.5 ± 0.4]" in page
    assert "Source: 8 results; evaluator linear; " in page
    assert r"\label{small-table}" in (out / "small-table.tex").read_text(encoding="utf-8")
    assert len(Store(out).rows()) == 8
    assert {(row["source"], row["digest"]) for row in Store(out).rows().values()} == {("run", digest())}

    assert reproduce("small-table", "--out", out) == 0
    assert "cells to run" not in capsys.readouterr().out
    assert len(Store(out).rows()) == 8


@pytest.mark.usefixtures("never")
@pytest.mark.parametrize("name", ["small-table", "table-hyperparameters"])
def test_a_commit_that_cannot_be_recorded_is_refused_before_anything_runs(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(commit: str | None) -> None:
        raise ValueError(f"--commit {commit} is for copies")

    monkeypatch.setattr(command, "check_commit", refuse)
    assert reproduce(name, "--commit", "abc", "--out", tmp_path / "out") == 1
    assert capsys.readouterr().err == "localgcl: error: --commit abc is for copies\n"
    assert not (tmp_path / "out").exists()


def test_graphs_methods_and_seeds_narrow_it_down(tmp_path: Path) -> None:
    assert reproduce("small-table", "--out", tmp_path, "--graphs", "photo", "--methods", "wider", "--seeds", "1") == 0
    (row,) = Store(tmp_path).rows().values()
    assert (row["graph"], row["seed"], '"dim": 9' in row["settings"]) == ("photo", "0", True)


@pytest.mark.usefixtures("never")
def test_showing_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce("small-table", "--show", "--out", tmp_path, device="cuda") == 0
    printed = capsys.readouterr().out
    assert printed == f"small-table: nothing of it has been run yet in {tmp_path}\n"
    assert not any(tmp_path.iterdir())


def test_what_is_shown_and_written_is_what_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["small-table", "--out", str(tmp_path), "--graphs", "photo", "--methods", "wider", "gca", "--seeds", "1"]
    assert reproduce(*asked) == 0
    printed = capsys.readouterr().out
    page = (tmp_path / "small-table.md").read_text(encoding="utf-8")
    assert "\n| method | seeds | photo |\n" in page
    assert [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")] == ["method", "wider"]
    assert "not run" not in printed + page
    assert "cora" not in printed + page
    assert [line for line in printed.splitlines() if "complete" in line] == ["not complete: gca: no recipe on photo"]


def test_many_rows_without_results_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = tuple(Line(f"wide-{width}", "local-gcl", {"dim": width}, seeds=1) for width in range(8, 20))
    monkeypatch.setattr(command, "EXPERIMENTS", {"many": dataclasses.replace(TABLE, lines=lines, graphs=("cora",))})
    assert reproduce("many", "--out", tmp_path, "--methods", "wide-8", "--quiet") == 0
    capsys.readouterr()
    assert reproduce("many", "--show", "--out", tmp_path) == 0
    missing = [line for line in capsys.readouterr().out.splitlines() if line.startswith("not complete: ")]
    assert missing[0] == "not complete: wide-9: not run on cora"
    assert missing[8:] == ["not complete: 3 more rows"]


def test_json_has_the_tables_and_their_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["small-table", "--graphs", "cora", "--methods", "wider", "--seeds", "1", "--out", str(tmp_path), "--json", "-q"]
    assert reproduce(*asked) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["tables"][0]["columns"] == ["method", "seeds", "cora"]
    assert str(tmp_path / "small-table.md") in told["files"]
    assert all(Path(file).is_file() for file in told["files"])
    assert told["missing"] == []
    assert reproduce("--json", "-q") == 0
    assert json.loads(capsys.readouterr().out)["experiments"]["small-table"] == "Small table"


@pytest.mark.usefixtures("never")
def test_no_minutes_run_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce("small-both", "--minutes", "0", "--out", tmp_path) == 0
    assert capsys.readouterr().out.count("time is up, cells left: ") == 2
    assert not (tmp_path / "results.csv").exists()


def test_a_timed_curve_is_drawn_and_never_shares_the_device(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    monkeypatch.setattr(plots, "sensitivity", lambda *_, **__: drawn.append("sensitivity"))
    assert reproduce("small-scale", "--jobs", "3", "--out", tmp_path) == 0
    assert {row["jobs"] for row in Store(tmp_path).rows().values()} == {"1"}
    assert f"written: {tmp_path / 'small-scale.svg'}\n" in capsys.readouterr().out
    assert "training time in seconds" in (tmp_path / "small-scale.svg").read_text()
    assert drawn == []


@pytest.mark.filterwarnings("ignore:in 2 steps the loss was never below")
def test_a_group_is_all_its_parts_and_needs_a_row_in_one_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    monkeypatch.setattr(plots, "sensitivity", lambda rows, path, option: drawn.append((len(rows), path.name, option)))
    assert reproduce("small-both", "--out", tmp_path, "--methods", "dgi") == 0
    assert drawn == [(1, "small-D.svg", "num_features")]
    drawn.clear()
    assert reproduce("small-both", "--out", tmp_path) == 0
    assert drawn == [(2, "small-d.svg", "dim"), (1, "small-D.svg", "num_features")]
    printed = capsys.readouterr().out
    assert "Small curve of d\n" in printed
    assert "Small curve of D\n" in printed


def test_failures_are_told_at_the_end_and_change_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = cells.run

    def run(cell: Any, *rest: Any) -> Any:
        if cell.seed:
            raise ValueError("the loss became nan")
        return real(cell, *rest)

    monkeypatch.setattr(cells, "run", run)
    assert reproduce("small-table", "--graphs", "cora", "--out", tmp_path) == 1
    told = capsys.readouterr()
    assert told.err == "localgcl: error: 2 cells failed: local-gcl cora seed 1: the loss became nan\n"
    assert "not complete: local-gcl: 1 of 2 seeds on cora\n" in told.out
    assert len(Store(tmp_path).rows()) == 2


@pytest.mark.usefixtures("never")
def test_a_file_in_place_of_a_folder_is_found_before_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine")
    assert reproduce("small-table", "--out", tmp_path / "file" / "results") == 1
    assert "because" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.usefixtures("never")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["small-tabel"], "there is nothing called 'small-tabel' to reproduce; did you mean 'small-table'?"),
        (["kernel-eror"], "did you mean 'kernel-error'?"),
        (["small-table", "--graphs", "cora", "foto"], "--graphs names 'foto', which is not part of it; did you mean 'photo'?"),
        (["small-table", "--methods", "wide"], "--methods names 'wide', which is not part of it; did you mean 'wider'?"),
        (["small-both", "--methods", "dgj"], "did you mean 'dgi'?"),
        (["small-table", "--jobs", "0"], "jobs is 0; it must be at least 1"),
        (["small-table", "--seeds", "0"], "seeds is 0; it must be at least 1"),
        (["theorem-error", "--show"], "theorem-error.json is not there; run the study first, without --show"),
        (["small-table", "--minutes", "-1"], "minutes is -1.0; it must be at least 0"),
        (["table-memory"], "memory is counted and capped by the allocator of a GPU"),
    ],
)
def test_slips_are_one_line_and_leave_nothing(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce(*arguments, "--out", tmp_path / "out") == 1
    errors = capsys.readouterr().err
    assert errors.startswith("localgcl: error: ")
    assert errors.count("\n") == 1
    assert message in errors
    assert not (tmp_path / "out").exists()


def test_without_a_name_everything_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce() == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == [*SMALL, "small-both", *STUDIES]
    assert listed[0] == f"{'small-table':21} Small table"  # as wide as the longest name, table-hyperparameters
    assert listed[len(SMALL)] == f"{'small-both':21} All of small-d, small-D"


def test_a_study_is_measured_then_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"n": 1}]

    def draw(kept: Any, path: Path) -> None:
        path.write_text(f"{len(kept)} points")

    study = dataclasses.replace(
        STUDIES["theorem-error"],
        measure=lambda given: rows * len(given.graphs),
        table=lambda kept: Table("mine", "Mine", "Read me.", ["n"], [[str(row["n"])] for row in kept]),
        plot=draw,
    )
    monkeypatch.setitem(STUDIES, "mine", study)
    assert reproduce("mine", "--out", tmp_path, "--graphs", "cora", "cs") == 0
    first = capsys.readouterr().out
    monkeypatch.setitem(STUDIES, "mine", dataclasses.replace(study, measure=lambda _: rows * 7))
    assert reproduce("mine", "--out", tmp_path, "--show", device="cuda") == 0
    assert capsys.readouterr().out == first
    assert {path.name for path in tmp_path.iterdir()} == {f"mine{suffix}" for suffix in (".json", ".md", ".tex", ".svg")}
    assert (tmp_path / "mine.svg").read_text() == "2 points"


def test_nothing_is_written_outside_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    for name in ("docs", "results"):
        (elsewhere / name).mkdir(parents=True)
    (elsewhere / "README.md").write_text("mine")
    monkeypatch.chdir(elsewhere)
    assert reproduce("small-table", "--out", tmp_path / "out", "--graphs", "cora", "--seeds", "1") == 0
    assert {path.name for path in elsewhere.rglob("*")} == {"docs", "results", "README.md"}
    assert reproduce("page") == 1  # is no experiment
    assert (elsewhere / "README.md").read_text() == "mine"
