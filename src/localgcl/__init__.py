"""Self-supervised node embeddings for graphs: no labels, no augmentations, time and memory linear in the graph.

Reading this file is reading the table of contents. Names resolve on first use (PEP 562), so that `import localgcl` and
`localgcl --help` do not wait for torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

from localgcl._version import __version__ as __version__
from localgcl.system.threads import set_thread_defaults

if TYPE_CHECKING:
    from localgcl import losses as losses
    from localgcl.config import LocalGCLWarning as LocalGCLWarning
    from localgcl.datasets import few_label_splits as few_label_splits
    from localgcl.datasets import load as load
    from localgcl.datasets import random_splits as random_splits
    from localgcl.datasets import read_graph as read_graph
    from localgcl.datasets import sbm as sbm
    from localgcl.estimator import Embedder as Embedder
    from localgcl.estimator import LocalGCL as LocalGCL
    from localgcl.estimator import train as train
    from localgcl.evaluation import evaluate as evaluate
    from localgcl.experiments.compare.comparing import compare as compare
    from localgcl.graph import Graph as Graph
    from localgcl.graph import Split as Split
    from localgcl.io.convert import as_graph as as_graph
    from localgcl.io.convert import to_pyg as to_pyg
    from localgcl.io.export import write_embeddings as write_embeddings
    from localgcl.nn import features as features
    from localgcl.system.memory import OutOfMemory as OutOfMemory

set_thread_defaults()  # before torch is loaded, because its threads read their settings then

_HOME = {
    # a graph
    "load": "localgcl.datasets",
    "read_graph": "localgcl.datasets",
    "as_graph": "localgcl.io.convert",
    "to_pyg": "localgcl.io.convert",
    "sbm": "localgcl.datasets",
    "random_splits": "localgcl.datasets",
    "few_label_splits": "localgcl.datasets",
    "Graph": "localgcl.graph",
    "Split": "localgcl.graph",
    # its embeddings
    "LocalGCL": "localgcl.estimator",
    "Embedder": "localgcl.estimator",
    "train": "localgcl.estimator",
    "write_embeddings": "localgcl.io.export",
    # how good they are
    "evaluate": "localgcl.evaluation",
    "compare": "localgcl.experiments.compare.comparing",
    # the parts, for your own training loop
    "losses": "localgcl.losses",
    "features": "localgcl.nn.features",
    "LocalGCLWarning": "localgcl.config",
    "OutOfMemory": "localgcl.system.memory",
}

__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'localgcl' has no attribute {name!r}")
    home = importlib.import_module(_HOME[name])
    return home if _HOME[name].endswith(f".{name}") else getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)
