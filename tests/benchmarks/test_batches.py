"""benchmarks.batches: the same settings for both forms, rows that are not computed again, and the verdict."""

import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks import batches

from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.system.files import RowFile


def test_settings_are_those_of_one_encoder() -> None:
    graph = sbm(300, features=8, seed=0)
    assert batches.settings_of("arxiv-structure", "gcn", graph, {"dim": 8}) == {
        "encoder": "gcn",
        "batch_norm": True,
        "layers": 3,
        "learning_rate": 0.001,
        "scaling": "standard",
        "steps": 2000,
        "temperature": 0.8,
        "dim": 8,
    }
    assert batches.settings_of("digits", "gcn", graph, {}) == {"encoder": "gcn"}
    chosen = batches.settings_of("arxiv-structure", "hops", graph, {"dim": 8})
    assert (chosen["encoder"], chosen["batch"], chosen["dim"]) == ("hops", 512, 8)
    assert batches.sizes_of("hops", chosen, 2048, 10) == (512, chosen["sampled"])
    assert batches.sizes_of("gcn", {"encoder": "gcn"}, 2048, 10) == (2048, 10)


def test_the_verdict() -> None:
    assert "+0.10 points (standard error 0.10, 2 seeds); at least -0.5 wanted: within" in batches.summary(
        "pubmed", 0.5, [80.0, 81.0], [80.2, 81.0]
    )
    assert "OUTSIDE" in batches.summary("pubmed", 0.5, [80.0], [79.0])
    assert batches.summary("digits", None, [80.0], [79.0]).endswith("1 seeds)")


def test_a_run_is_scored_and_measured() -> None:
    settings = {"encoder": "gcn", "dim": 8, "steps": 2, "batch": 50, "sampled": 3}
    row = batches.run(sbm(300, features=8, seed=0), settings, 1000, "cpu", "validation")
    assert row.keys() == {"accuracy", "seconds", "peak_mib"}
    assert 0 < row["accuracy"] < 100


def test_a_repeated_command_computes_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    computed: list[int] = []

    def run(graph: Graph, settings: dict[str, Any], *_: object) -> dict[str, Any]:
        computed.append(settings["batch"])
        return {"accuracy": 80.0 + graph.num_nodes / 1e4, "seconds": 1.0, "peak_mib": 2}

    monkeypatch.setattr(batches, "run", run)
    arguments = ["--graphs", "digits", "--encoders", "gcn", "--batch", "256", "--sampled", "3", "--seeds", "2"]
    monkeypatch.setattr(sys, "argv", ["batches", "--out", str(tmp_path / "rows.csv"), "--device", "cpu", *arguments])
    batches.main()
    first = capsys.readouterr().out
    batches.main()
    assert capsys.readouterr().out == first
    assert computed == [0, 256, 0, 256]
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 5


def test_the_page_is_made_of_the_stored_rows() -> None:
    page = batches.RESULTS.parents[2] / "docs" / "mini-batches.md"
    assert page.read_text(encoding="utf-8") == batches.page(RowFile(batches.RESULTS, batches.FIELDS).rows())


def test_rows_of_one_machine_are_compared_and_half_a_comparison_gives_way_to_a_whole_one() -> None:
    blank = dict.fromkeys(batches.FIELDS, "") | {"graph": "cora", "encoder": "gcn", "steps": "20", "dim": "8", "sampled": "4"}
    forms = [("card", "0", "80"), ("here", "0", "70"), ("here", "64", "71")]
    rows = [
        blank | {"hardware": machine, "batch": batch, "accuracy": accuracy, "seed": "1", "seconds": "1", "peak_mib": "1"}
        for machine, batch, accuracy in forms
    ]
    assert "+1.00" in batches.page(rows)  # 71 minus 70, and not minus 80
    assert "| card |" not in batches.page(rows)
    assert "| card | mini-batches | 0 | not run |" in batches.page(rows[:2])
