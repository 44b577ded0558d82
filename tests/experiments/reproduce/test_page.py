import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from localgcl.experiments.reproduce import claims, page
from localgcl.experiments.reproduce.experiments import EXPERIMENTS
from localgcl.experiments.reproduce.store import Store


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
    text = (resources.files("localgcl.experiments.reproduce") / "claims.toml").read_text(encoding="utf-8")
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


def test_time_to_the_length_that_is_best_on_validation() -> None:
    found = EXPERIMENTS["figure-scale"]
    (graph,) = found.columns()
    results = {}
    for label, length, validation, test, seconds in [
        ("local-gcl", 5, 50, 51, 1),
        ("local-gcl", 10, 52, 50, 2),
        ("bgrl", 50, 45, 46, 8),
        ("bgrl", 100, 44, 47, 16),
    ]:
        line = next(line for line in found.lines if (line.label, line.value) == (label, length))
        cell = line.cell(graph, 0, timed=True)
        assert cell is not None
        results[cell.key] = {"outcome": "ok", "test": f"{test}", "validation": f"{validation}", "seconds": f"{seconds}"}
    text = claims.EVIDENCE["time"](claims.Evidence(results, {}))
    assert "local-gcl 50.00 after 2.0 s, its longest; cca-ssg not run; bgrl 46.00 after 8.0 s; grace" in text
    assert text.endswith(
        " local-gcl's time to its best is 0.25 of bgrl's, and to no less than bgrl's best validation accuracy 0.12."
    )


def test_memory_is_compared_with_what_the_paper_says() -> None:
    shared = {"graph": "physics", "cap_gib": 16.0}
    rows = [
        {**shared, "method": "grace", "form": "ours", "out_of_memory": False, "peak_mib": 1024},
        {**shared, "method": "grace", "form": "as released", "out_of_memory": True, "peak_mib": 9000},
        {**shared, "method": "gmi", "form": "as released", "out_of_memory": False, "peak_mib": 9000},
        {**shared, "method": "mvgrl", "form": "as released", "out_of_memory": True, "peak_mib": 9000},
    ]
    text = claims.EVIDENCE["memory"](claims.Evidence({}, {"table-memory": rows}))
    assert "prints as OOM and that were tried as released: grace on physics, gmi on physics." in text
    assert "Over the cap, of all that were tried: grace on physics, mvgrl on physics." in text
    assert text.endswith("need 1.0 GiB at most.")


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
