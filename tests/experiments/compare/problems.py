"""Small graphs, quick comparisons and rows written by hand."""

from pathlib import Path
from typing import Any

from localgcl.datasets import sbm
from localgcl.experiments.compare import Comparison, compare
from localgcl.experiments.compare.comparison import FIELDS, Row
from localgcl.graph import Graph

QUICK: dict[str, Any] = {"seeds": 2, "dim": 8, "protocol": "knn", "device": "cpu"}
METHODS = ("local-gcl", "dgi")
BASELINES = ("random-init", "raw-features")


def graph(splits: int = 0, seed: int = 0) -> Graph:
    return sbm(80, classes=2, features=6, splits=splits, seed=seed)


def quick(folder: Path | None = None, **changes: Any) -> Comparison:
    """A comparison that takes a fraction of a second."""
    options = {"methods": METHODS, "settings": {"steps": 2}, **QUICK, "out": folder, **changes}
    return compare(options.pop("graph", None) or graph(), **options)


def row(method: str, seed: int, *scores: float, **changes: Any) -> Row:
    """A row of compare.csv with these scores by split."""
    mean = sum(scores) / len(scores) if scores else ""
    made = {"key": f"key of {method}", "method": method, "seed": seed, "outcome": "ok", "score": mean, "scores": list(scores)}
    made |= {"dim": 8, "steps": 20, "seconds": 1.5 + seed, "peak_mib": 100.0, "jobs": 1, "date": "2026-01-02T03:04:05+00:00"}
    return {name: str(made.get(name, "")) for name in FIELDS} | {name: str(value) for name, value in changes.items()}


def lasting(rows: Any) -> list[Row]:
    """Rows without what differs between two runs of the same cell, ordered by method and seed."""
    changing = ("date", "seconds", "peak_mib", "jobs")
    kept = [{name: value for name, value in each.items() if name not in changing} for each in rows]
    return sorted(kept, key=lambda each: (each["method"], each["seed"]))
