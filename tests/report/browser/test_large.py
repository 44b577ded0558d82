import sys
from pathlib import Path

import pytest
from benchmarks.report_speed import measure

from localgcl.report.page import page
from tests.references.findings import synthetic


def test_200_000_nodes_are_drawn_and_hovered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "large.html"
    path.write_text(page(synthetic(200_000)), encoding="utf-8")
    measured = measure(path)
    with capsys.disabled():  # times depend on what else the machine does: they are shown, not judged
        sys.stdout.write(f"\n200,000 nodes, {path.stat().st_size / 1e6:.1f} MB: {measured}\n")
    assert 0 < measured["first_paint_s"] <= measured["interactive_s"] <= measured["complete_s"]
    assert 0 < measured["hover_median_ms"] <= measured["hover_worst_ms"]
