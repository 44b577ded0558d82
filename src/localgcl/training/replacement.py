"""Replacing a run: the new one is trained beside the old one, and takes its place when it is whole."""

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from localgcl.system.files import locked_folder
from localgcl.system.text import listed, shown
from localgcl.training.run import TrainingFailed

_FILES = re.compile(
    r"config\.toml|features\.json|encoding\.json|metrics\.csv|weights\.safetensors|embeddings\.npy|report\.html|failed\.txt"
    r"|checkpoint-.*\.safetensors|\..*\.localgcl-[0-9a-f]{8}(\.[^.]*)?"
)
_FOLDERS = re.compile(r"tensorboard|hops|failed-\d+")


@contextlib.contextmanager
def replaced_run(path: Path) -> Iterator[Path]:
    """Yields the folder to train in; on success it becomes `path`. On any error the run in `path` is as it was.

    Where there is no run yet, that folder is `path` itself. Else it is `.NAME.new` beside it; `.NAME.old` is the old run while
    the two change places.

    Raises:
        FileExistsError: `path` is not a run folder, or holds files that are not of the run; or another process replaces it.
    """
    new, old = (path.with_name(f".{path.name}.{word}") for word in ("new", "old"))
    if old.exists() and not path.exists():  # an earlier process was killed between the two renames
        old.rename(path)
    check_replaceable(path)
    if _is_free(path):
        yield path
        return
    for left in (new, old):
        if left.exists():
            _check_own(left)
    with locked_folder(new, f"another process is replacing {shown(path)}; wait for it"):
        for left in (*new.iterdir(), old):  # of a process that was killed
            _remove(left)
        try:
            yield new
        except BaseException as error:
            shutil.rmtree(new)
            kept = f"the run in {shown(path)} is as it was"
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(f"{str(error) or 'stopped'}; {kept}") from error
            if isinstance(error, TrainingFailed):  # its own message tells where the failed run is, which is removed
                raise TrainingFailed(f"{error.__cause__ or error}; {kept}") from error
            raise
        path.rename(old)
        new.rename(path)
        _remove(old)


def check_replaceable(path: Path) -> None:
    """Raises FileExistsError if something is at `path` that is not a run folder, or holds more than runs write."""
    if _is_free(path):
        return
    if path.is_symlink() or not path.is_dir():
        raise FileExistsError(f"{shown(path)} is a link or a file; --overwrite replaces run folders only")
    if not any((path / name).is_file() for name in ("config.toml", "features.json")):
        raise FileExistsError(f"{shown(path)} is not a run folder (it has no config.toml); choose another --out")
    _check_own(path)


def _is_free(path: Path) -> bool:
    """True if nothing is at `path`, or an empty folder."""
    return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def _check_own(path: Path) -> None:
    """Raises FileExistsError if the folder holds what no run writes."""
    entries = {entry.name: entry.is_dir() and not entry.is_symlink() for entry in path.iterdir()}
    foreign = [name for name, folder in entries.items() if not (_FOLDERS if folder else _FILES).fullmatch(name)]
    if foreign:
        raise FileExistsError(
            f"{shown(path)} holds {listed(sorted(foreign))}, which no run writes; move that elsewhere, or choose another --out"
        )


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
