"""What has been run: results.csv has a row for each cell, ledger.csv one for each evaluation on test nodes.

Results are found by their settings (see `cells`), not by the table they were run for: tables share them, and nothing is run
twice. Rows may be deleted from results.csv to be measured again; the ledger only grows.
"""

import contextlib
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from localgcl.system.store import RowFile

ResultRow = dict[str, str]
Results = Mapping[tuple[str, int], ResultRow]
"""Rows by recipe and seed."""
FIELDS = (
    *("recipe", "method", "graph", "seed", "outcome", "test", "validation", "test_by_split", "seconds", "steps", "peak_mib"),
    *("settings", "protocol", "timed", "jobs", "date", "commit", "hardware", "torch"),
)
LEDGER_FIELDS = ("date", "commit", "recipe", "method", "graph", "protocol", "seed")
_PACKAGE = Path(__file__).parents[2]


class Store:
    """The two files of a folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.results = RowFile(self.folder / "results.csv", FIELDS)
        self.ledger = RowFile(self.folder / "ledger.csv", LEDGER_FIELDS)

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

    def evaluations(self, recipes: Iterable[str]) -> int:
        """How often these recipes were evaluated on test nodes."""
        known = set(recipes)
        return sum(row["recipe"] in known for row in self.ledger.rows())


def short(commit: str) -> str:
    """Seven digits of a commit, and the + of a modified tree.

    Example:
        >>> short("5b36acba7dd8d6ea8f659d73b731109a8d78d6c1+")
        '5b36acb+'
    """
    return commit[:7] + "+" * commit.endswith("+")


def check_committed() -> None:
    """Raises ValueError when a recipe of a source checkout is not committed: settings come before the look at test labels."""
    root = _PACKAGE.parents[1]
    if not (root / ".git").exists():
        return  # installed from a package: its recipes are those of its version
    with contextlib.suppress(OSError):  # without git there is nothing to compare with
        command = ["git", "-C", str(root), "status", "--porcelain", "--", str(_PACKAGE / "recipes")]
        changed = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        if changed:
            raise ValueError(
                "these recipes are not committed; commit them and their validation log before evaluating them on test nodes: "
                + "; ".join(changed.splitlines())
            )
