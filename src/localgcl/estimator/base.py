"""GraphTransformer: what the estimators share. Fit on a graph, transform any graph with the same feature columns."""

import logging
import os
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config  # the only way to learn what `set_output` was told
from sklearn.utils.validation import check_is_fitted

from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.io.convert import as_graph
from localgcl.training import Callback, Model, fit
from localgcl.training.train import choose_config

_LOG = logging.getLogger("localgcl")
Array = NDArray[Any]
Estimator = TypeVar("Estimator", bound="GraphTransformer")


class UnlabelledTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A scikit-learn transformer that needs no labels, of input that scikit-learn does not check."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.no_validation = True
        return tags


class GraphTransformer(UnlabelledTransformer):
    """What all estimators share; subclasses say which settings were asked for."""

    model_: Model

    def _asked(self) -> tuple[str, dict[str, Any]]:
        """The method, and the settings that were given (None stands for: chosen from the graph)."""
        raise NotImplementedError

    def fit(self: Estimator, X: Any, y: Any = None, *, callbacks: tuple[Callback, ...] = ()) -> Estimator:  # noqa: ARG002
        """Learns an encoder from the graph X (a `Graph` or anything `as_graph` takes). y is ignored: no labels are used.

        `callbacks` are called with each logged row (see `localgcl.training.Callback`).
        """
        graph, force = as_graph(X), bool(getattr(self, "force_memory", False))
        method, asked = self._asked()
        given = {name: value for name, value in asked.items() if value is not None}
        self.model_ = fit(
            graph,
            choose_config(method, graph, given, _LOG.info, fitting=not force, stored=False),
            callbacks=callbacks,
            progress_bar=bool(getattr(self, "verbose", False)),
            force_memory=force,
            say=_LOG.info,
        )
        self.n_features_in_ = graph.num_features
        return self

    def transform(self, X: Any) -> Any:
        """Embeddings of all nodes of X, in node order, shape (n, d); X may hold nodes and edges never seen in training.

        A numpy array, or what `set_output` asks for; the index of a pandas frame is the node ids.

        Feature columns are matched by name: any order will do, columns not seen in training are ignored with a warning, and
        a missing one is an error. Arrays have no names, so their columns must come in the order of training.
        """
        check_is_fitted(self, "model_")
        graph = as_graph(X)
        return with_index(self, self.model_.embed(graph).numpy(), graph.node_ids)

    @property
    def feature_names_in_(self) -> Array:
        """The names of the feature columns seen in `fit`; as in scikit-learn, absent where they have none."""
        check_is_fitted(self, "model_")
        if self.model_.feature_names is None:
            raise AttributeError("feature_names_in_: the features seen in fit have no names")
        return np.array(self.model_.feature_names, dtype=object)

    @property
    def _n_features_out(self) -> int:
        """Number of columns of the embeddings, which `get_feature_names_out` names.

        It may differ from `dim`, so three nodes are embedded to see.
        """
        ring = Graph.from_edges([0, 1, 2], [1, 2, 0], x=np.ones((3, self.model_.num_inputs), np.float32)).symmetrized()
        return self.model_.embed_prepared(ring).shape[1]

    @property
    def history_(self) -> list[dict[str, Any]]:
        """The rows logged while fitting: step, seconds, loss and its terms, spread and rank."""
        check_is_fitted(self, "model_")
        return self.model_.history

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the fitted model as a run folder, which must not exist yet."""
        check_is_fitted(self, "model_")
        self.model_.save(path)

    @classmethod
    def load(cls: type[Estimator], path: str | os.PathLike[str], device: str = "cpu") -> Estimator:
        """The fitted estimator of a run folder, whether `save` or `localgcl train` wrote it."""
        return cls.of(Model.load(path, device))

    @classmethod
    def of(cls: type[Estimator], model: Model) -> Estimator:
        """The fitted estimator of a trained model."""
        estimator = cls._of(model.config)
        estimator.model_ = model
        estimator.n_features_in_ = model.num_inputs
        return estimator

    @classmethod
    def _of(cls: type[Estimator], config: Config) -> Estimator:
        """An unfitted estimator with the settings of `config`."""
        raise NotImplementedError


def with_index(estimator: Any, z: Array, node_ids: Array) -> Any:
    """The embeddings `z` as they are, or as a pandas frame indexed by `node_ids` if the output of `estimator` is to be one.

    scikit-learn turns an array into a frame itself and names its columns, but it does not know the ids of nodes. It keeps the
    index of a frame.
    """
    if _get_output_config("transform", estimator)["dense"] != "pandas":
        return z
    import pandas as pd  # the user asked for it

    return pd.DataFrame(z, index=pd.Index(node_ids, name="node", tupleize_cols=False))
