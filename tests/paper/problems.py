"""Cells that take a moment: a small block model under a name of the catalogue, a small encoder, the fastest protocol."""

import json
from functools import cache
from typing import Any

from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.methods import configure
from paper.cells import Cell
from paper.store import FIELDS, ResultRow, Store

TINY: dict[str, Any] = {"dim": 8, "layers": 1, "steps": 2, "negatives": "exact"}


@cache
def graph(name: str = "cora") -> Graph:
    """Without splits, but for cora."""
    return sbm(90, classes=3, features=12, splits=2 if name == "cora" else 0)


def cell(
    seed: int = 0, graph: str = "cora", *, method: str = "local-gcl", timed: bool = False, protocol: str = "knn", **changes: Any
) -> Cell:
    return Cell(configure(method, {**TINY, **changes} if method == "local-gcl" else changes), graph, seed, timed, protocol)


def row(cell: Cell, test: float | list[float] = 80.0, **changes: Any) -> ResultRow:
    """A result as results.csv holds it: a score, or one for each split."""
    values = test if isinstance(test, list) else [test]
    known = {
        "recipe": cell.recipe,
        "method": cell.config.method,
        "graph": cell.graph,
        "seed": cell.seed,
        "outcome": "ok",
        "test": sum(values) / len(values),
        "validation": 70.0,
        "test_by_split": json.dumps(values),
        "seconds": 1.5,
        "steps": 2,
        "peak_mib": 512,
        "settings": json.dumps(cell.settings),
        "protocol": cell.evaluator,
        "timed": cell.timed,
        "jobs": 1,
        "date": "2030-01-02T03:04:05+00:00",
        "commit": "0123456789abcdef",
        "hardware": "a GPU",
        "torch": "2.0",
    }
    return {name: str(value) for name, value in {**dict.fromkeys(FIELDS, ""), **known, **changes}.items()}


def out_of_memory(cell: Cell) -> ResultRow:
    empty = dict.fromkeys(("test", "validation", "test_by_split", "seconds", "steps", "peak_mib"), "")
    return {**row(cell, outcome="out of memory (16 GiB)"), **empty}


def evaluations(store: Store, recipes: list[str]) -> int:
    """How often the ledger has these recipes."""
    return sum(row["recipe"] in recipes for row in store.ledger.rows())
