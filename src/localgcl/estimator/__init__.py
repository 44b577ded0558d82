"""scikit-learn estimators: fit on a graph, transform any graph with the same feature columns. `train` keeps a run."""

from localgcl.estimator.embedder import Embedder as Embedder
from localgcl.estimator.embedder import train as train
from localgcl.estimator.local_gcl import LocalGCL as LocalGCL
from localgcl.estimator.nodes import NodeEmbeddings as NodeEmbeddings
