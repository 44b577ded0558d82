"""scikit-learn estimators: fit on a graph, transform any graph with the same feature columns."""

import logging
import os
from typing import Any, TypeVar

from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from localgcl.config import Config, Scaling
from localgcl.graph import Graph
from localgcl.io.convert import as_graph
from localgcl.losses.local import Negatives, Positives
from localgcl.methods import configure, find_method
from localgcl.recipes import recipe, settings_for
from localgcl.training import Callback, Model, fit

_LOG = logging.getLogger("localgcl")
Array = NDArray[Any]
Estimator = TypeVar("Estimator", bound="_GraphTransformer")


class _GraphTransformer(TransformerMixin, BaseEstimator):
    """What all estimators share; subclasses say which settings were asked for."""

    model_: Model

    def _asked(self) -> tuple[str, dict[str, Any]]:
        """The method, and the settings that were given (None stands for: chosen from the graph)."""
        raise NotImplementedError

    def _config(self, graph: Graph) -> Config:
        method, asked = self._asked()
        given = {name: value for name, value in asked.items() if value is not None}
        chosen = settings_for(method, graph, own=find_method(method).defaults)
        _LOG.info(chosen.explain(given))
        return configure(method, {**chosen.values, **given})

    def fit(self: Estimator, X: Any, y: Any = None, *, callbacks: tuple[Callback, ...] = ()) -> Estimator:  # noqa: ARG002
        """Learns an encoder from the graph X (a `Graph` or anything `as_graph` takes). y is ignored: no labels are used."""
        graph = as_graph(X)
        self.model_ = fit(graph, self._config(graph), callbacks=callbacks, progress_bar=bool(getattr(self, "verbose", False)))
        self.n_features_in_ = graph.num_features
        return self

    def transform(self, X: Any) -> Float[Array, "n d"]:
        """Embeddings of all nodes of X, in node order; X may hold nodes and edges never seen in training."""
        check_is_fitted(self, "model_")
        embeddings: Array = self.model_.embed(as_graph(X)).numpy()
        return embeddings

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
        model = Model.load(path, device)
        estimator = cls._of(model.config)
        estimator.model_ = model
        estimator.n_features_in_ = model.num_inputs
        return estimator

    @classmethod
    def _of(cls: type[Estimator], config: Config) -> Estimator:
        """An unfitted estimator with the settings of `config`."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.no_validation = True
        return tags


class LocalGCL(_GraphTransformer):
    """Node embeddings by Localized Graph Contrastive Learning: neighbours attract, all nodes repel. No labels are used.

    Settings left at None are chosen from the graph at `fit` (see `localgcl.recipes.settings_for`); the logger "localgcl"
    says why, and `model_.config` holds all of them. `LocalGCL.from_recipe("cora")` gives the settings of a benchmark.

    Args:
        dim: Embedding dimension d.
        temperature: tau; smaller makes close pairs count more.
        encoder: "gcn" averages over neighbours, "mlp" looks at each node alone.
        layers: Number of layers.
        hidden: Width of the layers between; 0 means `dim`.
        batch_norm: Batch normalisation between layers.
        self_loops: Weight of a node itself in the GCN's averaging.
        positives: "mean" of the neighbours, the most similar one ("max"), or "weighted" by similarity.
        negatives: "auto", "exact", or a random feature map: "sorf", "orf", "rff", "positive".
        num_features: D, the number of random frequencies.
        include_self: Count a node as its own neighbour.
        scaling: "raw", "binary", "l1", "l2" or "standard" features.
        symmetrise: Add the reverse of every edge.
        drop_loops: Remove the graph's own self-loops.
        steps: Training steps.
        learning_rate: Adam's.
        weight_decay: L2 penalty.
        device: "auto", "cpu", "cuda"...
        deterministic: Bit-identical CPU runs.
        random_state: Seed.
        verbose: Show a progress bar.

    Example:
        >>> import localgcl as lg
        >>> graph = lg.load("digits")
        >>> z = lg.LocalGCL(dim=64, steps=5, random_state=0).fit_transform(graph)
        >>> z.shape
        (1797, 64)
    """

    def __init__(
        self,
        dim: int | None = None,
        temperature: float | None = None,
        *,
        encoder: str | None = None,
        layers: int | None = None,
        hidden: int | None = None,
        batch_norm: bool | None = None,
        self_loops: float | None = None,
        positives: Positives | None = None,
        negatives: Negatives | None = None,
        num_features: int | None = None,
        include_self: bool | None = None,
        scaling: Scaling | None = None,
        symmetrise: bool | None = None,
        drop_loops: bool | None = None,
        steps: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        device: str = "auto",
        deterministic: bool = False,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.dim = dim
        self.temperature = temperature
        self.encoder = encoder
        self.layers = layers
        self.hidden = hidden
        self.batch_norm = batch_norm
        self.self_loops = self_loops
        self.positives = positives
        self.negatives = negatives
        self.num_features = num_features
        self.include_self = include_self
        self.scaling = scaling
        self.symmetrise = symmetrise
        self.drop_loops = drop_loops
        self.steps = steps
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.device = device
        self.deterministic = deterministic
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def from_recipe(cls, dataset: str, **changes: Any) -> "LocalGCL":
        """The settings of `localgcl train DATASET`, with `changes`."""
        settings = recipe("local-gcl", dataset)
        if settings is None:
            raise ValueError(f"there is no recipe for {dataset!r}; leave settings out to have them chosen from the graph")
        return cls(**{**settings, **changes})

    def _asked(self) -> tuple[str, dict[str, Any]]:
        asked = self.get_params(deep=False)
        asked["seed"] = asked.pop("random_state")
        asked.pop("verbose")
        return "local-gcl", asked

    @classmethod
    def _of(cls, config: Config) -> "LocalGCL":
        if config.method != "local-gcl":
            raise ValueError(f"this run was trained with {config.method!r}, not local-gcl; use Embedder.load")
        known = set(cls._get_param_names())
        settings = {name: value for name, value in config.flat().items() if name in known}
        return cls(**{**settings, "random_state": config.training.seed})


class Embedder(_GraphTransformer):
    """Node embeddings by any method of `localgcl methods`; options are that method's own and the shared ones, by name.

    Example:
        >>> import localgcl as lg
        >>> lg.Embedder(method="random-init", dim=16).fit_transform(lg.load("digits")).shape
        (1797, 16)
    """

    def __init__(self, method: str = "local-gcl", *, random_state: int = 0, verbose: bool = False, **options: Any) -> None:
        self.method = method
        self.random_state = random_state
        self.verbose = verbose
        self.options = options

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's signature
        """Parameters by name, options included: scikit-learn reads names off a signature, and **options hides them."""
        return {"method": self.method, "random_state": self.random_state, "verbose": self.verbose, **self.options}

    def set_params(self, **params: Any) -> "Embedder":
        for name, value in params.items():
            if name in ("method", "random_state", "verbose"):
                setattr(self, name, value)
            else:
                self.options = {**self.options, name: value}
        return self

    def _asked(self) -> tuple[str, dict[str, Any]]:
        return self.method, {**self.options, "seed": self.random_state}

    @classmethod
    def _of(cls, config: Config) -> "Embedder":
        settings = config.flat()
        return cls(config.method, random_state=settings.pop("seed"), **settings)
