"""The command line: one file a command. A command reads options, calls the library and prints; it has no logic of its own.

Exit codes: 0 done, 1 the input or the run is at fault (one line on stderr says what to do), 2 the command line is
wrong, 130 stopped by Ctrl-C (the run folder is usable and can be resumed).
"""

import argparse
import importlib
import logging
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from localgcl._version import __version__
from localgcl.config import LocalGCLWarning
from localgcl.system.memory import OutOfMemory, explained
from localgcl.system.text import shown

COMMANDS: dict[str, str] = {
    "convert": "make a graph folder of tables of any size",
    "train": "learn embeddings from a graph",
    "embed": "write the embeddings of a graph, also of new nodes",
    "evaluate": "score embeddings with labels",
    "compare": "train several methods on a graph and score them side by side",
    "tune": "search settings on validation nodes",
    "datasets": "list the graphs that can be named",
    "methods": "list the methods",
    "bench": "measure speed and memory",
    "reproduce": "run the paper's tables, figures and theorems",
}
"""Each command and its line of help. Command NAME is the module `localgcl.commands.NAME`, with a DESCRIPTION, `add_options`
and `run`; it is imported when it is asked for, because torch takes seconds to load."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `localgcl`; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    overview = argparse.ArgumentParser(
        prog="localgcl",
        description="Node embeddings for graphs: no labels, no augmentations, linear in the graph.",
        epilog="Start with: localgcl train digits    Help on a command: localgcl train --help",
    )
    overview.add_argument("--version", action="version", version=f"localgcl {__version__}")
    commands = overview.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary, add_help=False)
    # This parser reads only the command's name; the command's own parser reads the rest.
    chosen: str = overview.parse_args(arguments[:1]).command
    with warnings.catch_warnings(), _Notes(quiet="--quiet" in arguments):
        warnings.showwarning = _one_line_warning
        return _guarded(chosen, arguments[1:])


def _guarded(command: str, arguments: list[str]) -> int:
    """Runs a command. An error that the user can fix becomes one line on stderr; a bug keeps its traceback."""
    try:
        module = importlib.import_module(f"localgcl.commands.{command}")
        parser = argparse.ArgumentParser(prog=f"localgcl {command}", description=module.DESCRIPTION, allow_abbrev=False)
        parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
        module.add_options(parser, arguments)
        options = parser.parse_args(arguments)
        with explained(f"running localgcl {command}", "take smaller sizes, a smaller graph or a machine with more memory"):
            module.run(options)
    except KeyboardInterrupt as interrupt:
        print(f"localgcl: {str(interrupt) or 'stopped'}", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as in `localgcl datasets | head`
        sys.stderr.close()
        return 1
    except (ValueError, TypeError, OSError, ImportError, OutOfMemory) as error:
        if "--debug" in arguments:
            raise
        print(f"localgcl: error: {shown(' '.join(str(error).split()))}", file=sys.stderr)
        return 1
    return 0


class _Notes(logging.Handler):
    """Shows what the library logs, one line each on stderr, for the length of a command."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        self._logger = logging.getLogger("localgcl")
        self._level = logging.WARNING if quiet else logging.INFO

    def __enter__(self) -> None:
        self._before = self._logger.level
        self._logger.addHandler(self)
        self._logger.setLevel(self._level)

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
        self._logger.setLevel(self._before)

    def emit(self, record: logging.LogRecord) -> None:
        print(f"localgcl: note: {shown(record.getMessage())}", file=sys.stderr)


def _one_line_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, LocalGCLWarning):
        print(f"localgcl: note: {shown(message)}", file=sys.stderr)
