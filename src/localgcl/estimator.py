"""scikit-learn estimators: fit on a graph, transform any graph with the same feature columns. `train` keeps a run."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from localgcl.config import Config, Scaling
from localgcl.datasets.source import Source
from localgcl.graph import Graph
from localgcl.io.convert import as_graph
from localgcl.io.parts import write_npy
from localgcl.losses.local import Positives
from localgcl.methods import configure
from localgcl.methods.settings import choose_settings
from localgcl.nn.memory import encoder_stacks
from localgcl.ops.costs import explain
from localgcl.recipes import read_recipe
from localgcl.recipes import recipe as find_recipe
from localgcl.system.devices import choose_device
from localgcl.system.files import replacing
from localgcl.system.text import shown
from localgcl.training import Callback, Model, RunFolder, fit
from localgcl.training.memory import reading_memory
from localgcl.training.preflight import check_files, in_fitting_batches
from localgcl.training.run import default_folder

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
        chosen = choose_settings(method, graph, given=given)
        _LOG.info(chosen.explain())
        if getattr(self, "force_memory", False):
            return chosen.config
        return _fitting(chosen.config, graph, {**chosen.values, **given}, _LOG.info, stored=False)

    def fit(self: Estimator, X: Any, y: Any = None, *, callbacks: tuple[Callback, ...] = ()) -> Estimator:  # noqa: ARG002
        """Learns an encoder from the graph X (a `Graph` or anything `as_graph` takes). y is ignored: no labels are used."""
        graph = as_graph(X)
        self.model_ = fit(
            graph,
            self._config(graph),
            callbacks=callbacks,
            progress_bar=bool(getattr(self, "verbose", False)),
            force_memory=bool(getattr(self, "force_memory", False)),
            say=_LOG.info,
        )
        self.n_features_in_ = graph.num_features
        return self

    def transform(self, X: Any) -> Float[Array, "n d"]:
        """Embeddings of all nodes of X, in node order; X may hold nodes and edges never seen in training.

        Feature columns are matched by name: any order will do, columns not seen in training are ignored with a warning, and
        a missing one is an error. Arrays have no names, so their columns must come in the order of training.
        """
        check_is_fitted(self, "model_")
        embeddings: Array = self.model_.embed(as_graph(X)).numpy()
        return embeddings

    @property
    def feature_names_in_(self) -> Array:
        """The names of the feature columns seen in `fit`; as in scikit-learn, absent where they have none."""
        check_is_fitted(self, "model_")
        if self.model_.feature_names is None:
            raise AttributeError("feature_names_in_: the features seen in fit have no names")
        return np.array(self.model_.feature_names, dtype=object)

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.no_validation = True
        return tags


class LocalGCL(_GraphTransformer):
    """Node embeddings by Localized Graph Contrastive Learning: neighbours attract, all nodes repel. No labels are used.

    Settings left at None are chosen from the graph at `fit` (see `localgcl.methods.settings`); the logger "localgcl"
    says why, and `model_.config` holds all of them. `LocalGCL.from_recipe("cora")` gives the settings of a benchmark.

    Args:
        dim: Embedding dimension d.
        temperature: tau; smaller makes close pairs count more.
        encoder: "hops": channels over averaged features, side by side; "gcn" averages in each layer, "mlp" looks at each node
            alone.
        channels: What the channels of hops read, such as ("X", "SX", "B2X").
        fourier: Random Fourier features beside the columns of a narrow table, for hops.
        projected: Columns of a random projection of wide sparse features, for hops.
        pca: Principal components that are kept of the channels of hops; 0 keeps all dimensions.
        layers: Number of layers.
        hidden: Width of the layers between; 0 means `dim`.
        activation: "relu", "prelu", "rrelu" or "elu".
        activate_last: Activate the last layer too.
        batch_norm: Batch normalisation between layers.
        layer_norm: Layer normalisation between layers.
        dropout: Share of each layer's input that is set to zero in training.
        self_loops: Weight of a node itself in the GCN's averaging.
        positives: "mean" of the neighbours, the most similar one ("max"), or "weighted" by similarity.
        negatives: "auto", "exact", or a random feature map: "sorf", "orf", "rff", "positive".
        num_features: D, the number of random frequencies.
        include_self: Count a node as its own neighbour.
        head: Width of a head between embedding and loss, thrown away after training; 0 for none.
        masked: Share of the positives that is left out, drawn at each step.
        scaling: "raw", "binary", "l1", "l2" or "standard" features.
        symmetrise: Add the reverse of every edge.
        drop_loops: Remove the graph's own self-loops.
        batch: Random nodes a step; 0 takes the whole graph.
        sampled: Neighbours of each node of a batch, drawn at each step; 0 takes all.
        steps: Training steps.
        learning_rate: Adam's.
        weight_decay: L2 penalty.
        device: "auto", "cpu", "cuda"...
        deterministic: Bit-identical CPU runs.
        random_state: Seed.
        verbose: Show a progress bar.
        force_memory: Train though it is estimated to take more memory than there is, which is refused otherwise.

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
        channels: tuple[str, ...] | None = None,
        fourier: int | None = None,
        projected: int | None = None,
        pca: int | None = None,
        layers: int | None = None,
        hidden: int | None = None,
        activation: str | None = None,
        activate_last: bool | None = None,
        batch_norm: bool | None = None,
        layer_norm: bool | None = None,
        dropout: float | None = None,
        self_loops: float | None = None,
        positives: Positives | None = None,
        negatives: str | None = None,
        num_features: int | None = None,
        include_self: bool | None = None,
        head: int | None = None,
        masked: float | None = None,
        scaling: Scaling | None = None,
        symmetrise: bool | None = None,
        drop_loops: bool | None = None,
        batch: int | None = None,
        sampled: int | None = None,
        steps: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        device: str = "auto",
        deterministic: bool = False,
        random_state: int = 0,
        verbose: bool = False,
        force_memory: bool = False,
    ) -> None:
        self.dim = dim
        self.temperature = temperature
        self.encoder = encoder
        self.channels = channels
        self.fourier = fourier
        self.projected = projected
        self.pca = pca
        self.layers = layers
        self.hidden = hidden
        self.activation = activation
        self.activate_last = activate_last
        self.batch_norm = batch_norm
        self.layer_norm = layer_norm
        self.dropout = dropout
        self.self_loops = self_loops
        self.positives = positives
        self.negatives = negatives
        self.num_features = num_features
        self.include_self = include_self
        self.head = head
        self.masked = masked
        self.scaling = scaling
        self.symmetrise = symmetrise
        self.drop_loops = drop_loops
        self.batch = batch
        self.sampled = sampled
        self.steps = steps
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.device = device
        self.deterministic = deterministic
        self.random_state = random_state
        self.verbose = verbose
        self.force_memory = force_memory

    @classmethod
    def from_recipe(cls, dataset: str, **changes: Any) -> "LocalGCL":
        """The settings of `localgcl train DATASET`, with `changes`."""
        settings = find_recipe("local-gcl", dataset)
        if settings is None:
            raise ValueError(f"there is no recipe for {dataset!r}; leave settings out to have them chosen from the graph")
        return cls(**{**settings, **changes})

    def _asked(self) -> tuple[str, dict[str, Any]]:
        asked = self.get_params(deep=False)
        asked["seed"] = asked.pop("random_state")
        del asked["verbose"], asked["force_memory"]
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

    `random_state`, `verbose` and `force_memory` are as in `LocalGCL`.

    Example:
        >>> import localgcl as lg
        >>> lg.Embedder(method="random-init", dim=16).fit_transform(lg.load("digits")).shape
        (1797, 16)
    """

    _OWN = ("method", "random_state", "verbose", "force_memory")

    def __init__(
        self,
        method: str = "local-gcl",
        *,
        random_state: int = 0,
        verbose: bool = False,
        force_memory: bool = False,
        **options: Any,
    ) -> None:
        self.method = method
        self.random_state = random_state
        self.verbose = verbose
        self.force_memory = force_memory
        self.options = options

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's signature
        """Parameters by name, options included: scikit-learn reads names off a signature, and **options hides them."""
        return {**{name: getattr(self, name) for name in self._OWN}, **self.options}

    def set_params(self, **params: Any) -> "Embedder":
        for name, value in params.items():
            if name in self._OWN:
                setattr(self, name, value)
            else:
                self.options = {**self.options, name: value}
        return self

    def _asked(self) -> tuple[str, dict[str, Any]]:
        if "seed" in self.options:
            raise ValueError(f"seed is {self.options['seed']!r}; estimators call it random_state, as scikit-learn does")
        return self.method, {**self.options, "seed": self.random_state}

    @classmethod
    def _of(cls, config: Config) -> "Embedder":
        settings = config.flat()
        return cls(config.method, random_state=settings.pop("seed"), **settings)


def train(
    graph: Any = None,
    out: str | os.PathLike[str] | None = None,
    *,
    method: str | None = None,
    recipe: str | os.PathLike[str] | None = None,
    resume: bool = False,
    warm_start: str | os.PathLike[str] | None = None,
    callbacks: tuple[Callback, ...] = (),
    say: Callable[[str], None] = lambda _: None,
    progress_bar: bool = False,
    force_memory: bool = False,
    **settings: Any,
) -> Embedder:
    """Trains into a run folder, as `localgcl train` does: settings, metrics, weights, and the embeddings of all nodes.

    Args:
        graph: The name of a data set, a `Source` (your own files), a `Graph`, or anything that `as_graph` takes. May be left
            out to resume a run that knows its graph.
        out: The run folder; it must be new or empty unless `resume`. By default runs/NAME.
        method: A name of `localgcl methods`; by default local-gcl.
        recipe: A recipe file, such as `localgcl tune` writes, instead of the data set's own recipe.
        resume: Go on with the run in `out`; method and settings are that run's, and those given again must be the same.
        warm_start: A run folder whose weights to start from.
        callbacks: Called with each logged row.
        say: Takes each line about what is done, for example `print`.
        progress_bar: Show one on stderr.
        force_memory: Go on though the run is estimated to take more memory than there is, which is refused otherwise.
        **settings: Options of the method and the shared ones, by name. Those not given come from the recipe, or are chosen
            from the graph's statistics.

    Returns:
        The fitted estimator: `transform` embeds any graph with the same feature columns.

    Example:
        >>> import tempfile, localgcl as lg
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model = lg.train("digits", f"{folder}/run", dim=16, steps=2)
        ...     lg.Embedder.load(f"{folder}/run").transform(lg.load("digits")).shape
        (1797, 16)
    """
    source = Source(graph) if isinstance(graph, str) else graph
    if source is None and resume and out is not None:
        source = Source(**RunFolder.open(out).source)
    if source is None:
        raise ValueError("there is no graph to train on; name a data set, give files or a graph, or resume a run with out=")
    if not isinstance(source, Source):
        source = as_graph(source)
    known = source.to_dict() if isinstance(source, Source) else {}
    out = out or default_folder(source.name)
    if resume:  # checked before the graph is read
        asked = {**(read_recipe(recipe, source.name) if recipe else {}), **settings}
        RunFolder.open(out).check_same({**known, **asked, **({"method": method} if method else {})})
    else:
        configure(method or "local-gcl", settings)  # wrong settings are refused before the graph is read
    if isinstance(source, Source) and source.edges is not None:
        check_files(source.edges, source.features, force=force_memory)
    loaded = source.read() if isinstance(source, Source) else source
    if resume:
        config = RunFolder.open(out).config
    else:
        dataset = source.dataset if isinstance(source, Source) else None
        chosen = choose_settings(method or "local-gcl", loaded, dataset=dataset, recipe_file=recipe, given=settings)
        for line in (repr(loaded), chosen.explain()):
            say(line)
        config = chosen.config
        if not force_memory:
            config = _fitting(config, loaded, {**chosen.values, **settings}, say)
        for line in _form_of_negatives(config, loaded):
            say(line)
    model = fit(
        loaded,
        config,
        folder=out,
        source=known,
        resume=resume,
        warm_start=warm_start,
        callbacks=callbacks,
        progress_bar=progress_bar,
        force_memory=force_memory,
        reading=_reading(source, loaded),
        say=say,
    )
    columns = 0
    with replacing(RunFolder.open(out).embeddings) as temporary, temporary.open("wb") as file:
        rows = (block.numpy() for block in model.embed_blocks(loaded, cache=Path(out)))
        _, columns = write_npy(file, rows, loaded.num_nodes)
    if model.history:
        last = model.history[-1]
        say(f"{config.method}: {model.step} steps in {last['seconds']:.1f} s, loss {last['loss']:.4f}")
    say(f"{loaded.num_nodes:,} embeddings of {columns} numbers in {shown(out)}")
    if loaded.y is not None and known:
        say(f"next: localgcl evaluate {shown(out)}")
    return Embedder.of(model)


def _fitting(config: Config, graph: Graph, known: dict[str, Any], say: Callable[[str], None], *, stored: bool = True) -> Config:
    """The settings, with mini-batches where the whole graph does not fit; `known` ones say what to do about that."""
    if "batch" in known:
        return config
    config, line = in_fitting_batches(graph, config, choose_device(config.training.device), stored=stored)
    if line:
        say(line)
    return config


def _reading(source: Source | Graph, graph: Graph) -> int:
    """Bytes that reading the graph took at its peak; 0 where it was not read here."""
    if isinstance(source, Graph):
        return 0
    structural = source.edges is not None and source.features is None
    return reading_memory(graph.num_nodes, graph.num_edges, graph.num_features, structural=structural)


def _form_of_negatives(config: Config, graph: Graph) -> list[str]:
    """What negatives="auto" takes and what it costs, for methods that have the choice."""
    if getattr(config.options, "negatives", None) != "auto":
        return []
    batch, parts = config.training.batch, encoder_stacks(graph.num_features, config.encoder)
    rows, widest = min(batch or graph.num_nodes, graph.num_nodes), max(stack[-1] for stack in parts)
    device, per = choose_device(config.training.device), "step" if len(parts) == 1 else "step and channel"
    return [explain(rows, widest, config.options.num_features, config.options.temperature, device, per=per)]
