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
    from localgcl.estimator import NodeEmbeddings as NodeEmbeddings
    from localgcl.estimator import train as train
    from localgcl.evaluation import evaluate as evaluate
    from localgcl.evaluation.nearest_rows import nearest as nearest
    from localgcl.experiments.compare.comparing import compare as compare
    from localgcl.graph import Graph as Graph
    from localgcl.graph import Split as Split
    from localgcl.io.convert import as_graph as as_graph
    from localgcl.io.convert import to_pyg as to_pyg
    from localgcl.io.export import write_embeddings as write_embeddings
    from localgcl.nn import features as features
    from localgcl.report.writing import write_report as write_report
    from localgcl.system.memory import OutOfMemory as OutOfMemory
    from localgcl.training import StopTraining as StopTraining

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
    "NodeEmbeddings": "localgcl.estimator",
    "train": "localgcl.estimator",
    "StopTraining": "localgcl.training",
    "write_embeddings": "localgcl.io.export",
    # how good they are
    "evaluate": "localgcl.evaluation",
    "nearest": "localgcl.evaluation.nearest_rows",
    "compare": "localgcl.experiments.compare.comparing",
    "write_report": "localgcl.report.writing",
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
