"""--encode auto: from tables as they are to embeddings, and the same encoding for next week's files."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from localgcl.commands import main
from localgcl.training import RunFolder

FAST = "--encoder gcn --dim 6 --steps 2 --device cpu --quiet"
NAMES = "--source payer --target payee --id customer"
FILES = f"--edges edges.csv --features x.csv --labels y.csv {NAMES}"


def run(line: str) -> int:
    return main(line.split())


def customers(count: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Payments in a ring, and a table of mixed columns with holes."""
    rng = np.random.default_rng(seed)
    names = [f"c{i}" for i in range(count)]
    edges = pd.DataFrame({"payer": names, "payee": [*names[1:], names[0]]})
    table = pd.DataFrame(
        {
            "note": [f"free text {i}" for i in range(count)],
            "age": np.where(rng.random(count) < 0.2, np.nan, rng.integers(18, 90, count)),
            "customer": names,
            "vip": rng.random(count) < 0.5,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, count), unit="D"),
            "city": np.array(["Rome", "Oslo", "Bern", None])[rng.integers(0, 4, count)],
            **{f"n{i}": rng.normal(size=count) for i in range(3)},
        }
    )
    return edges, table


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.chdir(tmp_path)
    edges, x = customers(60, 0)
    edges.to_csv("edges.csv", index=False)
    x.to_csv("x.csv", index=False)
    x[["customer", "vip"]].head(40).to_csv("y.csv", index=False)
    return x


def test_a_run_keeps_its_encoding_and_embed_applies_it(table: pd.DataFrame) -> None:
    assert run(f"train {FILES} --encode auto --drop note {FAST} --out run") == 0
    z = np.load("run/embeddings.npy")
    columns = {told["name"]: told for told in json.loads(Path("run/encoding.json").read_text())["columns"]}
    assert columns["age"]["median"] == float(table.age.median())
    assert columns["city"]["missing"]
    assert RunFolder.open("run").source["encode"] == "auto"
    assert run("embed run -o z.npy") == 0
    np.testing.assert_array_equal(np.load("z.npy"), z)
    # Next week: some of the nodes, shuffled columns and a new city. A median fitted again would be another.
    week = table.iloc[:, ::-1].drop(columns="note")
    week.loc[:2, "city"], week.loc[30:, "age"] = "Paris", 100
    week.to_csv("week.csv", index=False)
    assert run("embed run --edges edges.csv --features week.csv -o week.npy") == 0
    near = np.abs(np.load("week.npy") - z).max(axis=1)
    np.testing.assert_allclose(near[10:25], 0, atol=1e-6)  # rows that are far from those that changed
    assert near[40] > 1e-3


@pytest.mark.usefixtures("table")
def test_new_nodes_are_encoded_as_those_of_the_run() -> None:
    assert run(f"train {FILES} --encode auto --drop note {FAST} --out run") == 0
    assert run(f"convert edges.csv --features x.csv {NAMES} --encode auto --drop note --out graph --quiet") == 0
    assert run(f"train graph {FAST} --out run-graph") == 0
    assert Path("run-graph/encoding.json").read_text() == Path("run/encoding.json").read_text()
    Path("more.csv").write_text("payee,payer\nc0,new\n")
    Path("new.csv").write_text("customer,city,age,vip,since,n0,n1,n2\nnew,Paris,,,,1,2,3\n")
    assert run("embed run --add-edges more.csv --add-features new.csv --only-new -o a.npy") == 0
    assert run(f"embed run-graph --add-edges more.csv --add-features new.csv --only-new {NAMES} -o b.npy") == 0
    assert np.load("a.npy").shape == np.load("b.npy").shape == (1, 6)
    assert run(f"embed run-graph --edges edges.csv --features x.csv {NAMES} -o c.npy") == 0
    np.testing.assert_allclose(np.load("c.npy"), np.load("run-graph/embeddings.npy"), atol=1e-5)  # two orders of summation


@pytest.mark.usefixtures("table")
def test_evaluate_and_resume_read_the_files_again() -> None:
    assert run(f"train {FILES} --encode auto --drop note {FAST} --out run") == 0
    assert run("evaluate run --splits 1") == 0
    assert run("train --resume --out run --quiet") == 0


@pytest.mark.usefixtures("table")
def test_one_line_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    for options, line in {
        "": "are no numbers: 'note', 'vip', 'since', 'city', and 1 columns have empty cells: 'age'; encode (encode='auto'",
        "--encode auto": "x.csv: columns that cannot be encoded: 'note' (text, 60 distinct); leave them out (--drop note)",
        "--encode all": "encode is 'all', which is no file; give 'auto', or encoding.json of a run",
    }.items():
        assert run(f"train {FILES} {options} {FAST} --out run") == 1
        error = capsys.readouterr().err
        assert line in error
        assert error.count("\n") == 1
