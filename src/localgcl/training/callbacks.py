"""Callbacks: what sees training while it runs. Any callable that takes a row is one; `TensorBoard` is one of ours."""

import os
from typing import Any, Protocol, runtime_checkable


class StopTraining(Exception):
    """Raised by a callback to end training after the current step, as early stopping does.

    The run is complete: it has weights, `keep` decides which, and its embeddings are written.
    """


@runtime_checkable
class Callback(Protocol):
    """Called with each logged row, which comes every `log_every` steps and after the last one.

    A row is a dict of numbers by name: `step` (from 0), `seconds` since the start, `loss` and the method's terms; in some rows
    also `spread` and `rank` of the embeddings. It is the row that is stored: read it, and do not change it. What a callback
    returns is ignored. `StopTraining` ends training; any other exception leaves it as an error.
    """

    def __call__(self, row: dict[str, Any], /) -> object: ...


class TensorBoard:
    """Writes every number of a row as a TensorBoard scalar. `localgcl train --tensorboard` uses it.

    Args:
        folder: Where the events go; made with the first row.

    Raises:
        ImportError: TensorBoard is not installed.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ImportError("TensorBoard is not installed; pip install 'localgcl[tensorboard]'") from error
        self._make, self._folder = SummaryWriter, os.fspath(folder)
        self._writer: SummaryWriter | None = None

    def __call__(self, row: dict[str, Any], /) -> None:
        """Writes a row, so that it can be seen at once."""
        if self._writer is None:
            self._writer = self._make(self._folder)
        for name, value in row.items():
            if name != "step":
                self._writer.add_scalar(name, value, row["step"])
        self._writer.flush()
