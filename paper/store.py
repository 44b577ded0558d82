"""What has been run: results.csv has a row for each cell, ledger.csv one for each evaluation that was finished.

Results are found by their settings (see `cells`), not by the table they were run for: tables share them, and nothing is run
twice. Rows may be deleted from results.csv to be measured again; the ledger only grows. Two more files are written by hand:

- ledger-history.csv: evaluations on test nodes by earlier scripts, entered later. Its recipes are hashes of the settings as
  those scripts recorded them, so they are none of results.csv.
- corrections.csv: what was changed in these files other than by appending, and why. It only grows, too.

A result names the source that it comes from: recipes are committed before test labels are read, and rows can be checked later.
In a git checkout git says which commit it is, and whether its recipes are committed. A copy without history, as on a machine
that only measures, has to be told (`--commit`). So each row also keeps a digest of the files of the package and of this folder,
which `git ls-tree` gives for the commit too: a row that names a commit it was not made from is found by `unverified`.
"""

import functools
import hashlib
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import localgcl
from localgcl.system.files import RowFile

ResultRow = dict[str, str]
StudyRow = dict[str, Any]
"""What a study measured once: plain values by name."""
Results = Mapping[tuple[str, int], ResultRow]
"""Rows by recipe and seed."""
FIELDS = (
    *("recipe", "method", "graph", "seed", "outcome", "test", "validation", "test_by_split", "seconds", "steps", "peak_mib"),
    *("settings", "protocol", "timed", "jobs", "date", "commit", "hardware", "torch", "source", "digest"),
)
"""source: "run", or the file that a row was entered from. digest: see `digest`; empty in rows older than it."""
LEDGER_FIELDS = ("date", "commit", "recipe", "method", "graph", "protocol", "seed")
HISTORY_FIELDS = (*LEDGER_FIELDS, "test", "settings", "source")
CORRECTION_FIELDS = ("date", "before", "file", "column", "rows", "old", "new", "reason")
"""before: a commit that has the file as it was."""


class Store:
    """The files of a folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.results = RowFile(self.folder / "results.csv", FIELDS)
        self.ledger = RowFile(self.folder / "ledger.csv", LEDGER_FIELDS)
        self.history = RowFile(self.folder / "ledger-history.csv", HISTORY_FIELDS)
        self.corrections = RowFile(self.folder / "corrections.csv", CORRECTION_FIELDS)

    @property
    def runs(self) -> Path:
        """Where unfinished trainings are kept."""
        return self.folder / "unfinished"

    def rows(self) -> dict[tuple[str, int], ResultRow]:
        """The newest result of each recipe and seed."""
        return {(row["recipe"], int(row["seed"])): row for row in self.results.rows()}

    def add(self, row: Mapping[str, Any]) -> None:
        """Keeps a result. One with a test score is written into the ledger first."""
        if row["outcome"] == "ok":
            self.ledger.append({name: row[name] for name in LEDGER_FIELDS})
        self.results.append(row)


_PACKAGE = Path(localgcl.__file__).parent
_PAPER = Path(__file__).parent
_COUNTED = (".py", ".toml")
_IN_PAPER = "paper/"


def check_commit(commit: str | None) -> None:
    """Raises ValueError unless `commit` is None, or a full hash and this is a copy of the source without its history."""
    if commit is None:
        return
    if _checkout() is not None:
        raise ValueError(f"--commit {commit} is for copies without .git; this checkout records its own commit: leave it out")
    if not re.fullmatch("[0-9a-f]{40}", commit):
        raise ValueError(f"--commit is {commit!r}; give all 40 digits that `git rev-parse HEAD` prints")


def check_committed(commit: str | None = None) -> None:
    """`check_commit`, and raises ValueError if a recipe of a checkout is not committed.

    Settings come before the look at test labels. A copy without history passes: its rows are checked later, by their digest.
    """
    check_commit(commit)
    root = _checkout()
    if root is None:
        return
    changed = _git(root, "status", "--porcelain", "--", str(_PACKAGE / "recipes")).strip()
    if changed:
        raise ValueError(
            "these recipes are not committed; commit them and their validation log before evaluating them on test nodes: "
            + "; ".join(changed.splitlines())
        )


@functools.cache
def digest() -> str:
    """A hash of the source files and recipes, in 16 digits; `digest_at` gives the same for a commit."""
    counted = {}
    for folder, prefix in ((_PACKAGE, ""), (_PAPER, _IN_PAPER)):
        for path in folder.rglob("*"):
            if path.suffix in _COUNTED:
                counted[prefix + path.relative_to(folder).as_posix()] = _blob(path.read_bytes())
    return _combined(counted)


def digest_at(commit: str, root: Path) -> str:
    """The `digest` of the files that `commit` of the repository `root` has.

    Files of the package are named as seen from it, those of this folder from the repository. Of commits from before there was
    this folder, when its files were part of the package, the digest is therefore what it was then.
    """
    inside = "src/localgcl/"
    listed = (line.split(maxsplit=3) for line in _git(root, "ls-tree", "-r", commit, "--", inside, _IN_PAPER).splitlines())
    blobs = {path.removeprefix(inside): blob for _, _, blob, path in listed}
    return _combined({path: blob for path, blob in blobs.items() if path.endswith(_COUNTED)})


def unverified(rows: Sequence[Mapping[str, str]], root: Path) -> list[str]:
    """Rows of results.csv whose files were not those of the commit they name, a line each.

    Rows without a digest are older than it. A commit with a + says itself that files were modified.
    """
    named = {row["commit"] for row in rows if row["digest"]}
    digests = {commit: digest_at(commit, root) for commit in named if commit and not commit.endswith("+")}
    return [
        f"{row['method']} {row['graph']} seed {row['seed']} of {row['date']}: its files were not those of {row['commit']}"
        for row in rows
        if row["digest"] and digests.get(row["commit"], row["digest"]) != row["digest"]
    ]


def _combined(blobs: Mapping[str, str]) -> str:
    text = "".join(f"{blob} {path}\n" for path, blob in sorted(blobs.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _blob(content: bytes) -> str:
    """The hash by which git knows a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _checkout() -> Path | None:
    """The git checkout that localgcl is imported from; None where it is a copy or installed."""
    root = _PACKAGE.parents[1]
    return root if (root / ".git").exists() else None


def _git(root: Path, *arguments: str) -> str:
    try:
        return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True).stdout
    except OSError as error:
        raise ValueError(f"{root} is a git checkout, but git cannot be run ({error}); install it") from error
    except subprocess.CalledProcessError as error:
        raise ValueError(f"git {arguments[0]} failed in {root}: {' '.join(error.stderr.split())}") from error
