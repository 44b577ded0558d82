import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from paper import store as module
from paper.store import FIELDS, LEDGER_FIELDS, Store, check_commit, check_committed, digest, digest_at, unverified
from tests.paper.problems import cell, evaluations, out_of_memory, row


def test_results_are_found_by_recipe_and_seed(tmp_path: Path) -> None:
    kept = Store(tmp_path / "new")
    assert kept.rows() == {}
    for seed in (0, 1):
        kept.add(row(cell(seed), 80.0 + seed))
    found = Store(tmp_path / "new").rows()
    assert found == {cell(seed).key: row(cell(seed), 80.0 + seed) for seed in (0, 1)}
    kept.add(row(cell(1), 85.0))
    assert kept.rows()[cell(1).key]["test"] == "85.0"  # the newest counts


def test_the_ledger_has_every_finished_evaluation_and_never_shrinks(tmp_path: Path) -> None:
    kept = Store(tmp_path)
    kept.add(row(cell(0)))
    kept.add(row(cell(1)))
    kept.add(out_of_memory(cell(2)))  # not evaluated: there was nothing to score
    kept.add(row(cell(0, dim=5)))
    assert evaluations(kept, [cell().recipe]) == 2
    assert evaluations(kept, [cell().recipe, cell(dim=5).recipe]) == 3
    # A row that is dropped, to be measured again.
    lines = kept.results.path.read_text().splitlines(keepends=True)
    kept.results.path.write_text("".join([lines[0], *lines[2:]]))
    assert cell(0).key not in kept.rows()
    kept.add(row(cell(0)))
    assert evaluations(kept, [cell().recipe]) == 3
    assert kept.ledger.path.read_text().splitlines()[1].split(",") == [
        "2030-01-02T03:04:05+00:00",
        "0123456789abcdef",
        cell().recipe,
        "local-gcl",
        "cora",
        "knn",
        "0",
    ]


def test_the_ledger_is_written_first(tmp_path: Path) -> None:
    """A result that could not be kept was evaluated all the same."""
    kept = Store(tmp_path)
    kept.results.path.mkdir()
    with pytest.raises(IsADirectoryError):
        kept.add(row(cell()))
    assert evaluations(kept, [cell().recipe]) == 1


@pytest.mark.parametrize(("name", "fields"), [("results.csv", FIELDS), ("ledger.csv", LEDGER_FIELDS)])
def test_a_file_of_other_columns_is_left_alone(name: str, fields: tuple[str, ...], tmp_path: Path) -> None:
    content = ",".join([*fields, "more"]) + "\n"
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=f"{name} has other columns"):
        Store(tmp_path).add(row(cell()))
    assert (tmp_path / name).read_text() == content


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
    monkeypatch.setattr(module, "_PACKAGE", package)
    monkeypatch.setattr(module, "_PAPER", root / "paper")
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


def named(commit: str, made_with: str) -> dict[str, str]:
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
    rows = [named(first, changed), named(second, changed), named(first, ""), named(first + "+", changed), named("", changed)]
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
def _fresh_digest() -> Iterator[None]:
    yield
    digest.cache_clear()
