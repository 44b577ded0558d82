"""The numbers the paper prints (`paper.toml` beside this file), by table, row and graph in this library's names."""

import dataclasses
import functools
import tomllib
from importlib import resources
from typing import Any

from localgcl.config import suggestion


@dataclasses.dataclass(frozen=True)
class Printed:
    """One printed number.

    Args:
        mean: None where the paper has no number but a word, such as OOM.
        deviation: Standard deviation over initialisations; None where none is printed.
        text: As printed.
    """

    mean: float | None
    deviation: float | None
    text: str


@functools.cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((resources.files(__package__) / "paper.toml").read_text(encoding="utf-8"))


def printed(table: str, row: str, graph: str, quantity: str = "test") -> Printed | None:
    """What `table` prints for `row` and `graph`; None where it has no such row, graph or quantity.

    Args:
        table: The paper's label, such as "tbl-exp-main".
        row: A method, or a variant such as "local-gcl-max" or "bgrl-local".
        graph: As `load` calls it.
        quantity: "test" or "validation" accuracy in percent; "minutes" and "gigabytes" in tbl-abl-non-contrastive.

    Example:
        >>> printed("tbl-exp-main", "local-gcl", "cora")
        Printed(mean=84.5, deviation=0.4, text='84.5 ± 0.4')
        >>> printed("tbl-exp-main", "grace", "physics")
        Printed(mean=None, deviation=None, text='OOM')
    """
    found = _cells(table).get(quantity, {})
    if row == "columns" or row not in found or graph not in found["columns"]:
        return None
    text = found[row][found["columns"].index(graph)]
    if text == "OOM":
        return Printed(None, None, text)
    mean, _, deviation = text.partition(" ± ")
    return Printed(float(mean), float(deviation) if deviation else None, text)


def printed_rows(table: str, quantity: str = "test") -> tuple[list[str], list[str]]:
    """The rows and the graphs of a printed table, in its order.

    Example:
        >>> printed_rows("tbl-abl-hard")
        (['local-gcl', 'local-gcl-progcl-mix'], ['cora', 'citeseer', 'pubmed'])
    """
    found = _cells(table)
    if quantity not in found:
        raise ValueError(f"{table} does not print {quantity!r}{suggestion(quantity, found)}")
    return [row for row in found[quantity] if row != "columns"], list(found[quantity]["columns"])


def printed_statistics(graph: str) -> dict[str, Any] | None:
    """Printed sizes of a graph: nodes, edges, classes, features, homophily. Its slips are left as printed."""
    return _record("tbl-statistics", graph)


def printed_settings(graph: str) -> dict[str, Any] | None:
    """Local-GCL's printed hyper-parameters as options of this library; None for graphs the paper prints none for.

    Two options are not in the printed table: `negatives="sorf"` is what the paper's text says, and batch normalisation in an
    MLP is taken from the code family it stems from.
    """
    settings = _record("tbl-para", graph)
    if settings is None:
        return None
    return {**settings, "negatives": "sorf"} | ({"batch_norm": True} if settings["encoder"] == "mlp" else {})


def search_space() -> dict[str, list[Any]]:
    """The printed grid: values by option."""
    return {entry["option"]: list(entry["values"]) for entry in _tables()["search-space"]}


def _cells(table: str) -> dict[str, Any]:
    known = tuple(name for name in _tables() if name not in ("tbl-statistics", "tbl-para", "search-space"))
    if table not in known:
        raise ValueError(f"the paper prints no accuracies in {table!r}{suggestion(table, known)}")
    found: dict[str, Any] = _tables()[table]
    return found


def _record(table: str, graph: str) -> dict[str, Any] | None:
    found = _tables()[table]
    return dict(zip(found["columns"], found[graph], strict=True)) if graph != "columns" and graph in found else None
