import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from benchmarks import ROOT, results_page
from benchmarks.claim_figures import FIGURES, draw
from benchmarks.evidence import EVIDENCE, Evidence

from paper.store import Store
from tests.benchmarks.stored import fill
from tests.unchecked import unchecked


def test_every_claim_has_a_figure() -> None:
    assert list(FIGURES) == list(EVIDENCE)


def test_nothing_measured_nothing_drawn(tmp_path: Path) -> None:
    assert [draw(name, Evidence({}, {}), tmp_path) for name in FIGURES] == [None] * len(FIGURES)
    assert list(tmp_path.iterdir()) == []


def test_a_figure_names_graph_and_rival(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")  # text stays text
    evidence = Evidence(fill(Store(tmp_path / "results")).rows(), {})
    path = draw("augmentation-free", evidence, tmp_path)
    assert path == tmp_path / "augmentation-free.svg"
    text = path.read_text(encoding="utf-8")
    assert "cora: cca-ssg" in text
    assert "cs: mvgrl" in text
    assert "photo" not in text  # not run
    ET.fromstring(text)
    again = draw("augmentation-free", evidence, tmp_path / "again")
    assert again is not None
    assert again.read_text(encoding="utf-8") == text


def test_stored_figures_are_those_of_the_results(tmp_path: Path) -> None:
    """Of one claim, for all of them: `make pages` draws them."""
    if not (ROOT / "results" / "results.csv").exists():
        pytest.skip("the results are not part of this build")
    store = Store(ROOT / "results")
    kept = results_page.read_studies(store.folder)
    with unchecked():
        path = draw("sorf", Evidence(store.rows(), {name: each["rows"] for name, each in kept.items()}), tmp_path)
    assert path is not None
    assert path.read_text(encoding="utf-8") == (ROOT / "docs" / "_static" / "claims" / "sorf.svg").read_text(encoding="utf-8")
