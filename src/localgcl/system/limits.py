"""How many cores and how much memory this process may use: the machine's, or less inside a container.

Containers limit a process by control groups (cgroups), of which Linux has two versions. A group's limits hold for the groups
below it, so each function reads the files of this process's group and of all groups above it. None of them raises: a limit
that cannot be read counts as no limit.
"""

import itertools
import math
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_ROOT = Path("/")


def available_cores(root: Path = _ROOT) -> int:
    """Cores this process may use: those of its affinity mask, or its container's CPU quota, rounded up, where that is less."""
    quotas = _limits("cpu", "cpu.max", ("cpu.cfs_quota_us", "cpu.cfs_period_us"), root)
    return min([allowed_cores(), *(math.ceil(quota / period) for quota, period in quotas)])


def allowed_cores() -> int:
    """Cores of this process's affinity mask; all cores on systems without such masks."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory(root: Path = _ROOT) -> int | None:
    """Bytes this process may use: the machine's memory, or its container's limit where that is less. None if unknown."""
    limits = [limit for (limit,) in _limits("memory", "memory.max", ("memory.limit_in_bytes",), root)]
    installed = _installed_memory()
    return min(limits if installed is None else [installed, *limits], default=None)


def _installed_memory() -> int | None:
    if sys.platform == "win32":
        return _windows_memory()
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _windows_memory() -> int | None:
    import ctypes

    class MemoryStatus(ctypes.Structure):
        """MEMORYSTATUSEX of the Windows API."""

        _fields_ = (
            ("length", ctypes.c_uint32),
            ("load", ctypes.c_uint32),
            ("total", ctypes.c_uint64),
            ("others", ctypes.c_uint64 * 6),
        )

    status = MemoryStatus(length=ctypes.sizeof(MemoryStatus))
    try:
        done = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined, unused-ignore]
    except (AttributeError, OSError):
        return None
    return int(status.total) if done else None


def _limits(controller: str, new: str, old: Sequence[str], root: Path) -> Iterator[list[int]]:
    """The numbers in the limit files of this process's control group and of all groups above it. "max" and -1 are no limits.

    Args:
        controller: "cpu" or "memory".
        new: The file's name in version 2.
        old: The names in version 1, where a quota and its period have a file each.
        root: The root folder; tests use another.
    """
    groups = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers == "":
            mounts, names = [groups, groups / "unified"], [new]
        elif controller in controllers.split(","):
            mounts, names = [groups / controllers, groups / controller], list(old)
        else:
            continue
        # Inside a container, the path may be the host's while the mounted folder is already the container's own group.
        parts = [part for part in path.split("/") if part]
        for mount, depth in itertools.product(mounts, range(len(parts) + 1)):
            folder = mount.joinpath(*parts[:depth])
            words = " ".join(_read(folder / name) for name in names).split()
            if len(words) == len(old) and all(word.isdecimal() and int(word) for word in words):
                yield [int(word) for word in words]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""
