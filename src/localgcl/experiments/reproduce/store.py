"""What has been run: results.csv, one row a cell, and ledger.csv, one row for each time test labels were looked at.

Results are found by their settings (see `cells`), not by the table they were made for, so tables share them and nothing is run
twice. Rows may be dropped from results.csv, to be measured again; the ledger only ever grows.
"""

import contextlib
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from localgcl.system.ledger import append_rows, read_rows

Row = dict[str, str]
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
        self.results, self.ledger = self.folder / "results.csv", self.folder / "ledger.csv"

    @property
    def runs(self) -> Path:
        """Where unfinished trainings are kept."""
        return self.folder / "unfinished"

    def rows(self) -> dict[tuple[str, int], Row]:
        """The newest result of each recipe and seed."""
        return {(row["recipe"], int(row["seed"])): row for row in read_rows(self.results, FIELDS)}

    def add(self, row: Mapping[str, Any]) -> None:
        """Keeps a result; one with a test score is written into the ledger first."""
        if row["outcome"] == "ok":
            append_rows(self.ledger, LEDGER_FIELDS, [{name: row[name] for name in LEDGER_FIELDS}])
        append_rows(self.results, FIELDS, [row])

    def looks(self, recipes: Iterable[str]) -> int:
        """How often test labels were looked at with these recipes."""
        known = set(recipes)
        return sum(row["recipe"] in known for row in read_rows(self.ledger, LEDGER_FIELDS))


def short(commit: str) -> str:
    """Seven digits of a commit, and the + of a modified tree.

    Example:
        >>> short("5b36acba7dd8d6ea8f659d73b731109a8d78d6c1+")
        '5b36acb+'
    """
    return commit[:7] + "+" * commit.endswith("+")


def check_committed() -> None:
    """Raises ValueError when a recipe of a source checkout is not committed: settings are fixed before test labels are read."""
    root = _PACKAGE.parents[1]
    if not (root / ".git").exists():
        return  # installed from a package: its recipes are those of its version
    with contextlib.suppress(OSError):  # without git there is no history to hold against
        command = ["git", "-C", str(root), "status", "--porcelain", "--", str(_PACKAGE / "recipes")]
        changed = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        if changed:
            raise ValueError(
                "these recipes are not committed; commit them and their validation log before test labels are looked at: "
                + "; ".join(changed.splitlines())
            )
