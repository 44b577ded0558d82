from pathlib import Path

import pytest
from benchmarks import BENCH, ROOT, bench_page

from paper.bench.table import measurements, read
from tests.benchmarks.stored import readme
from tests.paper.bench.rows import made_up


def test_the_page_says_what_the_table_says(tmp_path: Path) -> None:
    rows = [made_up(n / 100, n) for n in (1000, 2000, 4000)]
    rows += [made_up(25.0, provider="dense-rff", peak=1234.0), made_up(0.0, provider="dense-exact", note="out of memory")]
    rows += [made_up(5.0, 300, big_d=0, benchmark="encoder")]
    page = tmp_path / "speed.md"
    _, written, *pictures = bench_page.write_page(rows, page, readme(tmp_path / "README.md", bench_page.START, bench_page.END))
    assert written == page
    text = page.read_text()
    assert "## negative-term\n\nThe all-pairs term, forward and backward." in text
    assert "| 1,000 | 256 | 1,024 | dense-rff | 25 (22.5-27.5) | 2.50 | 1,234 | 5 |" in text
    assert "| dense-exact | out of memory |  |" in text
    assert "## recipe" not in text
    assert "| 300 | 256 |  | ours | 5 (" in text
    body, _, end = text.partition("## Where the numbers come from")
    assert "commit" not in body
    made = "2026-01-02; commit 0123456; torch 2.9; python 3.11; load average at most 0.5; float32."
    assert f"- negative-term: Test Processor, 1 thread; {made}" in end
    for picture in pictures:
        assert f"({picture.relative_to(tmp_path)})" in text


@pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the documentation is not part of this build")
def test_the_documentation_is_up_to_date() -> None:
    """After measuring: python -m benchmarks.bench_page."""
    text = (ROOT / "docs" / "speed.md").read_text()
    assert text == bench_page.page(read(BENCH))
    for line in text.splitlines():
        if line.startswith("!["):
            assert (ROOT / "docs" / line.split("](")[1].rstrip(")")).is_file()
    assert len(bench_page.short_table(read(BENCH)).splitlines()) == 2 + 3


def test_ours_is_compared_with_plain_at_real_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        made_up(10.0, 19_717, 1024, peak=512.0),
        made_up(42.0, 19_717, 1024, provider="dense-rff", peak=1280.0),
        made_up(1.0, 1000),
        made_up(2.0, 1000, provider="dense-rff"),
    ]
    measurements(tmp_path / "bench.csv").append(*rows)
    shown = readme(tmp_path / "README.md", bench_page.START, bench_page.END)
    places = ["--table", str(tmp_path / "bench.csv"), "--page", str(tmp_path / "speed.md"), "--readme", str(shown)]
    bench_page.main(places)
    assert capsys.readouterr().out.startswith(f"written: {shown}\nwritten: {tmp_path / 'speed.md'}\n")
    text = shown.read_text()
    assert "| all-pairs loss, 19,717 nodes, CPU, 1 thread | 10 ms, 0.5 GiB | 42 ms, 1.2 GiB | 4.2x |" in text
    assert text.count("yesterday") == 1
    summary = (tmp_path / "speed.md").read_text().partition("## How to read")[0]
    assert "| 19,717 | 1,024 | 1,024 | 10 ms, 0.5 GiB | 42 ms, 1.2 GiB | 4.2 | Test Processor, 1 thread |" in summary
    assert "| 1,000 | 256 |" not in summary
