"""From a bank's tables to embeddings, a report and nearest neighbours, without preparing anything; and new customers later."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from localgcl.commands import main
from tests.references.customers import COLUMNS, SEGMENTS, Customers

TRAIN = (
    "train --edges payments.csv --features customers.csv --labels segments.csv --source payer --target payee --id customer_id "
    "--encode auto --out runs/customers"
)
EMBED = "embed runs/customers -o customers.parquet"
REPORT = "report runs/customers"


def run(command: str) -> None:
    assert main(command.split()) == 0, command


def read(path: str) -> pd.DataFrame:
    return pd.read_parquet(path).set_index("id")


def next_week(old: Customers, number: int, seed: int = 1) -> Customers:
    """Writes the files of the following week: new customers at the end, columns in another order, payments of all."""
    new = Customers(number, seed)
    new.ids = np.array([f"N-{place:07d}" for place in range(number)])
    both = Customers(len(old.ids), 0)
    both.rng = np.random.default_rng(seed)
    both.ids, both.segment = np.concatenate([old.ids, new.ids]), np.concatenate([old.segment, new.segment])
    table = new.columns()
    shuffled = list(np.random.default_rng(seed).permutation(table.columns))
    table[shuffled].to_csv("new-customers.csv", index=False)
    both.payments(np.arange(len(old.ids), len(both.ids))).to_csv("new-payments.csv", index=False)
    pd.concat([pd.read_csv("customers.csv", dtype=str), table.astype(object)])[shuffled].to_csv("customers-2.csv", index=False)
    pd.concat([pd.read_csv(name) for name in ("payments.csv", "new-payments.csv")]).to_csv("payments-2.csv", index=False)
    return new


def nearest_are_alike(z: pd.DataFrame, customers: Customers) -> float:
    """How often the nearest customer by cosine is of the same segment; 0.25 by chance."""
    rows = z.loc[customers.ids].to_numpy()
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    some = np.arange(0, len(rows), max(1, len(rows) // 500))
    similar = rows[some] @ rows.T
    similar[np.arange(len(some)), some] = -2
    return float((customers.segment[similar.argmax(axis=1)] == customers.segment[some]).mean())


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_here")
def test_a_small_bank_needs_no_preparing(capsys: pytest.CaptureFixture[str]) -> None:
    customers = Customers(400)
    customers.write(Path(), known=60)
    assert len(pd.read_csv("customers.csv").columns) == COLUMNS
    run(f"{TRAIN} --dim 64 --steps 5 --device cpu")
    run(EMBED)
    z = read("customers.parquet")
    assert list(z.index) == list(customers.ids)
    run("evaluate runs/customers --train-share 0.5 --splits 2 --protocol knn --no-baselines")
    assert "of 60 labelled nodes" in capsys.readouterr().out
    run(f"similar runs/customers {customers.ids[7]} -k 3")
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == f"most similar to {customers.ids[7]}"
    assert {line.split()[0] for line in shown[2:]} <= set(customers.ids)
    assert len(shown) == 2 + 3

    new = next_week(customers, 20)
    run("embed runs/customers --edges payments-2.csv --features customers-2.csv -o week-2.parquet")
    run("embed runs/customers --add-edges new-payments.csv --add-features new-customers.csv --only-new -o new.parquet")
    whole, only = read("week-2.parquet"), read("new.parquet")
    assert list(only.index) == list(new.ids)
    assert len(whole) == 420
    # The same nodes on the whole graph and on the part around them: equal up to the rounding of float32.
    np.testing.assert_allclose(whole.loc[only.index].to_numpy(), only.to_numpy(), atol=1e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
def test_20_000_customers_in_three_commands_and_500_new_ones_in_one_more(capsys: pytest.CaptureFixture[str]) -> None:
    customers = Customers(20_000)
    customers.write(Path())
    for command in (TRAIN, EMBED, REPORT):
        run(command)
    z = read("customers.parquet")
    assert list(z.index) == list(customers.ids)
    assert nearest_are_alike(z, customers) > 0.5  # twice what chance gives
    page = Path("runs/customers/report.html").read_text(encoding="utf-8")
    assert all(name in page for name in (*SEGMENTS, "region 3", customers.ids[0]))

    capsys.readouterr()
    run(f"similar runs/customers {customers.ids[0]}")
    assert customers.ids[0] in capsys.readouterr().out

    new = next_week(customers, 500)
    run("embed runs/customers --add-edges new-payments.csv --add-features new-customers.csv --only-new -o new.parquet")
    added = read("new.parquet")
    assert list(added.index) == list(new.ids)
    assert nearest_are_alike(added, new) > 0.5
