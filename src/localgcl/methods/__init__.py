"""Methods by name: one algorithm a file, and one line here."""

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
from localgcl.methods.plugins import LOADED, load_installed
from localgcl.methods.sugrl import SUGRL

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
        raise ValueError(LOADED.broken.get(name) or f"there is no method {name!r:.100}{suggestion(name, METHODS)}")
    return METHODS[name]


def configure(method: str, values: Mapping[str, Any]) -> Config:
    """A configuration from flat `name = value` pairs; what is not named is the method's own default, or the shared one."""
    kind = find_method(method)
    return Config.build(method, kind.Options, {**kind.defaults, **values})


load_installed(METHODS)  # last: plug-ins import from this package
