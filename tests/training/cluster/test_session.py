import logging
import os
import sys
from typing import Any

import pytest

from localgcl.training.cluster import session
from localgcl.training.cluster.session import Worker, connected


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
    for name in ("RAY_ADDRESS", "RAY_USAGE_STATS_ENABLED", *session._TOKENS):
        monkeypatch.setenv(name, "")  # so that what the code sets is taken back
        monkeypatch.delenv(name)


def use(fake: FakeRay, monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    monkeypatch.setattr(session, "import_ray", lambda: fake)
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
    assert set(session._TOKENS).isdisjoint(os.environ)
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
        assert worker.environment == {"OMP_NUM_THREADS": "4"}


def test_a_cluster_that_is_too_small_is_waited_for_and_this_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use(FakeRay(cpus=4), monkeypatch)
    with caplog.at_level(logging.INFO, logger="localgcl"), connected(8, 1, "cpu"):
        assert "the cluster has 4 CPUs, and the workers take 8; waiting for more" in caplog.text


def test_workers_must_be_some() -> None:
    with pytest.raises(ValueError, match="workers is 0; it must be at least 1"), connected(0, 1, "cpu"):
        pass


def test_without_ray_one_line_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'localgcl\[ray\]'"), connected(2, 1, "cpu"):
        pass
