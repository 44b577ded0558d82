import json
from pathlib import Path

import pytest
from benchmarks import claims
from benchmarks.evidence import AUGMENTING, EVIDENCE, Evidence

from localgcl.config import read_toml
from paper import lines
from paper.experiments import EXPERIMENTS
from paper.store import Store
from tests.benchmarks.stored import fill, row


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    return Evidence(fill(Store(tmp_path)).rows(), {})


def test_every_claim_has_evidence_and_all_evidence_a_claim() -> None:
    written = read_toml(claims.CLAIMS)
    assert list(written) == list(EVIDENCE)
    for claim in written.values():
        assert set(claim) == {"title", "said", "holds", "verdict"}
        assert claim["holds"] in claims.HOLDS
        assert all(claim[part].strip().endswith(".") for part in ("said", "verdict"))
        starts = ("does not hold", "not ") if claim["holds"] == "no" else ("holds",)
        assert claim["verdict"].strip().startswith(starts), claim["title"]


def test_augmenting_methods_come_from_the_registry() -> None:
    assert set(AUGMENTING) == {"dgi", "mvgrl", "grace", "gca", "bgrl", "cca-ssg"}


def test_evidence_is_read_from_results(evidence: Evidence) -> None:
    assert "| cora | 81.50 | 81.00 cca-ssg |" in EVIDENCE["augmentation-free"](evidence)
    assert "| photo | not run | not run |" in EVIDENCE["augmentation-free"](evidence)
    assert "on shared seeds, *local-gcl, printed settings* has the highest mean on 2 of 3 graphs (cora, cs)" in EVIDENCE[
        "six-of-seven"
    ](evidence)
    assert "| actor | not run | 29.00 | 32.00 mvgrl | 34.50 |" in EVIDENCE["heterophily"](evidence)


def test_a_rival_that_was_not_trained_is_marked_and_counted(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for seed in (0, 1):
        store.add(row("table-main", "local-gcl, printed settings", "cs", 95.0 + seed, seed))
        rival = row("table-main", "dgi", "cs", 94.0 + seed, seed)
        # Early stopping waited for as many steps as it has patience: the first weights were the best.
        store.add({**rival, "steps": json.loads(rival["settings"])["patience"] + 1})
    text = EVIDENCE["augmentation-free"](Evidence(store.rows(), {})).replace("\N{NO-BREAK SPACE}", " ")
    assert "| cs | 95.50 | 94.50 dgi †2 |" in text
    assert "Of 1 pairs of a graph and such a method local-gcl is ahead in 1 and behind in 0 beyond noise. In 1 pairs" in text


def test_claims_compare_on_shared_seeds_and_name_the_fresh_splits(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for seed, test in enumerate((80.0, 81.0, 95.0)):
        store.add(row("table-main", "local-gcl, printed settings", "cora", test, seed))
    for seed in (0, 1):
        store.add(row("table-main", "cca-ssg", "cora", 82.0 + seed, seed))
        store.add(row("table-splits", "local-gcl", "cora", 80.0 + seed, seed))
        store.add(row("table-splits", "cca-ssg", "cora", 82.5 + seed, seed))
    evidence = Evidence(store.rows(), {})
    assert "settings* has the highest mean on 0 of 1 graphs (none)" in EVIDENCE["six-of-seven"](evidence)
    assert "| cora | 80.50 | 82.50 cca-ssg |" in EVIDENCE["augmentation-free"](evidence)
    for claim in ("six-of-seven", "augmentation-free"):
        said = EVIDENCE[claim](evidence)
        assert "*local-gcl* has 80.50 beside 83.00 of cca-ssg on cora (-2.50 [-2.50, -2.50], 2 seeds)." in said


def test_costs_of_feature_maps_stand_beside_plain_pytorch() -> None:
    size = {"benchmark": "negative-term", "case": "", "d": "64", "D": "128", "device": "a card", "dtype": "", "processor": "p"}
    times = [
        size | {"threads": "2", "N": nodes, "provider": provider, "p50_ms": milliseconds}
        for nodes, provider, milliseconds in (
            ("500", "ours", "9"),
            ("500", "ours-rff", "9"),
            ("4000", "ours", "3"),
            ("4000", "ours-rff", "6"),
            ("4000", "kronecker-sorf", "20"),
            ("4000", "dense-rff", "10"),
            ("8000", "ours", "7"),  # no RFF to compare with
        )
    ]
    text = EVIDENCE["sorf"](Evidence({}, {}, times))
    assert "| negative term with its gradient | a card | 4,000 | 64 | 128 | 3 | 6 | 20 | 10 |" in text
    assert "Median times" not in EVIDENCE["sorf"](Evidence({}, {}))


def test_evidence_is_read_from_studies() -> None:
    shared = {"claim": "homophily", "setting": "0.9", "encoder": "gcn"}
    rows = [{**shared, "method": "local-gcl", "accuracy": accuracy} for accuracy in (90.0, 91.0)]
    assert "| 0.9 | 90.5 |" in EVIDENCE["homophily"](Evidence({}, {"block-models": rows}))


def test_time_to_the_number_of_steps_that_is_best_on_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "arxiv", lambda: "arxiv-structure")
    found = EXPERIMENTS["figure-scale"]
    (graph,) = found.columns()
    results = {}
    for label, steps, validation, test, seconds in [
        ("local-gcl", 5, 50, 51, 1),
        ("local-gcl", 10, 52, 50, 2),
        ("bgrl", 50, 45, 46, 8),
        ("bgrl", 100, 44, 47, 16),
    ]:
        line = next(line for line in found.lines if (line.label, line.value) == (label, steps))
        cell = line.cell(graph, 0, timed=True)
        assert cell is not None
        results[cell.key] = {"outcome": "ok", "test": f"{test}", "validation": f"{validation}", "seconds": f"{seconds}"}
    text = EVIDENCE["time"](Evidence(results, {}))
    assert "| local-gcl | 50.00 | 10 (most) | 2.0 s |" in text
    assert "with 1 seed for each number of steps." in text
    assert "| cca-ssg | not run |  |  |" in text
    assert "| bgrl | 46.00 | 50 | 8.0 s |" in text
    assert " local-gcl takes 0.25 times as long as bgrl to its own best, and 0.12 times as long to bgrl's validation" in text


def test_memory_is_compared_with_what_the_paper_says() -> None:
    shared = {"graph": "physics", "cap_gib": 16.0}
    rows = [
        {**shared, "method": "grace", "form": "ours", "out_of_memory": False, "peak_mib": 1024},
        {**shared, "method": "grace", "form": "as released", "out_of_memory": True, "peak_mib": 9000},
        {**shared, "method": "gmi", "form": "as released", "out_of_memory": False, "peak_mib": 9000},
        {**shared, "method": "mvgrl", "form": "as released", "out_of_memory": True, "peak_mib": 9000},
    ]
    text = EVIDENCE["memory"](Evidence({}, {"table-memory": rows}))
    assert "prints as OOM and that we tried as released: grace on physics, gmi on physics." in text
    assert "Out of memory at 16 GiB were grace on physics, mvgrl on physics." in text
    assert text.endswith("need at most 1.0 GiB.")


def test_evidence_of_nothing_is_no_number() -> None:
    nothing = Evidence({}, {})
    for name, text in EVIDENCE.items():
        assert text(nothing), name
    assert "| cora | not run | not run |" in EVIDENCE["augmentation-free"](nothing)
    assert EVIDENCE["homophily"](nothing) == "Not run yet."


def test_the_page_lists_the_claims_and_then_tells_of_each(evidence: Evidence, tmp_path: Path) -> None:
    page = claims.page(evidence, tmp_path / "claims")
    assert "| [D matters little](#d-matters-little) | yes |" in page
    assert "![Without augmentation, no worse](_static/claims/augmentation-free.svg)\n\n**Verdict:**" in page
    assert "_static/claims/memory.svg" not in page  # not measured
    assert page.count("**Verdict:**") == page.count("**Measured:**") == len(EVIDENCE)
    summary = claims.summary()
    assert "- Does not hold: Best on six of seven graphs; " in summary
    (holds,) = (line for line in summary.splitlines() if line.startswith("- Holds:"))
    assert "SORF is cheaper" not in holds  # in plain PyTorch it is not
    assert "Least training time" not in holds  # of one seed, and CCA-SSG's own best takes less
    assert all(claim["title"] in summary for claim in read_toml(claims.CLAIMS).values())
