"""--json, --quiet and --verbose: one document on stdout, and what people read."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localgcl.commands import COMMANDS, command_parser, main
from localgcl.commands.output import document, plain
from localgcl.datasets import READERS

SMALL = ["--encoder", "gcn", "--dim", "8", "--steps", "2", "--device", "cpu"]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Options that name the files of a small graph: a ring of 300 nodes with two classes."""
    folder = tmp_path_factory.mktemp("graph")
    rng, nodes = np.random.default_rng(0), range(300)
    tables = {
        "edges": ["source,target", *(f"n{i},n{(i + 1) % 300}" for i in nodes)],
        "features": ["id,a,b,c", *(f"n{i},{rng.normal() + i // 150:.3f},{rng.normal():.3f},{i % 3}" for i in nodes)],
        "labels": ["id,label", *(f"n{i},{i // 150}" for i in nodes)],
    }
    for name, rows in tables.items():
        (folder / f"{name}.csv").write_text("\n".join(rows) + "\n")
    return [word for name in tables for word in (f"--{name}", str(folder / f"{name}.csv"))]


@pytest.fixture(scope="module")
def run_folder(graph: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("output") / "run"
    assert main(["train", *graph, *SMALL, "--out", str(folder), "--quiet"]) == 0
    return folder


def told(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    """The document that a command prints; nothing else may be on stdout."""
    capsys.readouterr()
    assert main([*map(str, arguments), "--json"]) == 0
    printed = capsys.readouterr().out
    found: dict[str, Any] = json.loads(printed, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert found["command"] == arguments[0]
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_the_common_options(command: str) -> None:
    parser, _ = command_parser(command, [])
    flags = set(parser._option_string_actions)
    assert {"--json", "-q", "--quiet", "-v", "--verbose", "--debug", "-h", "--help"} <= flags


def test_train(graph: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    found = told(capsys, "train", *graph, *SMALL, "--out", out)
    assert (found["run"], found["nodes"], found["dim"], found["steps"]) == (str(out), 300, 8, 2)
    assert math.isfinite(found["loss"])
    assert found["settings"]["dim"] == 8
    assert found["source"]["edges"] == graph[1]
    assert np.load(found["embeddings"]).shape == (300, 8)


def test_an_untrained_method_has_no_loss(graph: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "train", *graph, "--method", "raw-features", "--out", tmp_path / "run")
    assert (found["steps"], found["loss"], found["dim"]) == (0, None, 3)


def test_embed_and_evaluate(run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "embed", run_folder, "-o", tmp_path / "z.npy")["rows"] == 300
    scores = told(capsys, "evaluate", run_folder, "--protocol", "kmeans")["scores"]
    assert set(scores) == {"local-gcl", "random-init", "raw-features"}
    assert scores["local-gcl"]["unit"] == "percent"


def test_compare(graph: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--methods", "local-gcl", "--seeds", "1", "--dim", "8", "--set", "steps=2", "--protocol", "knn", "--device", "cpu"]
    found = told(capsys, "compare", *graph, *asked, "--out", tmp_path / "c")
    lines = {line["method"]: line for line in found["methods"]}
    assert set(lines) == {"local-gcl", "random-init", "raw-features"}
    ours = lines["local-gcl"]
    assert (ours["seeds"], ours["difference"], ours["steps"]) == (1, None, 2.0)
    assert (Path(found["folder"]) / "compare.csv").is_file()


def test_tune(graph: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "space.toml").write_text("layers = [1, 2]\n")
    asked = ["--space", str(tmp_path / "space.toml"), "--trials", "2", "--seeds", "1", "--protocol", "knn", "--dim", "4"]
    found = told(capsys, "tune", *graph, *asked, "--steps", "2", "--device", "cpu", "--out", tmp_path / "t")
    assert found["trials"] == 2
    assert found["best"][0]["validation"] == found["validation"]
    assert Path(found["recipe"]).is_file()


def test_convert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("duckdb")
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\nc,c\n")
    (tmp_path / "x.csv").write_text("id,x\na,1\nb,2\nc,3\n")
    asked = [str(tmp_path / "edges.csv"), "--features", str(tmp_path / "x.csv"), "--memory", "1GiB"]
    found = told(capsys, "convert", *asked, "--out", tmp_path / "graph")
    assert {name: found[name] for name in ("name", "nodes", "edges", "loops")} == {
        "name": "edges",
        "nodes": 3,
        "edges": 4,
        "loops": 1,
    }


def test_lists(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALGCL_HOME", str(tmp_path))
    found = told(capsys, "datasets")
    assert found["home"] == str(tmp_path)
    by_name = {entry["name"]: entry for entry in found["datasets"]}
    assert by_name["digits"]["ready"] is True
    assert by_name["cora"]["ready"] is False
    assert by_name["cora"]["missing"][0].startswith(str(tmp_path))
    assert by_name["cora"]["nodes"] == 2708
    methods = {entry["method"]: entry for entry in told(capsys, "methods", "--nodes", "1000")["methods"]}
    assert methods["local-gcl"]["step_bytes"]["whole"] > 0
    assert methods["mvgrl"]["step_bytes"]["faithful"] > methods["mvgrl"]["step_bytes"]["scalable"]


def test_data_sets_say_which_files_are_here(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALGCL_HOME", str(tmp_path))
    assert main(["datasets"]) == 0
    printed = capsys.readouterr().out
    words = {line.split()[0]: line.split()[1] for line in printed.splitlines() if len(line.split()) > 7}
    assert (words["cora"], words["chameleon-filtered"], words["digits"]) == ("download", "download", "ready")
    assert f"Files are kept in {tmp_path}" in printed
    for file in READERS["cora"].files:
        (tmp_path / file.path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file.path).touch()
    assert main(["datasets"]) == 0
    assert re.search(r"^cora +ready ", capsys.readouterr().out, re.MULTILINE)


def test_people_read_stderr_meanwhile_and_nothing_with_quiet(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate = ["evaluate", str(run_folder), "--protocol", "kmeans", "--json"]
    assert main(evaluate) == 0
    loud = capsys.readouterr()
    assert main([*evaluate, "-q"]) == 0
    quiet = capsys.readouterr()
    assert "± " in loud.err
    assert quiet.err == ""
    assert json.loads(loud.out) == json.loads(quiet.out)
    assert main(["evaluate", str(tmp_path / "nothing"), "--json"]) == 1
    assert capsys.readouterr().out == ""


def test_quiet_leaves_results_only(
    graph: list[str], run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *graph, *SMALL, "--out", str(tmp_path / "run"), "-q"]) == 0
    assert main(["embed", str(run_folder), "-o", str(tmp_path / "z.npy"), "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["evaluate", str(run_folder), "--protocol", "kmeans", "-q"]) == 0
    assert "local-gcl" in capsys.readouterr().out


def test_verbose_says_versions_and_costs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["datasets", "-v"]) == 0
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("localgcl: debug: Python 3.")
    assert "torch" in first
    assert last.startswith("localgcl: debug: localgcl datasets took ")


def test_documents_have_no_numbers_that_json_lacks() -> None:
    values = {"a": math.nan, "b": [math.inf, -math.inf, 1.5], "c": np.float32("nan"), "d": np.arange(2), "e": Path("x")}
    assert plain(values) == {"a": None, "b": [None, None, 1.5], "c": None, "d": [0, 1], "e": "x"}
    assert json.loads(document("train", values))["b"] == [None, None, 1.5]


def test_documents_print_on_every_terminal() -> None:
    text = document("similar", {"id": "\x1b[31mrot", "name": "Zoë", "lone": "\udc80"})
    assert text.isascii()
    assert "\x1b" not in text
    assert json.loads(text)["name"] == "Zoë"
