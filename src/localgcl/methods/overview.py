"""The table of `localgcl methods`."""

import dataclasses
from typing import Any

from localgcl.methods import METHODS, configure
from localgcl.system.memory import in_bytes

HEADER = ("method", "augments", "memory of a step", "cost of a step beyond the encoder", "idea", "paper")


def overview(num_nodes: int, num_edges: int, num_features: int, dim: int) -> list[tuple[str, ...]]:
    """A header and one row a method, for a graph of that size."""
    rows: list[tuple[str, ...]] = [HEADER]
    for name, kind in METHODS.items():
        memory = ", ".join(
            in_bytes(kind.memory(num_nodes, num_edges, num_features, configure(name, {"dim": dim, **mode}))) + label
            for mode, label in _modes(kind.Options)
        )
        rows.append((name, "yes" if kind.augments else "no", memory, kind.cost, kind.idea, kind.paper))
    return rows


def _modes(options: type[Any]) -> list[tuple[dict[str, str], str]]:
    """The forms of a method: one, or two if it has the option `mode`."""
    if "mode" not in {field.name for field in dataclasses.fields(options)}:
        return [({}, "")]
    return [({"mode": mode}, f" {mode}") for mode in ("faithful", "scalable")]
