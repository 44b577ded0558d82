"""The desk: where ranks leave word for the command that started them. It lives in a process of its own, as a Ray actor."""

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal

from localgcl.config import LocalGCLWarning

Kind = Literal["line", "note", "warning"]
_LOGGER = logging.getLogger("localgcl")


class Desk:
    """What ranks have said, and the error that ends the work.

    Example:
        >>> desk = Desk()
        >>> desk.write("line", "4 ranks share batches")
        >>> desk.take(), desk.take()
        ([('line', '4 ranks share batches')], [])
    """

    def __init__(self) -> None:
        self._said: list[tuple[Kind, str]] = []
        self._error: Exception | None = None

    def write(self, kind: Kind, text: str) -> None:
        self._said.append((kind, text))

    def take(self) -> list[tuple[Kind, str]]:
        """What was written since the last time."""
        said, self._said = self._said, []
        return said

    def fail(self, error: Exception) -> None:
        """Keeps the first error: the others follow from it."""
        self._error = self._error or error

    def error(self) -> Exception | None:
        return self._error


@contextlib.contextmanager
def reporting(write: Callable[[Kind, str], Any]) -> Iterator[None]:
    """Writes the library's notes and warnings to the desk."""
    handler = logging.Handler()
    handler.emit = lambda record: write("note", record.getMessage())  # type: ignore[method-assign]
    level = _LOGGER.level
    with warnings.catch_warnings():
        warnings.simplefilter("always", LocalGCLWarning)
        warnings.showwarning = lambda message, category, *_, **__: (
            write("warning", str(message)) if issubclass(category, LocalGCLWarning) else None
        )
        _LOGGER.addHandler(handler)
        _LOGGER.setLevel(logging.INFO)
        try:
            yield
        finally:
            _LOGGER.setLevel(level)
            _LOGGER.removeHandler(handler)


def repeat(said: list[tuple[Kind, str]], say: Callable[[str], None]) -> None:
    """Says here what was written to the desk elsewhere."""
    for kind, text in said:
        if kind == "line":
            say(text)
        elif kind == "note":
            _LOGGER.info("%s", text)
        else:
            warnings.warn(text, LocalGCLWarning, stacklevel=2)
