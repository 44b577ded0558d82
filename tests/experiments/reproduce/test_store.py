import os
import subprocess
from pathlib import Path

import pytest

from localgcl.experiments.reproduce import store
from localgcl.experiments.reproduce.store import FIELDS, LEDGER_FIELDS, Store, check_committed
from tests.experiments.reproduce.problems import cell, out_of_memory, row


def test_results_are_found_by_recipe_and_seed(tmp_path: Path) -> None:
    kept = Store(tmp_path / "new")
    assert kept.rows() == {}
    for seed in (0, 1):
        kept.add(row(cell(seed), 80.0 + seed))
    found = Store(tmp_path / "new").rows()
    assert found == {cell(seed).key: row(cell(seed), 80.0 + seed) for seed in (0, 1)}
    kept.add(row(cell(1), 85.0))
    assert kept.rows()[cell(1).key]["test"] == "85.0"  # the newest counts


def test_the_ledger_has_every_evaluation_and_never_shrinks(tmp_path: Path) -> None:
    kept = Store(tmp_path)
    kept.add(row(cell(0)))
    kept.add(row(cell(1)))
    kept.add(out_of_memory(cell(2)))  # not evaluated: there was nothing to score
    kept.add(row(cell(0, dim=5)))
    assert kept.evaluations([cell().recipe]) == 2
    assert kept.evaluations([cell().recipe, cell(dim=5).recipe]) == 3
    # A row that is dropped, to be measured again.
    lines = kept.results.path.read_text().splitlines(keepends=True)
    kept.results.path.write_text("".join([lines[0], *lines[2:]]))
    assert cell(0).key not in kept.rows()
    kept.add(row(cell(0)))
    assert kept.evaluations([cell().recipe]) == 3
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
    assert kept.evaluations([cell().recipe]) == 1


@pytest.mark.parametrize(("name", "fields"), [("results.csv", FIELDS), ("ledger.csv", LEDGER_FIELDS)])
def test_a_file_of_other_columns_is_left_alone(name: str, fields: tuple[str, ...], tmp_path: Path) -> None:
    content = ",".join([*fields, "more"]) + "\n"
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=f"{name} has other columns"):
        Store(tmp_path).add(row(cell()))
    assert (tmp_path / name).read_text() == content


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source checkout with one recipe, committed."""
    package = tmp_path / "checkout" / "src" / "localgcl"
    (package / "recipes").mkdir(parents=True)
    (package / "recipes" / "dgi.toml").write_text("[cora]\ndim = 4\n")
    (package / "cli.py").touch()
    monkeypatch.setattr(store, "_PACKAGE", package)
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "all"]):
        subprocess.run(["git", "-C", str(tmp_path / "checkout"), *command], check=True)
    return package


def test_recipes_are_committed_before_test_labels_are_read(checkout: Path) -> None:
    check_committed()
    (checkout / "cli.py").write_text("changed\n")
    check_committed()  # no recipe
    (checkout / "recipes" / "dgi.toml").write_text("[cora]\ndim = 5\n")
    with pytest.raises(ValueError, match=r"not committed; commit them .*: M src/localgcl/recipes/dgi\.toml"):
        check_committed()
    subprocess.run(["git", "-C", str(checkout), "checkout", "-q", "recipes"], check=True)
    check_committed()
    (checkout / "recipes" / "new.toml").touch()
    with pytest.raises(ValueError, match=r"\?\? src/localgcl/recipes/new\.toml"):
        check_committed()


def test_without_history_there_is_nothing_to_check(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "recipes" / "dgi.toml").write_text("[cora]\ndim = 5\n")
    with monkeypatch.context() as patch:
        patch.setenv("PATH", os.devnull)  # no git
        check_committed()
    (checkout.parents[1] / ".git").rename(checkout.parents[1] / "git")  # installed, not a checkout
    check_committed()
