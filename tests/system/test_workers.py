import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl.system.workers import Workers

Family = tuple["subprocess.Popen[bytes]", list[int]]
_kept: list[Any] = []


def keep(*values: object) -> None:
    _kept[:] = values


def kept() -> tuple[list[Any], int, int]:
    return _kept, os.getpid(), torch.get_num_threads()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse() -> None:
    raise ValueError("no")


def test_one_job_runs_here_and_at_once() -> None:
    threads = torch.get_num_threads()
    with Workers(1, threads=7, initial=(keep, (1, 2))) as workers:
        done = workers.submit(kept)
        assert done.done()
        assert done.result() == ([1, 2], os.getpid(), threads)
        refused = workers.submit(refuse)
        with pytest.raises(ValueError, match="no"):
            refused.result()


def test_ctrl_c_of_one_job_is_not_kept_for_later() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Workers(1) as workers:
        workers.submit(interrupt)


def test_processes_get_threads_and_initial_values() -> None:
    initial = (keep, (torch.arange(3), "x"))
    with Workers(2, threads=1, initial=initial) as workers:
        (values, name), pid, threads = workers.submit(kept).result()
        assert torch.equal(values, torch.arange(3))
        assert (name, threads) == ("x", 1)
        assert pid != os.getpid()
        refused = workers.submit(refuse)
        with pytest.raises(ValueError, match="no"):
            refused.result()


def test_threads_are_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 5)
    with Workers(2) as workers:
        assert workers.submit(kept).result()[2] == 2


def test_a_worker_that_dies_is_one_line() -> None:
    with (
        pytest.raises(OSError, match="a worker process died, most likely for want of memory; repeat the command with fewer"),
        Workers(2) as workers,
    ):
        workers.submit(die).result()


def test_at_least_one_job() -> None:
    with pytest.raises(ValueError, match="jobs is 0; it must be at least 1"):
        Workers(0)


# A parent of its own, whose two workers write their process ids and then take their time. Importing torch would take most of
# it, and a worker wants only the number of threads.
TORCH = """
def get_num_threads():
    return 2

def set_num_threads(number):
    assert number == 1
"""
PARENT = """
import os, sys, time
from concurrent.futures import wait
from pathlib import Path
from typing import Any
from localgcl.system.workers import Workers

def sleep(folder):
    (folder / str(os.getpid())).touch()
    try:
        time.sleep(120)
    except KeyboardInterrupt:
        (folder / f"{os.getpid()}-ending").touch()
        time.sleep(float(os.environ["ENDING"]))  # such as writing a checkpoint; a second interrupt ends it
        (folder / f"{os.getpid()}-interrupted").touch()
        raise

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    try:
        with Workers(2) as workers:
            wait([workers.submit(sleep, folder) for _ in range(2)])
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.fixture
def ending() -> float:
    """How many seconds an interrupted task takes to end."""
    return 0.5


@pytest.fixture
def family(tmp_path: Path, ending: float) -> Iterator[Family]:
    """The parent, in a process group of its own as in a terminal, and its workers."""
    script, pids = tmp_path / "parent.py", tmp_path / "pids"
    script.write_text(PARENT)
    script.with_name("torch.py").write_text(TORCH)  # a script's folder comes first on the path, also on its workers'
    pids.mkdir()
    command = [sys.executable, str(script), str(pids)]
    parent = subprocess.Popen(command, env=os.environ | {"ENDING": str(ending)}, start_new_session=True)
    try:
        _until(lambda: len(list(pids.iterdir())) == 2, 60)
        yield parent, [int(path.name) for path in pids.iterdir()]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()


def _until(condition: Callable[[], bool], seconds: float) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "too slow"
        time.sleep(0.05)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # An orphan that has ended stays a zombie where nobody collects it, as in some containers.
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rsplit(") ", 1)[1].startswith("Z"))


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_parent(death: signal.Signals, family: Family) -> None:
    parent, workers = family
    assert all(map(_alive, workers))
    parent.send_signal(death)
    assert parent.wait(10) == -death
    _until(lambda: not any(map(_alive, workers)), 10)


@pytest.mark.parametrize("everyone", [True, False])  # a terminal interrupts the group, kill -INT the parent alone
def test_ctrl_c_interrupts_running_tasks_once(everyone: bool, family: Family, tmp_path: Path) -> None:
    parent, workers = family
    os.killpg(parent.pid, signal.SIGINT) if everyone else parent.send_signal(signal.SIGINT)
    assert parent.wait(30) == 130
    assert all((tmp_path / "pids" / f"{pid}-interrupted").exists() for pid in workers)
    _until(lambda: not any(map(_alive, workers)), 10)


@pytest.mark.parametrize("ending", [60.0])
def test_a_second_ctrl_c_acts_at_once(family: Family, tmp_path: Path) -> None:
    parent, workers = family
    parent.send_signal(signal.SIGINT)
    _until(lambda: all((tmp_path / "pids" / f"{pid}-ending").exists() for pid in workers), 30)
    parent.send_signal(signal.SIGINT)
    assert parent.wait(30) == 130
    assert not any((tmp_path / "pids" / f"{pid}-interrupted").exists() for pid in workers)
    _until(lambda: not any(map(_alive, workers)), 10)
