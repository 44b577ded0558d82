"""Graphs to start from: the paper's benchmarks by name, your own files, and two that need no download.

To add a data set, assign to `READERS` (see `localgcl.datasets.registry`). Names resolve on first use (PEP 562), so that the
list of data sets can be printed without waiting for torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localgcl.datasets.catalogue import CATALOGUE as CATALOGUE
    from localgcl.datasets.catalogue import Entry as Entry
    from localgcl.datasets.catalogue import names as names
    from localgcl.datasets.drawing import stratified_splits as stratified_splits
    from localgcl.datasets.loading import load as load
    from localgcl.datasets.readers import Reader as Reader
    from localgcl.datasets.readers.images import digits as digits
    from localgcl.datasets.readers.synthetic import sbm as sbm
    from localgcl.datasets.registry import READERS as READERS
    from localgcl.datasets.splits import few_label_splits as few_label_splits
    from localgcl.datasets.splits import hide_test_labels as hide_test_labels
    from localgcl.datasets.splits import random_splits as random_splits
    from localgcl.datasets.splits import redrawn_splits as redrawn_splits
    from localgcl.datasets.storage import RawFile as RawFile
    from localgcl.io.files import read_graph as read_graph

_HOME = {
    "load": "localgcl.datasets.loading",
    "names": "localgcl.datasets.catalogue",
    "CATALOGUE": "localgcl.datasets.catalogue",
    "Entry": "localgcl.datasets.catalogue",
    "READERS": "localgcl.datasets.registry",
    "Reader": "localgcl.datasets.readers",
    "RawFile": "localgcl.datasets.storage",
    "read_graph": "localgcl.io.files",
    "digits": "localgcl.datasets.readers.images",
    "sbm": "localgcl.datasets.readers.synthetic",
    "random_splits": "localgcl.datasets.splits",
    "few_label_splits": "localgcl.datasets.splits",
    "stratified_splits": "localgcl.datasets.drawing",
    "hide_test_labels": "localgcl.datasets.splits",
    "redrawn_splits": "localgcl.datasets.splits",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'localgcl.datasets' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
