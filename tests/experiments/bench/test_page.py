from pathlib import Path

import pytest

from localgcl.experiments.bench import page, table
from tests.experiments.bench.rows import made_up

ROOT = Path(__file__).parents[3]


def test_the_page_says_what_the_table_says(tmp_path: Path) -> None:
    rows = [made_up(n / 100, n) for n in (1000, 2000, 4000)]
    rows += [made_up(25.0, provider="dense-rff", peak=1234.0), made_up(0.0, provider="dense-exact", note="out of memory")]
    rows += [made_up(5.0, 300, big_d=0, benchmark="encoder")]
    written = page.write(rows, tmp_path / "speed.md")
    text = written[0].read_text()
    assert "## negative-term" in text
    assert "| 1,000 | 256 | 1,024 | dense-rff | 25 (22.5-27.5) | 2.50 | 1,234 | 5 |" in text
    assert "| dense-exact | out of memory |  |" in text
    made = "Measured 2026-01-02; commit 0123456789ab; torch 2.9; Python 3.11; load average at most 0.5; float32; processor Test"
    assert made in text
    assert "## recipe" not in text
    assert "| 300 | 256 |  | ours | 5 (" in text
    for picture in written[1:]:
        assert f"({picture.relative_to(tmp_path)})" in text


@pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the documentation is not part of this build")
def test_the_documentation_is_up_to_date() -> None:
    """After measuring: localgcl bench page."""
    text = (ROOT / "docs" / "speed.md").read_text()
    assert text == page.page(table.read(ROOT / "benchmarks" / "results" / "bench.csv"))
    for line in text.splitlines():
        if line.startswith("!["):
            assert (ROOT / "docs" / line.split("](")[1].rstrip(")")).is_file()
    assert page.short(table.read(ROOT / "benchmarks" / "results" / "bench.csv")) in (ROOT / "README.md").read_text()


def test_the_short_table_compares_ours_with_plain_at_real_sizes(tmp_path: Path) -> None:
    rows = [made_up(10.0, 20_000), made_up(42.0, 20_000, provider="dense-rff", peak=1234.0), made_up(1.0, 1000)]
    readme = tmp_path / "README.md"
    readme.write_text(f"before {page.START} old {page.END} after")
    page.write(rows, tmp_path / "speed.md", readme)
    text = readme.read_text()
    assert text.startswith("before ")
    assert text.endswith(" after")
    assert " old " not in text
    (line,) = [line for line in text.splitlines() if "all-pairs" in line]
    assert "| 20,000 | 256 | 1,024 | 10 ms" in line
    assert "| 42 ms, 1,234 MiB | 4.2 |" in line
