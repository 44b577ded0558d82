import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from paper import origin
from paper.origin import check_commit, check_committed, digest, digest_at, unverified

HASH = "0123456789abcdef0123456789abcdef01234567"


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package of a source checkout with one recipe, committed."""
    root = tmp_path / "checkout"
    package = root / "src" / "localgcl"
    (package / "recipes").mkdir(parents=True)
    (package / "recipes" / "dgi.toml").write_text("[cora]\ndim = 4\n")
    (package / "cli.py").write_text("first\n")
    monkeypatch.setattr(origin, "_PACKAGE", package)
    monkeypatch.setattr(origin, "_PAPER", root / "paper")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        git(root, *command)
    digest.cache_clear()
    return package


def without_history(package: Path) -> None:
    (package.parents[1] / ".git").rename(package.parents[1] / "git")


def test_recipes_are_committed_before_test_labels_are_read(checkout: Path) -> None:
    check_committed()
    (checkout / "cli.py").write_text("changed\n")
    check_committed()  # no recipe
    (checkout / "recipes" / "dgi.toml").write_text("[cora]\ndim = 5\n")
    with pytest.raises(ValueError, match=r"not committed; commit them .*: M src/localgcl/recipes/dgi\.toml"):
        check_committed()
    git(checkout, "checkout", "-q", "recipes")
    check_committed()
    (checkout / "recipes" / "new.toml").touch()
    with pytest.raises(ValueError, match=r"\?\? src/localgcl/recipes/new\.toml"):
        check_committed()


def test_a_named_commit_does_not_replace_the_check_of_a_checkout(checkout: Path) -> None:
    (checkout / "recipes" / "dgi.toml").write_text("[cora]\ndim = 5\n")
    head = git(checkout, "rev-parse", "HEAD").strip()
    for check in (check_commit, check_committed):
        with pytest.raises(ValueError, match="this checkout records its own commit: leave it out"):
            check(head)


def test_a_checkout_that_git_does_not_answer_for_is_refused(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("PATH", os.devnull)  # no git
        with pytest.raises(ValueError, match=r"git cannot be run .*; install it"):
            check_committed()
    (checkout.parents[1] / ".git" / "HEAD").unlink()
    with pytest.raises(ValueError, match=r"git status failed in .*not a git repository"):
        check_committed()


def test_a_copy_without_history_names_its_commit_in_full(checkout: Path) -> None:
    without_history(checkout)
    (checkout / "recipes" / "dgi.toml").write_text("[cora]\ndim = 5\n")
    check_committed()  # installed from a package, or a copy: its digest tells later
    check_committed(HASH)
    for short in ("0123456", "HEAD", HASH.upper(), HASH + "+"):
        with pytest.raises(ValueError, match="give all 40 digits"):
            check_committed(short)


def row(commit: str, made_with: str) -> dict[str, str]:
    return {"method": "dgi", "graph": "cora", "seed": "3", "date": "today", "commit": commit, "digest": made_with}


def test_rows_of_a_copy_are_verified_by_their_digest(checkout: Path) -> None:
    root = checkout.parents[1]
    first = git(root, "rev-parse", "HEAD").strip()
    assert digest() == digest_at(first, root)
    (checkout / "recipes" / "dgi.toml").write_text("[cora]\ndim = 5\n")
    digest.cache_clear()
    changed = digest()
    assert changed != digest_at(first, root)
    git(root, "commit", "-qam", "second")
    second = git(root, "rev-parse", "HEAD").strip()
    assert digest_at(second, root) == changed
    # A row that names the commit before its recipe was changed; older rows have no digest.
    rows = [row(first, changed), row(second, changed), row(first, ""), row(first + "+", changed), row("", changed)]
    assert unverified(rows, root) == [f"dgi cora seed 3 of today: its files were not those of {first}"]


def test_what_is_not_source_does_not_count(checkout: Path) -> None:
    before = digest()
    (checkout / "__pycache__").mkdir()
    (checkout / "__pycache__" / "cli.pyc").touch()
    digest.cache_clear()
    assert digest() == before
    (checkout / "new.py").touch()
    digest.cache_clear()
    assert digest() != before


def test_the_code_of_the_protocol_counts(checkout: Path) -> None:
    root = checkout.parents[1]
    first, before = git(root, "rev-parse", "HEAD").strip(), digest()
    (root / "paper").mkdir()
    (root / "paper" / "cells.py").write_text("first\n")
    digest.cache_clear()
    assert digest() != before
    git(root, "add", "-A")
    git(root, "commit", "-qm", "second")
    assert digest() == digest_at("HEAD", root)
    assert digest_at(first, root) == before  # of a commit without the folder, the package alone
    (root / "paper" / "cells.py").write_text("changed\n")
    digest.cache_clear()
    assert digest() != digest_at("HEAD", root)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    yield
    digest.cache_clear()
