"""`localgcl report`, `map`, `similar` and `cluster` on a run of own tables."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from localgcl.commands import main
from localgcl.evaluation import evaluate
from tests.report.customers import IDS, train_customers

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_customers(tmp_path_factory.mktemp("customers")).path


@pytest.fixture(scope="module", autouse=True)
def short_probe() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("localgcl.report.measures.evaluate", functools.partial(evaluate, steps=5))
        yield


def run(*arguments: str | Path) -> int:
    return main([str(argument) for argument in arguments])


# report


def test_a_report_is_written_into_the_run_folder(folder: Path, capsys: Capture) -> None:
    assert run("report", folder, "--layout", "pca", "--clusters", "3") == 0
    printed = capsys.readouterr()
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "<script>alert(1)</script>" not in page
    for told in (
        "placing nodes in the plane",
        "All 60 nodes are shown.",
        "Two principal components",
        "raw-features: ",
        f"{folder}/report.html",
    ):
        assert told in printed.out
    assert printed.err == ""
    before = page
    assert run("report", folder, "--layout", "pca") == 1
    assert "exists already; choose another name, or replace it with --force" in capsys.readouterr().err
    assert (folder / "report.html").read_text(encoding="utf-8") == before
    assert run("report", folder, "--layout", "pca", "--no-scores", "--clusters", "2", "--force", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["output"] == str(folder / "report.html")
    assert [cluster["name"] for cluster in told["clusters"]] == ["cluster 1", "cluster 2"]
    assert told["scores"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("report", "-o", "report.pdf"), "report.pdf has the extension '.pdf'; a report is a page, so name it .html"),
        (("report", "-o", "nowhere/report.html"), "the folder nowhere does not exist; create it first"),
        (("map", "-o", "map.gif"), "map.gif has the extension '.gif'; a picture is one of .png, .svg, .pdf"),
        (("map", "-o", "nowhere/map.png"), "the folder nowhere does not exist; create it first"),
        (("cluster", "-o", "clusters.xlsx"), "clusters.xlsx has the extension '.xlsx'; known are .csv, .tsv, .parquet"),
        (("report", "-o", "r.html", "--seed", "-1"), "seed is -1; it must be at least 0 and at most 4294967295, for example 0"),
        (("cluster", "--seed", str(2**32)), "seed is 4294967296; it must be at least 0 and at most 4294967295"),
        (("similar", "c 1-1", "-k", "0"), "k is 0; it must be at least 1, for example 10"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_work(
    folder: Path,
    arguments: tuple[str, ...],
    message: str,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def work(*_: object) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr("localgcl.training.model.Model.load", work)
    command, *rest = arguments
    assert run(command, folder, *rest) == 1
    assert message in capsys.readouterr().err


# map


def test_a_map_is_drawn_and_coloured_by_a_column(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "map.png"
    assert run("map", folder, "-o", path, "--layout", "pca") == 0
    assert "coloured by label" in capsys.readouterr().out
    for column in ("income", "colour", "cluster", "degree"):
        assert run("map", folder, "-o", path, "--layout", "pca", "--color", column, "--force") == 0
        assert f"coloured by {column}" in capsys.readouterr().out
    assert path.read_bytes().startswith(b"\x89PNG")
    assert run("map", folder, "-o", path, "--layout", "pca", "--color", "incme", "--force") == 1
    assert "there is no column 'incme' to colour by; did you mean 'income'?" in capsys.readouterr().err


# similar


def test_similar_nodes_are_listed_with_label_and_neighbourhood(folder: Path, capsys: Capture) -> None:
    assert run("similar", folder, "c 1-3", IDS[0], "-k", "4") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "most similar to c 1-3"
    assert lines[1].split() == ["id", "similarity", "label", "neighbour"]
    assert all(line.strip().startswith("c 1-") for line in lines[2:6])  # groups are disconnected and have their own columns
    assert lines[6] == f"most similar to {IDS[0]}"
    assert len(lines) == 12
    assert run("similar", folder, "c 1-3", "-k", "4", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["similar"]["c 1-3"]
    assert [row["id"] for row in rows] == [line.strip().partition("  ")[0] for line in lines[2:6]]
    assert {type(row["neighbour"]) for row in rows} == {bool}


def test_an_unknown_node_is_one_line_with_close_ids(folder: Path, capsys: Capture) -> None:
    assert run("similar", folder, "C 1-3") == 1
    assert capsys.readouterr().err == "localgcl: error: the graph has no node 'C 1-3'; did you mean 'c 1-3'?\n"
    assert run("similar", folder, "c1-33") == 1
    assert "did you mean 'c 1-3'" in capsys.readouterr().err
    assert run("similar", folder, "c 2-1") == 0
    capsys.readouterr()
    assert run("similar", folder, "c 2") == 1
    assert "did you mean 'c 2-" in capsys.readouterr().err
    assert run("similar", folder, "zzzzzzz") == 1
    error = capsys.readouterr().err
    assert "the graph has no node 'zzzzzzz'; it has " in error
    assert error.count("\n") == 1


def test_more_similar_nodes_than_there_are_are_all(folder: Path, capsys: Capture) -> None:
    assert run("similar", folder, "c 1-3", "-k", "1000", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["similar"]["c 1-3"]) == 59


# cluster


def test_clusters_are_printed_and_written(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    for name, read in (("c.csv", pd.read_csv), ("c.parquet", pd.read_parquet)):
        assert run("cluster", folder, "-k", "3", "-o", tmp_path / name) == 0
        table = read(tmp_path / name)
        assert list(table.columns) == ["id", "cluster"]
        assert sorted(table["id"]) == sorted(IDS)
        assert table["cluster"].value_counts().to_dict() == {1: 20, 2: 20, 3: 20}
    printed = capsys.readouterr().out
    assert "cluster 1: 20 nodes, such as " in printed
    assert "label = gold (of labelled nodes): 100% here, 0% elsewhere" in printed
    assert "clusters of 60 nodes in" in printed
    assert run("cluster", folder, "-k", "61") == 1
    assert "clusters is 61; there are 60 nodes, so choose from 1 to 60" in capsys.readouterr().err
