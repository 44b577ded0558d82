"""--source, --target and --id on the command line; a run remembers them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from localgcl.commands import main
from localgcl.training import RunFolder

FAST = "--encoder gcn --dim 6 --steps 2 --device cpu --quiet"
FILES = "--edges edges.csv --features x.csv --labels y.csv"
NAMES = "--source payer --target payee --id customer"


def run(line: str) -> int:
    return main(line.split())


def embedded(line: str) -> NDArray[Any]:
    assert run(f"embed {line} -o z.npy --force") == 0
    z: NDArray[Any] = np.load("z.npy")
    return z


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ring of 30 customers."""
    monkeypatch.chdir(tmp_path)
    names = [f"c{i}" for i in range(30)]
    pd.DataFrame({"payer": names, "payee": [*names[1:], names[0]]}).to_csv("edges.csv", index=False)
    x = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=list("abc"))
    x.insert(1, "customer", names)
    x.to_csv("x.csv", index=False)
    pd.DataFrame({"label": [i % 2 for i in range(30)], "customer": names}).to_csv("y.csv", index=False)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_run_remembers_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"train {FILES} {NAMES} {FAST} --out run") == 0
    z = np.load("run/embeddings.npy")
    source = RunFolder.open("run").source
    assert {role: source[role] for role in ("source", "target", "id")} == {
        "source": "payer",
        "target": "payee",
        "id": "customer",
    }
    np.testing.assert_array_equal(embedded("run"), z)
    np.testing.assert_array_equal(embedded("run --edges edges.csv --features x.csv"), z)
    assert run("train --resume --out run --quiet") == 0
    assert run(f"train --resume --out run {FILES} --source payee --target payer --id customer") == 1
    assert "was started with source 'payer', not 'payee'" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_new_nodes_come_in_files_of_the_same_columns() -> None:
    assert run(f"train {FILES} {NAMES} {FAST} --out run") == 0
    Path("more.csv").write_text("payee,payer\nc0,new\n")
    Path("new.csv").write_text("a,b,customer,c\n1,2,new,3\n")
    assert len(embedded("run --add-edges more.csv --add-features new.csv --only-new")) == 1
    Path("other.csv").write_text("von,an\nnew,c0\n")
    named = "--source von --target an --only-new"
    np.testing.assert_allclose(
        embedded(f"run --add-edges other.csv --add-features new.csv {named}"),
        embedded("run --add-edges more.csv --add-features new.csv --only-new"),
    )


@pytest.mark.usefixtures("folder")
def test_convert_needs_them_once() -> None:
    assert run(f"convert edges.csv --features x.csv --labels y.csv {NAMES} --out graph --quiet") == 0
    assert run(f"train graph {FAST} --out run") == 0
    assert len(embedded("run")) == 30


@pytest.mark.usefixtures("folder")
def test_evaluate_reads_the_column_of_the_labels(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"train {FILES} {NAMES} {FAST} --out run") == 0
    assert run("embed run -o z.parquet") == 0
    assert run("evaluate z.parquet --labels y.csv --id customer --splits 1") == 0
    assert run("evaluate z.parquet --labels y.csv --id kunde") == 1
    assert "y.csv has the columns 'label', 'customer', and no 'kunde'" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_names_need_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"train digits --source payer {FAST}") == 1
    assert "give files, names of columns and encode only with an edge file" in capsys.readouterr().err
