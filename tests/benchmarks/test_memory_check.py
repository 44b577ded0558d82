"""The stored comparison of estimated and measured memory: what it covers, and that every row is within the bounds."""

import csv
import json
from pathlib import Path

import pytest
from benchmarks import memory_check

from localgcl.methods import METHODS, configure

STORED = Path(memory_check.__file__).parent / "results" / "memory.csv"


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    if not STORED.exists():
        pytest.skip(f"no {STORED.name} is stored yet; python -m benchmarks.memory_check --out {STORED} measures it")
    with STORED.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_row_is_within_the_bounds_and_says_where_it_was_measured(rows: list[dict[str, str]]) -> None:
    assert list(rows[0]) == list(memory_check.FIELDS)
    for row in rows:
        low, high = memory_check.BOUNDS.get(row["method"], memory_check.OTHER_BOUNDS)
        assert low <= float(row["ratio"]) <= high, row
        assert float(row["ratio"]) == pytest.approx(float(row["estimated_gib"]) / float(row["measured_gib"]), abs=0.005)
        assert all(row[name] for name in ("hardware", "torch", "date", "commit"))


def test_all_methods_and_sizes_are_covered(rows: list[dict[str, str]]) -> None:
    measured = {(row["method"], int(row["nodes"]), row["settings"]) for row in rows}
    assert {method for method, _, _ in measured} == set(METHODS)
    wanted = memory_check.cases(["local", "million", "others"])
    assert {(case.method, case.nodes, json.dumps(dict(case.settings))) for case in wanted} <= measured


def test_cases_are_settings_that_the_methods_take() -> None:
    for case in memory_check.cases(["local", "million", "others"]):
        assert configure(case.method, dict(case.settings)).method == case.method
