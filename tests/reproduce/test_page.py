import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from localgcl.reproduce import claims, page
from localgcl.reproduce.experiments import EXPERIMENTS
from localgcl.reproduce.store import Store


def _row(experiment: str, label: str, graph: str, test: float) -> dict[str, Any]:
    found = EXPERIMENTS[experiment]
    line = next(line for line in found.lines if line.label == label)
    cell = line.cell(graph, 0, timed=found.timed)
    assert cell is not None
    row = {"settings": json.dumps(cell.settings), "peak_mib": ""}
    row |= {"recipe": cell.recipe, "method": line.method, "graph": graph, "protocol": "linear", "outcome": "ok"}
    row |= {"date": "2026-01-02T03:04:05+00:00", "commit": "abcdef0123", "hardware": "a card", "torch": "2", "timed": "False"}
    return {**row, "seed": 0, "test": test, "validation": 80, "test_by_split": f"[{test}]", "seconds": 1, "steps": 2, "jobs": 1}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "results")
    store.add(_row("table-main", "local-gcl, printed settings", "cora", 81.25))
    store.add(_row("table-main", "cca-ssg", "cora", 80.5))
    store.add(_row("table-heterophily", "local-gcl", "actor", 36.5))
    return store


def test_every_claim_has_evidence_and_all_evidence_a_claim() -> None:
    text = (resources.files("localgcl.reproduce") / "claims.toml").read_text(encoding="utf-8")
    written = tomllib.loads(text)
    assert list(written) == list(claims.EVIDENCE)
    for claim in written.values():
        assert set(claim) == {"title", "said", "verdict"}
        assert all(part.strip().endswith(".") for name, part in claim.items() if name != "title")


def test_evidence_is_read_from_results(store: Store) -> None:
    evidence = claims.Evidence(store.rows(), {})
    assert "cora 81.25 against 80.50 (cca-ssg, of 1 run)" in claims.EVIDENCE["augmentation-free"](evidence)
    assert "printed settings: highest on 1 of 1 graphs (cora)" in claims.EVIDENCE["six-of-seven"](evidence)
    assert "actor 36.50 (untrained encoder not run" in claims.EVIDENCE["heterophily"](evidence)


def test_evidence_is_read_from_studies() -> None:
    shared = {"claim": "homophily", "setting": "0.9", "encoder": "gcn"}
    rows = [{**shared, "method": "local-gcl", "accuracy": accuracy} for accuracy in (90.0, 91.0)]
    assert "0.9: local-gcl 90.5." in claims.EVIDENCE["homophily"](claims.Evidence({}, {"block-models": rows}))


def test_evidence_of_nothing_is_no_number() -> None:
    nothing = claims.Evidence({}, {})
    for name, text in claims.EVIDENCE.items():
        assert text(nothing), name
    assert "not run" in claims.EVIDENCE["augmentation-free"](nothing).replace("none run", "not run")
    assert claims.EVIDENCE["homophily"](nothing) == "Not run yet."


def test_pages_and_readme(store: Store, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{page.START}\nof yesterday\n{page.END}\nafter\n")
    written = page.write(store, tmp_path / "docs", readme)
    assert [path.name for path in written] == ["results.md", "does-it-hold.md", "README.md"]
    text = readme.read_text()
    assert text.startswith(f"before\n{page.START}\n| method | cora |")
    assert text.endswith(f"{page.END}\nafter\n")
    assert "81.25" in text
    assert "yesterday" not in text
    results = written[0].read_text()
    assert "## ogbn-arxiv\n\n`localgcl reproduce table-arxiv`: not run yet." in results
    assert "a card; 2026-01-02; commit abcdef0" in results
    assert "**Verdict:**" in written[1].read_text()
    again = page.write(store, tmp_path / "docs", readme)
    assert readme.read_text() == text  # written twice, it stays
    assert again == written


def test_a_readme_without_marks_is_refused(store: Store, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("nothing")
    with pytest.raises(ValueError, match="has no line"):
        page.write(store, tmp_path / "docs", tmp_path / "README.md")
    assert (tmp_path / "README.md").read_text() == "nothing"
