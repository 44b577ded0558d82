import json
from pathlib import Path

import pytest

from localgcl.commands import main


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("edges.csv").write_text("payer,payee\na,b\nb,c\n")
    Path("x.csv").write_text("age,customer\n1,a\n2,b\n3,c\n")
    Path("bare.csv").write_text("source,target\na,b\n")


def run(command: str) -> int:
    return main(["inspect", *command.split(), "--seconds", "0"])


def test_an_edge_file_needs_no_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("edges.csv --features x.csv --source payer --target payee --id customer") == 0
    output = capsys.readouterr().out
    assert output.startswith("graph 'edges': 3 nodes, 2 edges as stored")
    assert "problems" not in output


def test_problems_are_the_result_and_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("edges.csv --features x.csv") == 0
    output = capsys.readouterr().out
    assert "which stop localgcl train:" in output
    assert "--source, --target" in output
    assert run("nothere.csv") == 0
    assert "nothere.csv does not exist" in capsys.readouterr().out


def test_a_data_set_is_inspected_with_its_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("digits --json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["structure"]["nodes"] == 1797
    assert found["labels"]["homophily"] > 0.9
    assert set(found["methods"]) >= {"local-gcl", "grace"}


def test_nothing_to_inspect_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("") == 1
    assert "name a data set or give an edge file" in capsys.readouterr().err


def test_text_of_files_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.csv").write_text("id,\x1b[31mred\na,1\nb,2\n")
    assert run("bare.csv --features x.csv") == 0
    assert "\x1b" not in capsys.readouterr().out
