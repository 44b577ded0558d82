"""Methods by name: one algorithm a file, and one line here. Also what a table of them says."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from localgcl.config import Config, suggestion
from localgcl.methods.af_gcl import AFGCL
from localgcl.methods.afgrl import AFGRL
from localgcl.methods.base import Batch as Batch
from localgcl.methods.base import Method as Method
from localgcl.methods.base import Terms as Terms
from localgcl.methods.baselines import RandomInit, RawFeatures
from localgcl.methods.bgrl import BGRL
from localgcl.methods.cca_ssg import CCASSG
from localgcl.methods.dgi import DGI
from localgcl.methods.gca import GCA
from localgcl.methods.gmi import GMI
from localgcl.methods.grace import GRACE
from localgcl.methods.local_gcl import LocalGCL
from localgcl.methods.mvgrl import MVGRL
from localgcl.methods.plugins import BROKEN, load_installed
from localgcl.methods.sugrl import SUGRL
from localgcl.system.memory import in_bytes

METHODS: dict[str, type[Method]] = {
    "local-gcl": LocalGCL,
    "cca-ssg": CCASSG,
    "dgi": DGI,
    "grace": GRACE,
    "sugrl": SUGRL,
    "gca": GCA,
    "bgrl": BGRL,
    "af-gcl": AFGCL,
    "mvgrl": MVGRL,
    "gmi": GMI,
    "afgrl": AFGRL,
    "random-init": RandomInit,
    "raw-features": RawFeatures,
}
"""Methods by name. `METHODS["mine"] = MyMethod` makes a method known to the command line, estimators, searches and
experiments. Methods of plug-ins join them at the end of this file (see `plugins`)."""


DEFAULT = "local-gcl"
"""The method where none is named."""


def find_method(name: str) -> type[Method]:
    """The method called `name`; ValueError with a suggestion when there is none."""
    if name not in METHODS:
        raise ValueError(BROKEN.get(name) or f"there is no method {name!r:.100}{suggestion(name, METHODS)}")
    return METHODS[name]


def configure(method: str, values: Mapping[str, Any]) -> Config:
    """A configuration from flat `name = value` pairs; what is not named is the method's own default, or the shared one."""
    kind = find_method(method)
    return Config.build(method, kind.Options, {**kind.defaults, **values})


OVERVIEW = ("method", "augments", "memory of a step", "cost of a step beyond the encoder", "idea", "paper")


def overview(num_nodes: int, num_edges: int, num_features: int, dim: int) -> list[tuple[str, ...]]:
    """A header and one row a method, for a graph of that size."""
    rows: list[tuple[str, ...]] = [OVERVIEW]
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


load_installed(METHODS)  # last: plug-ins import from this package
