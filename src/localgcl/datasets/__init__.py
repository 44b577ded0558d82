"""Graphs to start from: the paper's benchmarks by name, your own files, and two that need no download.

To add a data set, assign to `READERS` (see `localgcl.datasets.source`). Names resolve on first use (PEP 562), so that the
list of data sets can be printed without waiting for torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localgcl.datasets.built_in import digits as digits
    from localgcl.datasets.built_in import sbm as sbm
    from localgcl.datasets.catalogue import CATALOGUE as CATALOGUE
    from localgcl.datasets.catalogue import Entry as Entry
    from localgcl.datasets.catalogue import names as names
    from localgcl.datasets.readers import Reader as Reader
    from localgcl.datasets.source import READERS as READERS
    from localgcl.datasets.source import load as load
    from localgcl.datasets.splits import few_label_splits as few_label_splits
    from localgcl.datasets.splits import hide_test_labels as hide_test_labels
    from localgcl.datasets.splits import random_splits as random_splits
    from localgcl.datasets.splits import redrawn_splits as redrawn_splits
    from localgcl.datasets.splits import stratified_splits as stratified_splits
    from localgcl.datasets.storage import RawFile as RawFile
    from localgcl.io.files import read_graph as read_graph

_HOME = {
    "datasets.source": ("load", "READERS"),
    "datasets.catalogue": ("names", "CATALOGUE", "Entry"),
    "datasets.readers": ("Reader",),
    "datasets.storage": ("RawFile",),
    "io.files": ("read_graph",),
    "datasets.built_in": ("digits", "sbm"),
    "datasets.splits": ("random_splits", "few_label_splits", "stratified_splits", "hide_test_labels", "redrawn_splits"),
}
_MODULES = {name: f"localgcl.{module}" for module, names in _HOME.items() for name in names}

__all__ = [*_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'localgcl.datasets' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
