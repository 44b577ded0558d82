"""localgcl bench, from the command line to the table."""

from pathlib import Path

import pytest

from localgcl.commands import main
from localgcl.config import read_toml
from localgcl.experiments.bench import table

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


def test_from_measurements_to_costs_pictures_and_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "bench.csv")
    measured = ["--nodes", "30", "60", "120", "240", *TINY, "--out", out, "--providers", "ours", "ours-exact"]
    assert main(["bench", "negative-term", *measured]) == 0
    assert main(["bench", "fit", "--out", out, "--to", str(tmp_path / "costs.toml")]) == 0
    forms = read_toml(tmp_path / "costs.toml")["cpu"]["forms"]
    assert forms.keys() == {"sorf", "exact"}
    assert main(["bench", "plot", "--out", out, "--to", str(tmp_path / "pictures")]) == 0
    assert len(list((tmp_path / "pictures").glob("negative-term-*.png"))) == 1
    assert main(["bench", "page", "--out", out, "--to", str(tmp_path / "speed.md")]) == 0
    assert "## negative-term" in (tmp_path / "speed.md").read_text()
    assert main(["bench", "fit", "--out", out, "--to", str(tmp_path / "c.toml"), "--commit", "no such commit"]) == 1
    assert "no form of the negative term has 4 rows" in capsys.readouterr().err


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
        (["encoder", "--repeats", "0"], "repeats is 0; it must be above 0"),
    ],
)
def test_wrong_input(arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments, "--nodes", "30", "--dim", "8", "--out", str(tmp_path / "bench.csv")]) == 1
    assert message in capsys.readouterr().err


def test_missing_files_leave_the_other_cells_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from localgcl.commands import bench as command
    from localgcl.experiments.bench import suites
    from localgcl.experiments.bench.setups import Cell

    monkeypatch.setattr("localgcl.experiments.bench.setups.load", _nothing_here)
    tiny = [suites.Job(Cell(dim=4, graph="photo")), suites.Job(Cell(120, dim=4))]
    monkeypatch.setattr(command, "sizes", lambda *_: tiny)
    assert main(["bench", "encoder", "--out", str(tmp_path / "bench.csv"), "--repeats", "1"]) == 1
    assert "1 cells were left out, because files are missing: no photo" in capsys.readouterr().err
    assert {row["N"] for row in table.read(tmp_path / "bench.csv")} == {"120"}


def _nothing_here(name: str) -> None:
    raise FileNotFoundError(f"no {name}")
