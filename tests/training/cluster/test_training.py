from pathlib import Path
from typing import Any

import pytest

from localgcl.commands import main
from localgcl.datasets import sbm
from localgcl.datasets.source import Source
from localgcl.training.cluster import session, training
from localgcl.training.cluster.training import train_on_cluster
from tests.references.folders import stored


@pytest.fixture(autouse=True)
def _no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AssertionError("Ray must not be started")

    monkeypatch.setattr(session, "import_ray", refuse)


def test_what_is_no_graph_folder_is_refused_before_ray_starts() -> None:
    with pytest.raises(ValueError, match="trains on a graph folder, and digits is none; make one with localgcl convert"):
        train_on_cluster(Source("digits"), None, 2)


def test_wrong_settings_are_refused_before_ray_starts(tmp_path: Path) -> None:
    stored(sbm(100, features=4, seed=0), tmp_path / "graph")
    with pytest.raises(ValueError, match="temperature"):
        train_on_cluster(Source(str(tmp_path / "graph")), tmp_path / "run", 2, temperature=-1.0)


def test_workers_are_given_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in another folder."""
    given: dict[str, Any] = {}

    def note(work: Any, *_: Any) -> None:
        given["source"], given["out"], given["options"] = work.args

    monkeypatch.setattr(session, "import_ray", lambda: Connected)
    monkeypatch.setattr(training, "run_ranks", note)
    monkeypatch.setattr("localgcl.commands.train._result", lambda _: {})  # nothing was trained
    monkeypatch.chdir(tmp_path)
    stored(sbm(100, features=4, seed=0), tmp_path / "graph")
    (tmp_path / "mine.toml").touch()
    (tmp_path / "old").mkdir()
    arguments = ["graph", "--out", "runs/one", "--recipe", "mine.toml", "--warm-start", "old", "--dim", "10"]
    assert main(["train", *arguments, "--engine", "ray", "--workers", "2"]) == 0
    assert given["source"] == {"folder": str(tmp_path / "graph")}
    assert given["out"] == str(tmp_path / "runs" / "one")
    options = given["options"]
    assert (options["recipe"], options["warm_start"]) == (str(tmp_path / "mine.toml"), str(tmp_path / "old"))
    assert (options["dim"], options["resume"], options["method"]) == (10, False, None)


class Connected:
    """A connection to a cluster."""

    @staticmethod
    def is_initialized() -> bool:
        return True

    @staticmethod
    def cluster_resources() -> dict[str, float]:
        return {"CPU": 2}
