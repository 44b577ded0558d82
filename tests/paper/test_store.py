from pathlib import Path

import pytest

from paper.store import FIELDS, LEDGER_FIELDS, Store
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
