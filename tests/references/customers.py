"""A bank's tables, made up: payments between customers, 50 mixed columns with empty cells, segments of a few customers."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

SEGMENTS = ("basic", "family", "gold", "student")
COLUMNS = 50


class Customers:
    """Customers in four segments. Payments mostly stay within a segment, and columns depend on it a little."""

    def __init__(self, number: int, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.ids = np.array([f"C-{place:07d}" for place in self.rng.permutation(100 * number)[:number]])
        self.segment = self.rng.integers(0, len(SEGMENTS), number)

    def payments(self, rows: np.ndarray[Any, Any] | None = None, each: int = 4) -> pd.DataFrame:
        """Payments by the customers at `rows`, by default of all, to others of any kind."""
        payers = np.repeat(np.arange(len(self.ids)) if rows is None else rows, each)
        order = np.argsort(self.segment, kind="stable")
        first = np.searchsorted(self.segment[order], np.arange(len(SEGMENTS) + 1))
        low, high = first[self.segment[payers]], first[self.segment[payers] + 1]
        within = order[low + (self.rng.random(len(payers)) * (high - low)).astype(int)]
        anyone = self.rng.integers(0, len(self.ids), len(payers))
        payees = np.where(self.rng.random(len(payers)) < 0.8, within, anyone)
        return pd.DataFrame({"payer": self.ids[payers], "payee": self.ids[payees]})

    def columns(self) -> pd.DataFrame:
        """50 columns, of which 48 are features, and the id among them: numbers, booleans, dates, categories, empty cells."""
        made: dict[str, Any] = {}
        for j in range(COLUMNS - 1):
            kind = ("amount", "active", "since", "region")[j % 4]
            made[f"{kind} {j}"] = self._holes(getattr(self, f"_{kind}")(j), share=0.1 * (j % 3))
        frame = pd.DataFrame(made)
        frame.insert(7, "customer_id", self.ids)
        return frame

    def segments(self, known: int = 300) -> pd.DataFrame:
        """The segments of some customers."""
        some = self.rng.choice(len(self.ids), known, replace=False)
        return pd.DataFrame({"segment": np.array(SEGMENTS)[self.segment[some]], "customer_id": self.ids[some]})

    def write(self, folder: Path, known: int = 300) -> None:
        """Writes payments.csv, customers.csv and segments.csv."""
        self.payments().to_csv(folder / "payments.csv", index=False)
        self.columns().to_csv(folder / "customers.csv", index=False)
        self.segments(known).to_csv(folder / "segments.csv", index=False)

    def _amount(self, j: int) -> Any:
        return (10.0 ** (j % 5) * (self.rng.normal(size=len(self.ids)) + self.segment)).round(2)

    def _active(self, j: int) -> Any:
        return np.where(self.rng.random(len(self.ids)) < 0.1 + 0.2 * ((self.segment + j) % 4), "true", "false")

    def _since(self, j: int) -> Any:
        days = self.rng.integers(0, 1000, len(self.ids)) + 300 * ((self.segment + j) % 4)
        return (pd.Timestamp("2018-01-01") + pd.to_timedelta(days, unit="D")).strftime("%Y-%m-%d")

    def _region(self, j: int) -> Any:
        return np.array([f"R{place}" for place in range(5 + j)])[
            (self.rng.integers(0, 4, len(self.ids)) + self.segment) % (5 + j)
        ]

    def _holes(self, cells: Any, share: float) -> Any:
        return pd.Series(cells, dtype=object).where(self.rng.random(len(self.ids)) >= share)
