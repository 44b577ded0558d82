import re
from pathlib import Path

import pytest
from benchmarks import ROOT, bench_page, files, pages, published_page
from benchmarks.comparison import in_short

from paper import lines
from paper.bench import table
from paper.store import Store
from tests.benchmarks.stored import fill, readme, row
from tests.unchecked import unchecked


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return fill(Store(tmp_path / "results"))


@pytest.fixture(autouse=True)
def _structure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "arxiv", lambda: "arxiv-structure")


def test_pages_and_readme(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    readme(tmp_path / "README.md", pages.START, pages.END)
    places = ["--results", str(store.folder), "--docs", str(tmp_path / "docs"), "--readme", str(tmp_path / "README.md")]
    pages.main(places)
    written = [Path(line.removeprefix("written: ")) for line in capsys.readouterr().out.splitlines()]
    assert [path.name for path in written] == ["README.md", "results.md", "does-it-hold.md", "published.md"]
    text = written[0].read_text(encoding="utf-8")
    assert text.startswith(f"before\n{pages.START}\nOn shared seeds, Local-GCL has")
    assert text.endswith(f"{pages.END}\nof yesterday\nafter\n")
    assert text.count("yesterday") == 1
    results = written[1].read_text(encoding="utf-8")
    assert results.startswith("# Results\n\n## Summary\n")
    assert "Local-GCL has the highest mean on 2 of 3 graphs, clearly on CS" in results
    assert "An untrained encoder with searched settings is above all of them on Actor." in results  # of one seed: no noise
    assert "## Accuracy against training time\n\n`python -m paper figure-scale`: not run yet." in results
    # Where numbers come from is said once, at the end.
    body, _, end = results.partition("## Where the numbers come from")
    assert "a card" not in body
    assert "(`python -m paper table-main`): 16 results; evaluator linear; a card; 2026-01-02; commit abcdef0." in end
    assert "0 results were entered" in " ".join(end.split())
    assert f"`results/ledger.csv` has {16 + 3} evaluations on test nodes" in end
    assert "`results/ledger-history.csv` has 0 by earlier scripts" in end
    assert "**Verdict:**" in written[2].read_text(encoding="utf-8")
    before = {path: path.read_text(encoding="utf-8") for path in written}
    with unchecked():
        pages.main(places)  # written twice, they stay
    assert {path: path.read_text(encoding="utf-8") for path in written} == before


def test_a_readme_without_marks_is_refused(store: Store, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(f"nothing {pages.START}")
    with pytest.raises(ValueError, match="has no lines"):
        pages.write_pages(store, tmp_path / "docs", tmp_path / "README.md")
    assert (tmp_path / "README.md").read_text() == f"nothing {pages.START}"
    assert not (tmp_path / "docs").exists()


def test_published_results_stand_beside_ours_and_few_seeds_are_explained(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for seed, test in enumerate((82.5, 83.5)):
        store.add(row("table-published", "gmi", "cora", test, seed))
    page = published_page.page(store.rows())
    assert "| gmi | cora | gmi repeats=2 | 83.00\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.71 | 2 | 83.0 | +0.00 |  |" in page
    assert "| dgi | cora | dgi | not run | 0 | 82.3 |  |  |" in page
    assert "1 of 1 rows come within a point" in page
    assert "one seed, because" not in page
    store.add(row("table-published", "dgi", "cora", 80.0))
    page = published_page.page(store.rows())
    assert "1 of 2 rows come within a point" in page
    assert "1 of 26 rows have one seed, because GPU time did not suffice for five" in page


def test_writing_between_marks(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("a\n<!-- s -->\nold\n<!-- e -->\nb\n")
    assert files.write_between(path, "<!-- s -->", "<!-- e -->", "new") == path
    assert path.read_text() == "a\n<!-- s -->\nnew\n<!-- e -->\nb\n"


@pytest.fixture
def documentation() -> Path:
    if not (ROOT / "docs").exists() or not (ROOT / "results" / "results.csv").exists():
        pytest.skip("the documentation is not part of this build")
    return ROOT


def test_the_documentation_is_up_to_date(documentation: Path, tmp_path: Path) -> None:
    """After a result or a wording has changed: make pages."""
    shown = (documentation / "README.md").read_text(encoding="utf-8")
    store = Store(documentation / "results")
    assert in_short(store.rows()) in shown
    assert bench_page.short_table(table.read(documentation / "benchmarks" / "results" / "bench.csv")) in shown
    readme(tmp_path / "README.md", pages.START, pages.END)
    with unchecked():
        written = pages.write_pages(store, tmp_path / "docs", tmp_path / "README.md")
    for path in written[1:]:
        text = path.read_text(encoding="utf-8")
        assert text == (documentation / "docs" / path.name).read_text(encoding="utf-8"), path.name
        for picture in re.findall(r"!\[.*\]\((.*)\)", text):
            assert (documentation / "docs" / picture).is_file()


def test_the_readme_is_one_screen(documentation: Path) -> None:
    text = (documentation / "README.md").read_text(encoding="utf-8")
    assert len(text) <= 4500
    assert len(text.splitlines()) <= 70
    assert max(len(line) for line in text.splitlines() if line.startswith("|")) <= 100
    for page in re.findall(r"\]\((?!http)([^)#]+)\)", text):
        assert (documentation / page).is_file(), page


@pytest.mark.parametrize("name", ["results", "does-it-hold", "published", "speed"])
def test_hashes_and_hardware_are_at_the_end_of_a_page(name: str, documentation: Path) -> None:
    text = (documentation / "docs" / f"{name}.md").read_text(encoding="utf-8")
    body, _, _ = text.partition("## Where the numbers come from")
    assert not re.search(r"commit [0-9a-f]{7}", body)


def test_captions_of_the_page_have_two_sentences_at_most(documentation: Path) -> None:
    text = (documentation / "docs" / "results.md").read_text(encoding="utf-8")
    captions = re.findall(r"^\|.*\|\n\n([^|#!\n-].*)$", text, re.MULTILINE)
    assert len(captions) > 20
    for caption in captions:
        assert len(re.findall(r"[.!?](?= [A-Z]|$)", caption)) <= 2, caption
