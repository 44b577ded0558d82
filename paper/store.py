"""What has been run: results.csv has a row for each cell, ledger.csv one for each evaluation that was finished.

Results are found by their settings (see `cells`), not by the table they were run for: tables share them, and nothing is run
twice. Rows may be deleted from results.csv to be measured again; the ledger only grows. Two more files are written by hand:

- ledger-history.csv: evaluations on test nodes by earlier scripts, entered later. Its recipes are hashes of the settings as
  those scripts recorded them, so they are none of results.csv.
- corrections.csv: what was changed in these files other than by appending, and why. It only grows, too.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from localgcl.system.store import RowFile

ResultRow = dict[str, str]
StudyRow = dict[str, Any]
"""What a study measured once: plain values by name."""
Results = Mapping[tuple[str, int], ResultRow]
"""Rows by recipe and seed."""
FIELDS = (
    *("recipe", "method", "graph", "seed", "outcome", "test", "validation", "test_by_split", "seconds", "steps", "peak_mib"),
    *("settings", "protocol", "timed", "jobs", "date", "commit", "hardware", "torch", "source", "digest"),
)
"""source: "run", or the file that a row was entered from. digest: see `origin`; empty in rows older than it."""
LEDGER_FIELDS = ("date", "commit", "recipe", "method", "graph", "protocol", "seed")
HISTORY_FIELDS = (*LEDGER_FIELDS, "test", "settings", "source")
CORRECTION_FIELDS = ("date", "before", "file", "column", "rows", "old", "new", "reason")
"""before: a commit that has the file as it was."""


class Store:
    """The files of a folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.results = RowFile(self.folder / "results.csv", FIELDS)
        self.ledger = RowFile(self.folder / "ledger.csv", LEDGER_FIELDS)
        self.history = RowFile(self.folder / "ledger-history.csv", HISTORY_FIELDS)
        self.corrections = RowFile(self.folder / "corrections.csv", CORRECTION_FIELDS)

    @property
    def runs(self) -> Path:
        """Where unfinished trainings are kept."""
        return self.folder / "unfinished"

    def rows(self) -> dict[tuple[str, int], ResultRow]:
        """The newest result of each recipe and seed."""
        return {(row["recipe"], int(row["seed"])): row for row in self.results.rows()}

    def add(self, row: Mapping[str, Any]) -> None:
        """Keeps a result. One with a test score is written into the ledger first."""
        if row["outcome"] == "ok":
            self.ledger.append({name: row[name] for name in LEDGER_FIELDS})
        self.results.append(row)
