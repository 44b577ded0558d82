"""What a result was made with: date, commit, hardware and versions."""

import dataclasses
import datetime
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from localgcl._version import __version__

_PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "numba", "triton")


@dataclasses.dataclass(frozen=True)
class Provenance:
    """What a result was made with.

    Args:
        date: UTC, ISO 8601, to the second.
        commit: Of the source checkout, with a + where files were modified; empty where it is not known.
        device: "cpu", or the GPU's name.
        processor: The CPU's name.
        cores: How many it has.
        threads: How many torch uses.
        python: Its version.
        packages: Versions by name; a package that is not installed is left out.
    """

    date: str
    commit: str
    device: str
    processor: str
    cores: int | None
    threads: int
    python: str
    packages: dict[str, str]

    @property
    def hardware(self) -> str:
        """The GPU's name, or the CPU's with the number of threads."""
        if self.device != "cpu":
            return self.device
        return f"{self.processor}, {self.threads} thread{'s' * (self.threads != 1)}"


def provenance(device: str | torch.device = "cpu", commit: str | None = None) -> Provenance:
    """What results that are computed now on `device` are made with. `commit` is for copies of the source without .git."""
    place = torch.device(device)
    return Provenance(
        date=now(),
        commit=commit or _commit() or "",
        device=torch.cuda.get_device_name(place) if place.type == "cuda" else "cpu",
        processor=_processor(),
        cores=os.cpu_count(),
        threads=torch.get_num_threads(),
        python=platform.python_version(),
        packages={"localgcl": __version__} | {name: found for name in _PACKAGES if (found := _version(name))},
    )


def now() -> str:
    """The time in UTC, ISO 8601, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def describe() -> dict[str, Any]:
    """`provenance` as plain values for a run folder; it names the GPU wherever there is one."""
    made = dataclasses.asdict(provenance("cuda" if torch.cuda.is_available() else "cpu"))
    device = made.pop("device")
    return made | {"commit": made["commit"] or None, "gpu": None if device == "cpu" else device}


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _commit() -> str | None:
    """The commit of the source tree this package is imported from, with a + when it is modified; None when installed."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    try:
        git = ["git", "-C", str(root)]
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        dirty = subprocess.run([*git, "status", "--porcelain", "-uno"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # git is not installed, or refuses this folder: then nothing is known
        return None
    return head + ("+" if dirty else "")
