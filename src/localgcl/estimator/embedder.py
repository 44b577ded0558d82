"""Embedder: the estimator of any method, which is named; and train, which keeps a run of it."""

import os
from collections.abc import Callable
from typing import Any

from localgcl.config import Config
from localgcl.datasets.source import Source
from localgcl.estimator.base import GraphTransformer
from localgcl.io.convert import as_graph
from localgcl.training import Callback
from localgcl.training.train import Request
from localgcl.training.train import train as run


class Embedder(GraphTransformer):
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
        callbacks: Called with each logged row (see `localgcl.training.Callback`).
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
    if graph is not None and not isinstance(graph, Source):
        graph = Source(graph) if isinstance(graph, str) else as_graph(graph)
    request = Request(graph, out, method, recipe, resume, warm_start, force_memory, settings, progress_bar)
    return Embedder.of(run(request, say=say, callbacks=callbacks))
