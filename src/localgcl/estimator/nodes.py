"""NodeEmbeddings: rows of embeddings by node id, for pipelines and cross-validation over the nodes of one graph."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from localgcl.estimator.base import GraphTransformer, UnlabelledTransformer, with_index
from localgcl.estimator.local_gcl import LocalGCL
from localgcl.graph import Graph
from localgcl.io.ids import as_ids
from localgcl.io.stored_ids import StoredIds

Array = NDArray[Any]


class _Trained(NamedTuple):
    """What was trained on what, and its embeddings."""

    graph: Graph
    embedder: GraphTransformer
    z: Array

    def serves(self, graph: Graph, asked: GraphTransformer) -> bool:
        """Whether this is what an embedder with the settings of `asked` would learn from the graph."""
        same = type(self.embedder) is type(asked) and self.embedder.get_params() == asked.get_params()
        return self.graph is graph and same


class NodeEmbeddings(UnlabelledTransformer):
    """Embeddings of the nodes of one graph by their ids, so that scikit-learn can divide the nodes.

    The embedder learns from the whole graph without labels, from nodes of the test folds too; only what follows it in a
    pipeline is fitted on the training nodes alone. This is the transductive protocol of node classification. To score nodes
    that training has never seen, fit `LocalGCL` on a subgraph and `transform` the whole graph.

    Training does not depend on the fold, so clones share the last embeddings: a cross-validation trains once, a grid search
    once for each setting of the embedder. With `n_jobs`, call `fit` first, or each fold trains in its own process.

    Args:
        graph: A `Graph`; `as_graph` makes one. Clones share it.
        embedder: A `LocalGCL` or an `Embedder`, which is cloned; by default `LocalGCL()`.

    Example:
        >>> import localgcl as lg
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.model_selection import cross_val_score
        >>> from sklearn.pipeline import make_pipeline
        >>> graph = lg.load("digits")
        >>> rows = lg.NodeEmbeddings(graph, lg.LocalGCL(dim=64, steps=5))
        >>> pipeline = make_pipeline(rows, LogisticRegression(max_iter=1000))
        >>> cross_val_score(pipeline, graph.node_ids, graph.y.numpy(), cv=3).shape
        (3,)
    """

    def __init__(self, graph: Graph, embedder: GraphTransformer | None = None) -> None:
        self.graph = graph
        self.embedder = embedder

    def fit(self, X: Any = None, y: Any = None) -> "NodeEmbeddings":  # noqa: ARG002 - scikit-learn's signature
        """Embeds all nodes of the graph, unless this was done with the same settings. X and y are not used."""
        if not isinstance(self.graph, Graph):
            raise ValueError(f"graph is a {type(self.graph).__name__}; give a localgcl.Graph, such as as_graph returns")
        asked = clone(self.embedder or LocalGCL()).set_output(transform="default")
        shared = self._shared()
        if not (shared and shared[0].serves(self.graph, asked)):
            asked.fit(self.graph)
            shared[:] = [_Trained(self.graph, asked, asked.transform(self.graph))]
        self.embedder_, self.embeddings_ = shared[0].embedder, shared[0].z
        self._n_features_out = self.embeddings_.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        """The embeddings of the nodes whose ids X lists, in its order, shape (len(X), d).

        A numpy array, or what `set_output` asks for; the index of a pandas frame is the node ids.
        """
        check_is_fitted(self, "embeddings_")
        ids = np.asarray(X)
        if ids.ndim == 2 and ids.shape[1] == 1:  # a frame of one column
            ids = ids[:, 0]
        if ids.ndim != 1:
            raise ValueError(f"X has shape {ids.shape}; give a list of node ids, for example graph.node_ids")
        found = StoredIds.of_graph(self.graph).find(as_ids(ids, "X"))
        if (missing := found < 0).any():
            more = f" (and {missing.sum() - 1} more)" if missing.sum() > 1 else ""
            raise ValueError(
                f"X names {ids[missing].tolist()[0]!r:.80}{more}, which is no node of graph {self.graph.name!r}; "
                "give ids of graph.node_ids"
            )
        return with_index(self, self.embeddings_[found], ids)

    def _shared(self) -> list[_Trained]:
        """What clones share: nothing, or the last training. Made on first use, since `__init__` only stores."""
        held: list[_Trained] = self.__dict__.setdefault("_last", [])
        return held

    def __sklearn_clone__(self) -> "NodeEmbeddings":
        copy: NodeEmbeddings = super().__sklearn_clone__()
        copy._last = self._shared()
        return copy
