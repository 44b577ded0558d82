import pickle
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from localgcl.system.workers import Workers

Result = TypeVar("Result")


class Copying(Workers):
    """Workers in this process, which get copies of everything, as other processes do; starting those takes seconds."""

    def __enter__(self) -> "Copying":
        self.jobs = 1
        self._initial = pickle.loads(pickle.dumps(self._initial))
        super().__enter__()
        return self

    def submit(self, function: Callable[..., Result], *arguments: Any) -> "Future[Result]":
        copied, given = pickle.loads(pickle.dumps((function, arguments)))
        return super().submit(copied, *given)
