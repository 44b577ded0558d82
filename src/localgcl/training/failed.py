"""Runs that failed: training that would fail again from the same state. The folder says why, and can be used again."""

import logging
import re
from pathlib import Path

_LOG = logging.getLogger(__name__)
_OURS = (
    *("config.toml", "features.json", "encoding.json", "metrics.csv", "tensorboard"),
    *("checkpoint-*.safetensors", "failed.txt"),
)
"""Files of a run without weights. The mark comes last: it stays until all others are moved."""


class TrainingFailed(ValueError):
    """Training cannot go on, and resuming would repeat it: the loss is not finite, or the method cannot be trusted."""


def mark_failed(folder: Path, error: TrainingFailed) -> TrainingFailed:
    """Stores in the run folder why it failed. Returns the error with the command that goes on."""
    (folder / "failed.txt").write_text(f"{error}\n", encoding="utf-8")
    return TrainingFailed(f"{error}, and repeat the command: {_remedy(folder)}")


def require_resumable(folder: Path) -> None:
    """Raises TrainingFailed if the run in `folder` failed."""
    if (reason := reason_of_failure(folder)) is not None:
        raise TrainingFailed(
            f"{folder} failed, and resuming it would repeat that: {reason}; leave --resume out: {_remedy(folder)}"
        )


def is_vacant(folder: Path) -> bool:
    """True if a run may be written to this folder: it holds at most attempts that failed, names of features and an encoding.

    These two are written before the config.toml that makes a folder a run: alone, they are what a killed process left.
    """
    return all(re.fullmatch(r"failed-\d+|(features|encoding)\.json", path.name) for path in folder.iterdir())


def set_aside(folder: Path) -> bool:
    """Moves a failed run to a folder of its own, failed-1 and so on, within its run folder; False if there is none.

    Files of the user's stay where they are: no run writes to them.
    """
    reason = reason_of_failure(folder)
    if reason is None or (folder / "weights.safetensors").exists():
        return False
    place = _next(folder)
    place.mkdir()
    for pattern in _OURS:
        for path in folder.glob(pattern):
            path.rename(place / path.name)
    _LOG.info("the run in %s had failed (%s); it is now in %s", folder, reason, place)
    return True


def reason_of_failure(folder: Path) -> str | None:
    """Why the run in `folder` failed; None if it did not."""
    mark = folder / "failed.txt"
    return " ".join(mark.read_text("utf-8", "replace").split()) if mark.is_file() else None


def _next(folder: Path) -> Path:
    number = 1
    while (folder / f"failed-{number}").exists():
        number += 1
    return folder / f"failed-{number}"


def _remedy(folder: Path) -> str:
    return f"the failed run moves to {_next(folder)}"
