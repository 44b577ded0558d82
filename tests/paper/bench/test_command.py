"""python -m paper bench, from the command line to the table."""

import json
from pathlib import Path

import pytest

from paper.__main__ import main
from paper.bench import table

TINY = ["--dim", "8", "--num-features", "32", "--repeats", "2"]


def test_measuring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "bench.csv"
    sizes = ["--nodes", "30", "60", *TINY, "--out", str(out), "--commit", "abc"]
    assert main(["bench", "negative-term", *sizes, "--providers", "ours", "dense-rff"]) == 0
    printed = capsys.readouterr().out
    assert "negative-term  N=60 d=8 D=32 on cpu" in printed
    assert "to ours" in printed
    rows = table.read(out)
    assert [(row["provider"], row["N"], row["repeats"], row["commit"]) for row in rows] == [
        ("ours", "30", "2", "abc"),
        ("dense-rff", "30", "2", "abc"),
        ("ours", "60", "2", "abc"),
        ("dense-rff", "60", "2", "abc"),
    ]
    assert all(float(row["p20_ms"]) <= float(row["p50_ms"]) <= float(row["p80_ms"]) for row in rows)
    assert {row["peak_mib"] for row in rows} == {""}


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--list"]) == 0
    printed = capsys.readouterr().out
    for name in ("hadamard", "feature-map", "negative-term", "positive-term", "encoder", "train-step", "recipe"):
        assert name in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["negative-trem"], "no benchmark 'negative-trem'; did you mean 'negative-term'?"),
        (["negative-term", "--providers", "our"], "negative-term has no provider 'our'; did you mean 'ours'?"),
        (["encoder", "--suite", "acceptance"], "the suite 'acceptance' has no sizes of encoder for cpu"),
        (["encoder", "--repeats", "0"], "repeats is 0; it must be at least 1"),
        (["encoder", "--seconds", "0"], "seconds is 0.0; it must be above 0"),
        (["fit"], "no benchmark 'fit'"),
    ],
)
def test_wrong_input(arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments, "--nodes", "30", "--dim", "8", "--out", str(tmp_path / "bench.csv")]) == 1
    assert message in capsys.readouterr().err


def test_missing_files_leave_the_other_cells_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from paper.bench.command import Entry
    from paper.bench.setups import Size

    monkeypatch.setattr("paper.bench.setups.load", _nothing_here)
    tiny = [Entry(Size(dim=4, graph="photo")), Entry(Size(120, dim=4))]
    monkeypatch.setattr("paper.bench.command.all_sizes", lambda *_: tiny)
    assert main(["bench", "encoder", "--out", str(tmp_path / "bench.csv"), "--repeats", "1"]) == 1
    assert "1 sizes were left out, because files are missing: no photo" in capsys.readouterr().err
    assert {row["N"] for row in table.read(tmp_path / "bench.csv")} == {"120"}


def _nothing_here(name: str) -> None:
    raise FileNotFoundError(f"no {name}")


def test_nothing_but_the_table_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "hadamard", "--nodes", "30", *TINY, "--out", "mine.csv"]) == 0
    assert [path.name for path in tmp_path.rglob("*")] == ["mine.csv"]


def test_a_file_in_place_of_a_folder_is_found_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the work has begun")

    monkeypatch.setattr("paper.bench.command.measure_entries", refuse)
    (tmp_path / "file").write_text("mine")
    assert main(["bench", "encoder", "--out", str(tmp_path / "file" / "bench.csv")]) == 1
    assert "because" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_json_has_the_benchmarks_and_the_new_rows_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--list", "--json"]) == 0
    assert "negative-term" in json.loads(capsys.readouterr().out)["benchmarks"]
    sizes = ["--nodes", "30", "--dim", "8", "--num-features", "32", "--repeats", "1", "--providers", "ours"]
    for _ in range(2):
        assert main(["bench", "negative-term", *sizes, "--out", str(tmp_path / "bench.csv"), "--commit", "abc", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["command"] == "bench"
        assert [(row["provider"], row["N"]) for row in found["rows"]] == [("ours", "30")]
