"""How many cores and how much memory this process may use: the machine's, or less inside a container.

Containers limit a process by control groups (cgroups), of which Linux has two versions. A group's limits hold for the groups
below it, so each function reads the files of this process's group and of all groups above it. None of them raises: a limit
that cannot be read counts as no limit.
"""

import functools
import itertools
import math
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

_ROOT = Path("/")
_OLD_MEMORY = ("memory.limit_in_bytes", "memory.usage_in_bytes")


def available_cores(root: Path = _ROOT) -> int:
    """Cores this process may use: those of its affinity mask, or its container's CPU quota, rounded up, where that is less."""
    quotas = _limits("cpu", "cpu.max", ("cpu.cfs_quota_us", "cpu.cfs_period_us"), root)
    return min([allowed_cores(), *(math.ceil(quota / period) for quota, period in quotas)])


def allowed_cores() -> int:
    """Cores of this process's affinity mask; all cores on systems without such masks."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache  # because training asks at every step
def available_memory(root: Path = _ROOT) -> int | None:
    """Bytes this process may use: the machine's memory, or its container's limit where that is less. None if unknown."""
    limits = [limit for (limit,) in _limits("memory", "memory.max", ("memory.limit_in_bytes",), root)]
    installed = _installed_memory()
    return min(limits if installed is None else [installed, *limits], default=None)


def free_memory(root: Path = _ROOT) -> int | None:
    """Bytes this process may still allocate: what the machine has left, or its container where that is less. None if unknown.

    Files that the system keeps in memory count as free, because it drops them when memory is asked for.
    """
    left = [max(0, limit - used) for limit, used in _used_memory(root)]
    free = _free_memory(root)
    return min(left if free is None else [free, *left], default=None)


def resident_memory(root: Path = _ROOT) -> int:
    """Bytes of memory that this process holds now; 0 if unknown."""
    words = _read(root / "proc/self/statm").split()
    return int(words[1]) * os.sysconf("SC_PAGE_SIZE") if len(words) > 1 and words[1].isdecimal() else 0


def _installed_memory() -> int | None:
    if sys.platform == "win32":
        return _windows_memory("total")
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _free_memory(root: Path) -> int | None:
    if sys.platform == "win32":
        return _windows_memory("free")
    return _entries(root / "proc/meminfo").get("MemAvailable:", 0) * 1024 or None


def _windows_memory(which: Literal["total", "free"]) -> int | None:
    import ctypes

    class MemoryStatus(ctypes.Structure):
        """MEMORYSTATUSEX of the Windows API."""

        _fields_ = (
            ("length", ctypes.c_uint32),
            ("load", ctypes.c_uint32),
            ("total", ctypes.c_uint64),
            ("free", ctypes.c_uint64),
            ("others", ctypes.c_uint64 * 5),
        )

    status = MemoryStatus(length=ctypes.sizeof(MemoryStatus))
    try:
        done = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined, unused-ignore]
    except (AttributeError, OSError):
        return None
    return int(getattr(status, which)) if done else None


def _used_memory(root: Path) -> Iterator[tuple[int, int]]:
    """The memory limits that hold for this process, and how much of each is used, cached files left out."""
    for names, folder in _groups("memory", ("memory.max", "memory.current"), _OLD_MEMORY, root):
        words = [_read(folder / name).strip() for name in names]
        if all(word.isdecimal() and int(word) for word in words):
            statistics = _entries(folder / "memory.stat")
            # Version 1 counts the groups below in entries of their own.
            prefix = "total_" if "total_active_file" in statistics else ""
            cached = sum(statistics.get(f"{prefix}{name}", 0) for name in ("active_file", "inactive_file"))
            yield int(words[0]), int(words[1]) - cached


def _limits(controller: str, new: str, old: Sequence[str], root: Path) -> Iterator[list[int]]:
    """The numbers in the limit files of this process's control group and of all groups above it. "max" and -1 are no limits.

    Args:
        controller: "cpu" or "memory".
        new: The file's name in version 2.
        old: The names in version 1, where a quota and its period have a file each.
        root: The root folder; tests use another.
    """
    for names, folder in _groups(controller, (new,), old, root):
        words = " ".join(_read(folder / name) for name in names).split()
        if len(words) == len(old) and all(word.isdecimal() and int(word) for word in words):
            yield [int(word) for word in words]


def _groups(controller: str, new: Sequence[str], old: Sequence[str], root: Path) -> Iterator[tuple[Sequence[str], Path]]:
    """The folders of this process's control group and of all groups above it, and the names that files have there."""
    groups = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers == "":
            mounts, names = [groups, groups / "unified"], new
        elif controller in controllers.split(","):
            mounts, names = list(dict.fromkeys((groups / controllers, groups / controller))), old
        else:
            continue
        # Inside a container, the path may be the host's while the mounted folder is already the container's own group.
        parts = [part for part in path.split("/") if part]
        for mount, depth in itertools.product(mounts, range(len(parts) + 1)):
            yield names, mount.joinpath(*parts[:depth])


def _entries(path: Path) -> dict[str, int]:
    """The first number of each line, by its first word."""
    lines = (line.split() for line in _read(path).splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdecimal()}


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""
