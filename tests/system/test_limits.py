"""Limits of containers, read from made-up control group files."""

import os
import sys
from pathlib import Path

import pytest
import torch

from localgcl.system import devices, limits
from localgcl.system.devices import device_memory
from localgcl.system.limits import available_cores, available_memory, free_memory, resident_memory

MANY = 64
HUGE = 2**50


@pytest.fixture(autouse=True)
def large_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "allowed_cores", lambda: MANY)
    monkeypatch.setattr(limits, "_installed_memory", lambda: HUGE)


def write(root: Path, path: str, content: str) -> None:
    (root / "sys/fs/cgroup" / path).parent.mkdir(parents=True, exist_ok=True)
    (root / "sys/fs/cgroup" / path).write_text(content)


def cgroup(root: Path, text: str) -> None:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(text)


@pytest.mark.parametrize(
    ("content", "cores"),
    [
        ("max 100000\n", MANY),
        ("200000 100000\n", 2),
        ("150000 100000\n", 2),
        ("10000 100000\n", 1),
        ("6400000000 100000\n", MANY),
        ("", MANY),
        ("nonsense", MANY),
        ("100000 0\n", MANY),
    ],
)
def test_quota_of_version_2(tmp_path: Path, content: str, cores: int) -> None:
    cgroup(tmp_path, "0::/\n")
    write(tmp_path, "cpu.max", content)
    assert available_cores(tmp_path) == cores


@pytest.mark.parametrize("folder", ["cpu", "cpu,cpuacct"])
@pytest.mark.parametrize(("quota", "cores"), [("-1", MANY), ("300000", 3), ("50000", 1)])
def test_quota_of_version_1(tmp_path: Path, folder: str, quota: str, cores: int) -> None:
    cgroup(tmp_path, "5:cpu,cpuacct:/docker/1234\n4:memory:/docker/1234\n")
    # As containers without a namespace of their own see it: the path is the host's, the folder is theirs.
    write(tmp_path, f"{folder}/cpu.cfs_quota_us", f"{quota}\n")
    write(tmp_path, f"{folder}/cpu.cfs_period_us", "100000\n")
    assert available_cores(tmp_path) == cores


def test_the_lowest_limit_of_all_groups_above_counts(tmp_path: Path) -> None:
    cgroup(tmp_path, "0::/pod/container\n")
    write(tmp_path, "cpu.max", "max 100000")
    write(tmp_path, "pod/cpu.max", "400000 100000")
    write(tmp_path, "pod/container/cpu.max", "800000 100000")
    write(tmp_path, "pod/memory.max", "4096\n")
    write(tmp_path, "pod/container/memory.max", "max\n")
    assert available_cores(tmp_path) == 4
    assert available_memory(tmp_path) == 4096


def test_memory_limit_of_version_1(tmp_path: Path) -> None:
    cgroup(tmp_path, "4:memory:/task\n0::/\n")
    write(tmp_path, "memory/memory.limit_in_bytes", "9223372036854771712\n")
    assert available_memory(tmp_path) == HUGE
    available_memory.cache_clear()
    write(tmp_path, "memory/task/memory.limit_in_bytes", str(3 * 2**30))
    assert available_memory(tmp_path) == 3 * 2**30


@pytest.mark.parametrize("content", ["", "\n:\n0\nx:y\n", "0::/../..\n", "1:cpu"])
def test_nothing_raises(tmp_path: Path, content: str) -> None:
    assert available_cores(tmp_path) == MANY
    assert available_memory(tmp_path) == HUGE
    cgroup(tmp_path, content)
    available_memory.cache_clear()
    assert available_cores(tmp_path) == MANY
    assert available_memory(tmp_path) == HUGE


# What is left of a machine of which 8 GiB are free


def meminfo(root: Path, kibibytes: int = 8 * 2**20) -> None:
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/meminfo").write_text(f"MemTotal: 99999999 kB\nMemFree: 17 kB\nMemAvailable: {kibibytes} kB\n")


def test_free_memory_is_what_the_machine_can_still_give(tmp_path: Path) -> None:
    meminfo(tmp_path)
    assert free_memory(tmp_path) == 8 * 2**30


def test_free_memory_of_version_2(tmp_path: Path) -> None:
    cgroup(tmp_path, "0::/service/task\n")
    meminfo(tmp_path)
    write(tmp_path, "service/task/memory.max", str(4 * 2**30))
    write(tmp_path, "service/task/memory.current", str(3 * 2**30))
    assert free_memory(tmp_path) == 2**30
    # Files that are read stay in memory as long as nobody needs it. Shared memory (shmem) is counted as a file, and stays.
    write(tmp_path, "service/task/memory.stat", f"file {2**30}\ninactive_file {2**28}\nactive_file {2**28}\nshmem 5\n")
    assert free_memory(tmp_path) == 2**30 + 2**29
    # The group above has a limit of its own, which all its groups share.
    write(tmp_path, "service/memory.max", str(5 * 2**30))
    write(tmp_path, "service/memory.current", str(5 * 2**30 - 12345))
    assert free_memory(tmp_path) == 12345
    write(tmp_path, "service/memory.current", str(6 * 2**30))
    assert free_memory(tmp_path) == 0
    write(tmp_path, "service/memory.max", "max\n")
    assert free_memory(tmp_path) == 2**30 + 2**29


def test_free_memory_of_version_1(tmp_path: Path) -> None:
    cgroup(tmp_path, "4:memory:/docker/1234\n")
    meminfo(tmp_path)
    write(tmp_path, "memory/memory.limit_in_bytes", str(4 * 2**30))
    write(tmp_path, "memory/memory.usage_in_bytes", str(3 * 2**30))
    write(tmp_path, "memory/memory.stat", f"active_file 7\ntotal_active_file {2**29}\ntotal_inactive_file 0\n")
    assert free_memory(tmp_path) == 2**30 + 2**29


@pytest.mark.parametrize("content", ["", "MemAvailable: many kB\n", "MemAvailable:\n"])
def test_unknown_free_memory(tmp_path: Path, content: str) -> None:
    assert free_memory(tmp_path) is None
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text(content)
    assert free_memory(tmp_path) is None


@pytest.mark.parametrize(("content", "pages"), [("900 55 3 0 0 0 0\n", 55), ("", 0), ("900\n", 0), ("a b c\n", 0)])
def test_resident_memory(tmp_path: Path, content: str, pages: int) -> None:
    assert resident_memory(tmp_path) == 0
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/statm").write_text(content)
    assert resident_memory(tmp_path) == pages * os.sysconf("SC_PAGE_SIZE")


def test_unknown_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_installed_memory", lambda: None)
    assert available_memory(tmp_path) is None
    monkeypatch.setattr(devices, "available_memory", lambda: None)
    with pytest.raises(ValueError, match="choose the mode"):
        device_memory("cpu")


def test_device_memory_is_what_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "available_memory", lambda: 12345)
    assert device_memory(torch.device("cpu")) == 12345


def test_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
    memory = available_memory()
    assert memory is not None
    assert memory > 2**28
    if sys.platform == "linux":
        free = free_memory()
        assert free is not None
        assert 0 < free < memory  # less than is installed: this process holds some
        assert 2**27 < resident_memory() < memory  # torch alone takes more


@pytest.mark.skipif(sys.platform == "win32", reason="there it works")
def test_other_systems_ways_give_none_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert limits._windows_memory("total") is None
    monkeypatch.delattr(os, "sysconf")
    assert limits._installed_memory() is None


def test_memory_that_cannot_change_is_read_once_and_free_memory_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training asks at every step, and reads of /proc and of control groups add up."""
    monkeypatch.undo()
    available_memory.cache_clear()
    read, paths = limits._read, list[Path]()

    def counted(path: Path) -> str:
        paths.append(path)
        return read(path)

    monkeypatch.setattr(limits, "_read", counted)
    first = available_memory()
    once = len(paths)
    assert once >= 1
    assert [device_memory("cpu") for _ in range(50)] == [first] * 50
    assert len(paths) == once
    free_memory()
    after = len(paths)
    free_memory()
    assert after > once
    assert len(paths) > after
