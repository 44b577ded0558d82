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
        sizes = step_bytes(name, num_nodes, num_edges, num_features, dim)
        memory = ", ".join(f"{in_bytes(size)} {mode}".rstrip() for mode, size in sizes.items())
        rows.append((name, "yes" if kind.augments else "no", memory, kind.cost, kind.idea, kind.paper))
    return rows


def step_bytes(method: str, num_nodes: int, num_edges: int, num_features: int, dim: int) -> dict[str, int]:
    """Bytes of a step by the form of a method: one form, called "", or two if it has the option `mode`."""
    kind = METHODS[method]
    has_modes = "mode" in {field.name for field in dataclasses.fields(kind.Options)}
    forms: dict[str, dict[str, Any]] = {mode: {"mode": mode} for mode in ("faithful", "scalable")} if has_modes else {"": {}}
    return {
        name: kind.memory(num_nodes, num_edges, num_features, configure(method, {"dim": dim, **form}))
        for name, form in forms.items()
    }
