from pathlib import Path

import pytest
from benchmarks.large import paper
from benchmarks.large.run import FIELDS

from localgcl.system.files import RowFile

ROOT = Path(paper.__file__).parents[2]


def test_a_line_through_points_of_a_line_is_exact() -> None:
    line = paper.Line.fitted([(x, 3 + 2 * x) for x in (1.0, 2.0, 5.0, 10.0)])
    assert line.at(100) == pytest.approx(203)
    assert line.error == pytest.approx(0, abs=1e-9)


def test_a_curve_is_told_by_its_error() -> None:
    line = paper.Line.fitted([(x, x * x) for x in (1.0, 2.0, 5.0, 10.0)])
    assert line.error < -0.3  # a line through 1, 2 and 5 is far below 100 at 10


def test_ranks_share_rows_but_not_conversion() -> None:
    seconds = {stage: paper.Line(0, 3600 / paper.MILLION, 0) for stage in paper.STAGES}
    assert paper._hours(seconds, paper.MILLION, 1) == pytest.approx(4)
    assert paper._hours(seconds, paper.MILLION, 2) == pytest.approx(3)


def test_the_page_is_made_of_the_stored_rows() -> None:
    stored, page = ROOT / "benchmarks" / "results" / "large.csv", ROOT / "docs" / "billion.md"
    if not page.exists():
        pytest.skip("the documentation is not part of this build")
    assert page.read_text(encoding="utf-8") == paper.page(RowFile(stored, FIELDS).rows())
