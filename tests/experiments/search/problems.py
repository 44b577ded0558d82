"""A search that takes a moment: a small block model, a small space, the fastest protocol."""

from functools import cache
from pathlib import Path
from typing import Any

from localgcl.datasets import sbm
from localgcl.experiments.search import Found, tune
from localgcl.experiments.search.log import LogRow
from localgcl.graph import Graph

SPACE = {"layers": (1, 2), "learning_rate": (1e-3, 1e-2, 1e-1), "temperature": (0.5, 1.0), "include_self": (False, True)}
SMALL: dict[str, Any] = {"space": SPACE, "start": "defaults", "seeds": 2, "protocol": "knn", "device": "cpu"}
FIXED = {"dim": 8, "steps": 3, "negatives": "exact", "self_loops": 0.5}


@cache
def graph() -> Graph:
    return sbm(150, classes=3, features=8, separation=1.0, splits=2)


def search(out: Path, given: Graph | None = None, **changes: Any) -> Found:
    return tune(given or graph(), out=out, **{**SMALL, "fixed": FIXED, **changes})


def lasting(rows: list[LogRow]) -> list[LogRow]:
    """Rows without what the clock says."""
    return [{name: value for name, value in row.items() if name not in ("date", "seconds")} for row in rows]
