"""What a search writes: trials.csv, one row per finished trial, and recipe.toml, the best row."""

import json
from collections.abc import Sequence
from pathlib import Path

import tomli_w

from localgcl.experiments.search.space import Settings
from localgcl.methods import configure
from localgcl.system.files import RowFile, replacing
from localgcl.system.provenance import now

LogRow = dict[str, str]
FIELDS = (
    *("method", "dataset", "settings", "seeds", "splits", "validation", "deviation", "seconds", "note"),
    *("date", "commit", "hardware", "protocol"),
)
SAME = ("method", "dataset", "seeds", "splits", "protocol")
"""Columns that must be equal for the scores of two rows to compare."""
MARK = "# Made by localgcl tune"


class Log:
    """The rows of one search in trials.csv: those whose scores compare with each other.

    Args:
        path: The file.
        shared: The columns that all rows of the search share.
    """

    def __init__(self, path: Path, shared: LogRow) -> None:
        self.path, self.shared = path, shared
        self.rows = [row for row in read(path) if all(row[column] == shared[column] for column in SAME)]

    def add(self, settings: str, result: LogRow) -> LogRow:
        """Appends a row in one write, so that an interruption leaves whole rows; returns it."""
        row = {**self.shared, **result, "settings": settings, "date": now()}
        RowFile(self.path, FIELDS).append(row)
        self.rows.append(row)  # after it is stored: Ctrl-C may come while it is
        return row


def read(path: Path) -> list[LogRow]:
    """All rows, oldest first; none where there is no file."""
    return RowFile(path, FIELDS).rows()


def score(row: LogRow) -> float:
    """Validation accuracy; 0, the worst there is, for settings that were refused."""
    return float(row["validation"] or 0)


def best(rows: Sequence[LogRow], count: int = 5) -> list[LogRow]:
    """The rows of highest validation accuracy, best first; the earlier of equals first. Refused settings are left out."""
    return sorted((row for row in rows if row["validation"]), key=score, reverse=True)[:count]


def check_ours(path: Path) -> None:
    """Raises FileExistsError if `path` is a recipe that no search has made: it would be overwritten."""
    if path.exists() and not path.read_text().startswith(MARK):
        raise FileExistsError(
            f"{path} was not made by localgcl tune, and would be overwritten; choose another folder with --out"
        )


def write_recipe(path: Path, rows: Sequence[LogRow], varied: Sequence[str]) -> Settings:
    """Writes and returns the best row's settings that were `varied` or that differ from the method's defaults."""
    (winner,) = best(rows, 1)
    settings, defaults = json.loads(winner["settings"]), configure(winner["method"], {}).flat()
    kept = {name: value for name, value in settings.items() if name in varied or value != defaults[name]}
    about = (
        f"{MARK}, method {winner['method']}: best of {len(rows)} trials by accuracy on validation nodes,\n"
        f"# {winner['validation']} ± {winner['deviation']} over seeds {winner['seeds']} and {winner['splits']} splits each; "
        f"protocol {winner['protocol']}. Test labels were hidden. The log is trials.csv.\n\n"
    )
    with replacing(path) as temporary:
        temporary.write_text(about + tomli_w.dumps({winner["dataset"]: kept}))
    return kept
