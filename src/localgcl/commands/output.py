"""What a command prints: lines for people, or with --json one document for programs.

A command prints for people and returns its result, plain values by name. With --json the document is all that stdout gets; what
is meant for people goes to stderr, or nowhere with --quiet.
"""

import argparse
import contextlib
import dataclasses
import datetime
import functools
import json
import logging
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from localgcl._version import __version__
from localgcl.config import LocalGCLWarning
from localgcl.system.text import shown

Result = Mapping[str, Any]
"""The result of a command, by name; values as `plain` takes them."""


def sayer(options: argparse.Namespace) -> Callable[[str], None]:
    """A function that prints a status line; with --quiet it prints nothing."""
    return (lambda _: None) if options.quiet else functools.partial(print, flush=True)


def aligned(rows: Sequence[Sequence[str]], *, right: bool = False, indent: str = "") -> list[str]:
    """A line for each row, its cells below each other; with `right`, all columns but the first are aligned at the right.

    Example:
        >>> aligned([("id", "label"), ("n10", "a")])
        ['id   label', 'n10  a']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = ["<", *(">" if right else "<") * (len(widths) - 1)]
    return [
        indent + "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)).rstrip()
        for row in rows
    ]


def dated(path: str, now: datetime.datetime | None = None) -> str:
    """A path with {date} and {time} filled in: for jobs that run every night.

    Example:
        >>> dated("runs/customers-{date}", datetime.datetime(2026, 11, 16, 2, 30))
        'runs/customers-2026-11-16'
    """
    now = now or datetime.datetime.now().astimezone()
    return path.replace("{date}", f"{now:%Y-%m-%d}").replace("{time}", f"{now:%H%M%S}")


def document(command: str, result: Result | None) -> str:
    """The JSON document of a result: name and version first, then the result's own fields. NaN and infinity become null."""
    fields = {"command": command, "version": __version__, **(result or {})}
    return json.dumps(plain(fields), indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """The value as JSON can hold it: dataclasses, paths, arrays and tensors are converted; NaN and infinity become None.

    Example:
        >>> plain({"mean": float("nan"), "sizes": (1, 2)})
        {'mean': None, 'sizes': [1, 2]}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):  # arrays, tensors and their scalars
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextlib.contextmanager
def for_people(options: argparse.Namespace) -> Iterator[None]:
    """With --json, sends what a command prints to stderr: stdout is for the document."""
    if not options.json:
        yield
        return
    with contextlib.ExitStack() as stack:
        elsewhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8")) if options.quiet else sys.stderr
        stack.enter_context(contextlib.redirect_stdout(elsewhere))
        yield


class Notes(logging.Handler):
    """Prints the library's log records on stderr, one line each, while a command runs."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__()
        self._logger = logging.getLogger("localgcl")
        self._level = logging.DEBUG if options.verbose else logging.WARNING if options.quiet else logging.INFO

    def __enter__(self) -> None:
        self._before = self._logger.level
        self._logger.addHandler(self)
        self._logger.setLevel(self._level)

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
        self._logger.setLevel(self._before)

    def emit(self, record: logging.LogRecord) -> None:
        kind = "debug" if record.levelno < logging.INFO else "note"
        print(f"localgcl: {kind}: {shown(record.getMessage())}", file=sys.stderr)


def show_warning(message: Warning | str, category: type[Warning], *place: Any, verbose: bool, **_: Any) -> None:
    """Prints a warning as one line on stderr; those of other libraries only if `verbose`."""
    if issubclass(category, LocalGCLWarning):
        print(f"localgcl: note: {shown(message)}", file=sys.stderr)
    elif verbose:
        file, line = (*place, "", "")[:2]
        print(f"localgcl: debug: {category.__name__} at {shown(file)}:{line}: {shown(message)}", file=sys.stderr)
