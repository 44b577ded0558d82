"""Engines: what is refused before any process is started, and what the processes are given."""

from pathlib import Path
from typing import Any

import pytest

from localgcl.commands import main
from localgcl.datasets import sbm
from localgcl.datasets.source import Source
from localgcl.training import ray_engine
from localgcl.training.embedding import Parts
from localgcl.training.engines import Task, choose_engine
from localgcl.training.train import Request
from tests.references.folders import stored

SILENT = lambda _: None  # noqa: E731


@pytest.fixture(autouse=True)
def _no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AssertionError("Ray must not be started")

    monkeypatch.setattr(ray_engine, "import_ray", refuse)


def test_what_is_no_graph_folder_is_refused_before_ray_starts(tmp_path: Path) -> None:
    engine = choose_engine("ray", 2)
    with pytest.raises(ValueError, match="2 ranks train on a graph folder, and digits is none; make one with localgcl convert"):
        engine.run(Request(Source("digits")), SILENT)
    with pytest.raises(ValueError, match="2 ranks embed a graph folder, and digits is none"):
        engine.run(Parts(str(tmp_path / "parts"), "run", Source("digits")), SILENT)


def test_wrong_settings_are_refused_before_ray_starts(tmp_path: Path) -> None:
    stored(sbm(100, features=4, seed=0), tmp_path / "graph")
    request = Request(Source(str(tmp_path / "graph")), tmp_path / "run", settings={"temperature": -1.0})
    with pytest.raises(ValueError, match="temperature"):
        choose_engine("ray", 2).run(request, SILENT)


def test_there_is_a_row_for_every_worker(tmp_path: Path) -> None:
    stored(sbm(100, features=4, seed=0), tmp_path / "graph")
    parts = Parts(str(tmp_path / "parts"), "run", Source(str(tmp_path / "graph")))
    with pytest.raises(ValueError, match="there are 101 ranks for 100 nodes; start 1 to 100"):
        choose_engine("ray", 101).run(parts, SILENT)
    with pytest.raises(ValueError, match="workers is 0; it must be at least 1"):
        choose_engine("ray", 0)


def test_workers_are_given_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in another folder."""
    given: list[Task] = []
    monkeypatch.setattr(ray_engine, "import_ray", lambda: Connected)
    monkeypatch.setattr(ray_engine, "run_ranks", lambda task, *_: given.append(task))
    monkeypatch.setattr("localgcl.commands.train._result", lambda _: {})  # nothing was trained
    monkeypatch.chdir(tmp_path)
    stored(sbm(100, features=4, seed=0), tmp_path / "graph")
    (tmp_path / "mine.toml").touch()
    (tmp_path / "old").mkdir()
    arguments = ["graph", "--out", "runs/one", "--recipe", "mine.toml", "--warm-start", "old", "--dim", "10"]
    assert main(["train", *arguments, "--engine", "ray", "--workers", "2"]) == 0
    (request,) = given
    assert isinstance(request, Request)
    assert request.source == Source(folder=str(tmp_path / "graph"))
    assert request.folder == tmp_path / "runs" / "one"
    assert (request.recipe, request.warm_start) == (str(tmp_path / "mine.toml"), str(tmp_path / "old"))
    assert (request.settings, request.resume, request.method) == ({"dim": 10}, False, None)


class Connected:
    """A connection to a cluster."""

    @staticmethod
    def is_initialized() -> bool:
        return True

    @staticmethod
    def cluster_resources() -> dict[str, Any]:
        return {"CPU": 2}
