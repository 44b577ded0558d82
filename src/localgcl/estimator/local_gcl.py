"""LocalGCL: the estimator of the paper's method, with its settings by name."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from localgcl.config import Config, Scaling, suggestion
from localgcl.estimator.base import GraphTransformer
from localgcl.losses.local import Positives
from localgcl.methods import DEFAULT, configure
from localgcl.recipes import recipe as find_recipe

Init = TypeVar("Init", bound=Callable[..., None])


def _naming_options(init: Init) -> Init:
    """`__init__` whose error about an unknown option names the one that was meant; its signature stays as it is."""
    known = tuple(inspect.signature(init).parameters)[1:]

    @functools.wraps(init)
    def checked(*args: Any, **options: Any) -> None:
        for name in options:
            if name not in known:
                others = configure("local-gcl", {}).flat().keys() - {"seed"}
                meant = f"; Embedder('local-gcl', {name}=...) has it" if name in others else suggestion(name, known)
                raise TypeError(f"LocalGCL has no option {name!r:.100}{meant}")
        init(*args, **options)

    return cast(Init, checked)


class LocalGCL(GraphTransformer):
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

    @_naming_options
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
        for name, value in locals().copy().items():
            if name != "self":
                setattr(self, name, value)

    @classmethod
    def from_recipe(cls, dataset: str, **changes: Any) -> "LocalGCL":
        """The settings of `localgcl train DATASET`, with `changes`."""
        settings = find_recipe(DEFAULT, dataset)
        if settings is None:
            raise ValueError(f"there is no recipe for {dataset!r}; leave settings out to have them chosen from the graph")
        return cls(**{**settings, **changes})

    def _asked(self) -> tuple[str, dict[str, Any]]:
        asked = self.get_params(deep=False)
        asked["seed"] = asked.pop("random_state")
        del asked["verbose"], asked["force_memory"]
        return DEFAULT, asked

    @classmethod
    def _of(cls, config: Config) -> "LocalGCL":
        if config.method != DEFAULT:
            raise ValueError(f"this run was trained with {config.method!r}, not local-gcl; use Embedder.load")
        known = set(cls._get_param_names())
        settings = {name: value for name, value in config.flat().items() if name in known}
        return cls(**{**settings, "random_state": config.training.seed})
