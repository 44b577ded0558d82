"""The Ray engine without Ray: the cluster that is asked for, what ranks say, and errors."""

import logging
import os
import sys
import threading
import warnings
from typing import Any

import pytest

from localgcl.config import LocalGCLWarning
from localgcl.training import ray_engine
from localgcl.training.ranks import LostRank
from localgcl.training.ray_engine import Desk, Worker, _explained, _in_background, connected, repeat, reporting


class FakeRay:
    """Notes what it is asked for."""

    def __init__(self, *, initialized: bool = False, cpus: float = 8, gpus: float = 0) -> None:
        self.initialized, self.resources = initialized, {"CPU": cpus, "GPU": gpus}
        self.started: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        self.ended = 0

    def is_initialized(self) -> bool:
        return self.initialized

    def init(self, *arguments: Any, **options: Any) -> None:
        self.started.append((arguments, options))
        self.token = os.environ.get("RAY_AUTH_TOKEN")

    def shutdown(self) -> None:
        self.ended += 1

    def cluster_resources(self) -> dict[str, float]:
        return self.resources


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_ADDRESS", "RAY_USAGE_STATS_ENABLED", *ray_engine._TOKENS):
        monkeypatch.setenv(name, "")  # so that what the code sets is taken back
        monkeypatch.delenv(name)


def use(fake: FakeRay, monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    monkeypatch.setattr(ray_engine, "import_ray", lambda: fake)
    return fake


def test_without_an_address_a_cluster_is_started_here_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = use(FakeRay(), monkeypatch)
    with connected(3, 2, "cpu"):
        ((address,), options) = fake.started[0]
        assert (address, options["num_cpus"], options["include_dashboard"]) == ("local", 6, False)
        assert os.path.isdir(options["_temp_dir"])
        assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
        assert fake.ended == 0
    assert fake.ended == 1
    assert not os.path.exists(options["_temp_dir"])


def test_a_cluster_that_is_started_has_a_secret_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise Ray writes one to the home folder."""
    fake = use(FakeRay(), monkeypatch)
    with connected(2, 1, "cpu"):
        assert fake.token is not None
        assert len(fake.token) == 64
        os.environ["RAY_AUTH_MODE"] = "token"  # as Ray does
    assert set(ray_engine._TOKENS).isdisjoint(os.environ)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "mine")
    with connected(2, 1, "cpu"):
        assert fake.token == "mine"
    assert os.environ["RAY_AUTH_TOKEN"] == "mine"


def test_an_address_names_the_cluster_and_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = use(FakeRay(), monkeypatch)
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    with connected(2, 1, "cpu"):
        (arguments, options) = fake.started[0]
        assert arguments == ()  # Ray reads the address itself
        assert fake.token is None  # and the secret of that cluster
        assert {"num_cpus", "_temp_dir"}.isdisjoint(options)  # and refuses these for a cluster that is there
    assert fake.ended == 1  # which disconnects


def test_a_connection_that_is_there_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = use(FakeRay(initialized=True), monkeypatch)
    with connected(2, 1, "cpu"):
        pass
    assert (fake.started, fake.ended) == ([], 0)


def test_the_connection_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = use(FakeRay(), monkeypatch)
    with pytest.raises(KeyError), connected(2, 1, "cpu"):
        raise KeyError
    assert fake.ended == 1


@pytest.mark.parametrize(
    ("workers", "gpus", "device", "share"),
    [(2, 2, "auto", 1), (2, 8, "cuda", 1), (3, 2, "auto", 0.5), (4, 1, "cuda", 0.25), (2, 0, "auto", 0), (2, 2, "cpu", 0)],
)
def test_workers_share_the_gpus(workers: int, gpus: int, device: str, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    use(FakeRay(gpus=gpus), monkeypatch)
    with connected(workers, 4, device) as worker:
        assert worker == Worker(4, share)


def test_a_cluster_that_is_too_small_is_waited_for_and_this_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use(FakeRay(cpus=4), monkeypatch)
    with caplog.at_level(logging.INFO, logger="localgcl"), connected(8, 1, "cpu"):
        assert "the cluster has 4 CPUs, and the workers take 8; waiting for more" in caplog.text


def test_without_ray_one_line_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'localgcl\[ray\]'"), connected(2, 1, "cpu"):
        pass


# What ranks say


def test_notes_and_warnings_of_a_worker_are_repeated_in_the_command(caplog: pytest.LogCaptureFixture) -> None:
    desk, said = Desk(), list[str]()
    with reporting(desk.write):
        desk.write("line", "a line")
        logging.getLogger("localgcl.training").info("a note of %d words", 5)
        warnings.warn("a warning", LocalGCLWarning, stacklevel=1)
        warnings.warn("of another library", UserWarning, stacklevel=1)
    logging.getLogger("localgcl").info("not within")
    kept = desk.take()
    assert kept == [("line", "a line"), ("note", "a note of 5 words"), ("warning", "a warning")]
    assert desk.take() == []
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="localgcl"), pytest.warns(LocalGCLWarning, match="a warning"):
        repeat(kept, said.append)
    assert said == ["a line"]
    assert caplog.messages == ["a note of 5 words"]


def test_a_note_with_a_percent_sign_is_repeated_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="localgcl"):
        repeat([("note", "5 % of rows")], print)
    assert caplog.messages == ["5 % of rows"]


def test_the_first_error_is_kept() -> None:
    desk = Desk()
    assert desk.error() is None
    first = ValueError("wrong")
    desk.fail(first)
    desk.fail(OSError("another rank ended"))
    assert desk.error() is first


# Errors


class Failure(Exception):
    """As Ray's: what each rank raised."""

    def __init__(self, **worker_failures: Exception) -> None:
        super().__init__("Training failed due to worker errors:\n...")
        self.worker_failures = worker_failures


def test_workers_that_are_lost_time_and_again_are_one_line() -> None:
    error = _explained(Failure(first=LostRank("another rank ended or hangs;\nsee its error")))
    assert isinstance(error, LostRank)
    assert str(error) == (
        "workers were lost more than 3 times, at last because: another rank ended or hangs; see its error; go on with "
        "--resume, and see the machines' logs"
    )


def test_errors_of_ray_are_no_defects() -> None:
    died = type("WorkerHealthCheckFailedError", (Exception,), {"__module__": "ray.train.v2"})("the actor died")
    assert "because: the actor died; go on with --resume" in str(_explained(Failure(first=died)))
    assert "because: Training failed due to worker errors: ...; go on" in str(_explained(Failure()))


def test_a_defect_is_raised_as_it_is() -> None:
    defect = ZeroDivisionError()
    assert _explained(Failure(first=LostRank("lost"), second=defect)) is defect


def test_work_is_done_in_another_thread_and_its_error_is_kept() -> None:
    assert _in_background(threading.current_thread).result(10) is not threading.main_thread()

    def fail() -> None:
        raise SystemExit(0)

    with pytest.raises(SystemExit):
        _in_background(fail).result(10)
