"""Which source a result comes from: recipes are committed before test labels are read, and rows can be checked afterwards.

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

import localgcl

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
