"""A small run of own tables: three groups of customers with odd ids, mixed columns with gaps, text labels for most."""

from pathlib import Path

import numpy as np
import pandas as pd

from localgcl.commands import main
from localgcl.training import RunFolder

GROUPS, EACH = 3, 20
COLOURS = ("red", "green", "blue")
IDS = [f"c {group}-{place}" for group in range(GROUPS) for place in range(EACH)]
IDS[0], IDS[1], IDS[2] = "<script>alert(1)</script>", 'Müller, "Söhne"', "'; DROP"


def write_customers(folder: Path) -> None:
    """edges.csv, customers.csv and segments.csv in `folder`. Edges stay within groups; columns tell the groups apart."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(GROUPS), EACH)
    n = len(group)
    # A ring and chords within each group.
    source = np.concatenate([np.arange(n), np.arange(n), rng.integers(n, size=40)])
    target = group[source] * EACH + (source + rng.integers(1, EACH, size=len(source))) % EACH
    ids = np.array(IDS)
    pd.DataFrame({"payer": ids[source], "payee": ids[target]}).to_csv(folder / "edges.csv", index=False)
    income = 30_000 + 10_000 * group + rng.normal(scale=500, size=n)
    income[::7] = np.nan
    colour = np.array(COLOURS)[group].astype(object)
    colour[5::20] = None
    since = pd.to_datetime("2020-01-01") + pd.to_timedelta(365 * group + rng.integers(30, size=n), unit="D")
    table = {"income": income, "colour": colour, "since": since.date, "active": group == 1}
    pd.DataFrame({"customer": ids, **table}).to_csv(folder / "customers.csv", index=False)
    labelled = np.arange(n) % 4 != 0
    segments = np.array(["gold", "silver", "bronze"])[group]
    pd.DataFrame({"customer": ids[labelled], "segment": segments[labelled]}).to_csv(folder / "segments.csv", index=False)


def train_customers(folder: Path, *, labels: bool = True) -> RunFolder:
    """A run on the files of `write_customers`, which it writes."""
    write_customers(folder)
    files = ["--edges", folder / "edges.csv", "--features", folder / "customers.csv"]
    files += ["--labels", folder / "segments.csv"] if labels else []
    named = ["--source", "payer", "--target", "payee", "--id", "customer", "--encode", "auto"]
    fast = ["--dim", "20", "--steps", "4", "--negatives", "sorf", "--num-features", "256", "--device", "cpu", "--quiet"]
    assert main([str(word) for word in ("train", *files, *named, *fast, "--out", folder / "run")]) == 0
    return RunFolder.open(folder / "run")
