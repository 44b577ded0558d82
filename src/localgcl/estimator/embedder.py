"""Embedder: the estimator of any method, which is named; options are given by name."""

from typing import Any

from localgcl.config import Config
from localgcl.estimator.base import GraphTransformer


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
