"""The command line: one file a command. A command reads options, calls the library and prints; it has no logic of its own.

Exit codes: 0 done, 1 the input or the run is at fault (one line on stderr says what to do), 2 the command line is
wrong, 130 stopped by Ctrl-C (the run folder is usable and can be resumed).
"""

import argparse
import contextlib
import functools
import importlib
import logging
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, NoReturn

from localgcl._version import __version__
from localgcl.commands.output import Notes, Result, document, for_people, show_warning
from localgcl.config import closest
from localgcl.system.memory import OutOfMemory, explained, in_bytes
from localgcl.system.text import shown

_LOG = logging.getLogger("localgcl")

COMMANDS: dict[str, str] = {
    "convert": "make a graph folder of tables of any size",
    "inspect": "check and summarise a graph before training",
    "train": "learn embeddings from a graph",
    "embed": "write the embeddings of a graph, also of new nodes",
    "evaluate": "score embeddings with labels",
    "report": "write a page to look at: map, clusters, scores",
    "map": "draw the embeddings of a run",
    "similar": "list the nodes most similar to some nodes",
    "cluster": "group similar nodes and say what marks them out",
    "compare": "train several methods on a graph and score them side by side",
    "tune": "search settings on validation nodes",
    "datasets": "list the graphs that can be named",
    "methods": "list the methods",
    "completion": "print a script that completes commands in your shell",
}
"""Each command and its line of help. Command NAME is the module `localgcl.commands.NAME`, with a DESCRIPTION, `add_options`
and `run`, which prints for people and returns the result for --json (see `output`). It is imported when it is asked for,
because torch takes seconds to load."""
MOVED = {"bench": "python -m paper bench", "reproduce": "python -m paper"}
"""Commands that serve the paper and the repository, not a user's graph: they live beside the package, in a checkout."""

COMMON = ("debug", "json", "plugin", "quiet", "verbose")
"""Names of the options that `add_common` adds."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `localgcl`; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    overview = Parser(
        prog="localgcl",
        description="Node embeddings for graphs: no labels, no augmentations, linear in the graph.",
        epilog="Start with: localgcl train digits. Help on a command: localgcl train --help.",
    )
    overview.add_argument("--version", action="version", version=f"localgcl {__version__}")
    commands = overview.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary, add_help=False)
    first = arguments[0] if arguments else ""
    if first in MOVED:
        instead = shown(" ".join([MOVED[first], *arguments[1:]]))
        print(f"localgcl: error: localgcl {first} has moved; in a checkout of the repository, run: {instead}", file=sys.stderr)
        return 1
    if first not in COMMANDS and not first.startswith("-"):
        known = f"choose one of {', '.join(COMMANDS)}"
        overview.error(f"there is no command {first!r:.100}{meant(first, COMMANDS) or f'; {known}'}" if first else known)
    # This parser reads only the command's name; the command's own parser reads the rest.
    chosen: str = overview.parse_args(arguments[:1]).command
    return run_command(f"localgcl {chosen}", f"localgcl.commands.{chosen}", arguments[1:])


def run_command(prog: str, module: str, arguments: list[str]) -> int:
    """Runs the command of a module, which the user calls `prog`; returns the exit code.

    An error that the user can fix becomes one line on stderr; a bug keeps its traceback.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = functools.partial(show_warning, verbose=False)
            parser, found = module_parser(prog, module, arguments)
            options = parser.read(arguments)
            with Notes(options), for_people(options), _costs(prog, verbose=options.verbose):
                result: Result | None = found.run(options)
        if options.json and result is not None:  # of several ranks, one has a result
            print(document(prog.split()[-1], result))
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


def command_parser(command: str, arguments: list[str]) -> "tuple[Parser, ModuleType]":
    """The parser of a command and its module. `arguments` matter where one option decides which others there are."""
    return module_parser(f"localgcl {command}", f"localgcl.commands.{command}", arguments)


def module_parser(prog: str, name: str, arguments: list[str]) -> "tuple[Parser, ModuleType]":
    """`command_parser` of the module `name`, whose command the user calls `prog`."""
    module = importlib.import_module(name)
    if files := early_plugins(arguments):
        from localgcl.methods import METHODS  # imports torch
        from localgcl.methods.plugins import load_file

        for file in files:
            load_file(file, METHODS)
    parser = Parser(prog=prog, description=module.DESCRIPTION)
    add_common(parser)
    module.add_options(parser, arguments)
    return parser, module


@contextlib.contextmanager
def _costs(prog: str, *, verbose: bool) -> Iterator[None]:
    """Explains allocation failures; if `verbose`, prints versions first, and time and memory at the end."""
    started = time.perf_counter()
    if verbose:
        from localgcl.system.memory import ResidentPeak  # these import torch
        from localgcl.system.provenance import provenance

        warnings.simplefilter("default")
        warnings.showwarning = functools.partial(show_warning, verbose=True)
        made, peak = provenance(), ResidentPeak()
        versions = ", ".join(f"{name} {number}" for name, number in made.packages.items())
        _LOG.debug("Python %s, %s; %s, %d threads", made.python, versions, made.processor, made.threads)
    with explained(f"running {prog}", "take smaller sizes, a smaller graph or a machine with more memory"):
        yield
    if verbose:
        grown = peak.growth()
        memory = "" if grown is None else f"; memory grew by {in_bytes(grown)} at most"
        _LOG.debug("%s took %.1f s%s", prog, time.perf_counter() - started, memory)


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are one line that suggests the option that was meant."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_Formatter, **settings)

    def error(self, message: str) -> NoReturn:
        see = " See" if message.endswith("?") else "; see"
        self.exit(2, f"{self.prog}: error: {message}{see} {self.prog} --help\n")

    def format_help(self) -> str:
        """argparse's help, but its usage line lists required arguments only: the options follow below it."""
        needed = [action for action in self._actions if action.required or not action.option_strings]
        formatter = self._get_formatter()
        formatter.add_usage(None, needed, [])
        self.usage = formatter.format_help().partition("usage: ")[2].rstrip().replace(self.prog, "%(prog)s [OPTIONS]", 1)
        return super().format_help()

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Like `parse_args`, but an unknown argument is an error that suggests the closest option."""
        found, rest = self.parse_known_args(arguments)
        if rest:
            named = next((word for word in rest if word.startswith("-")), rest[0])
            self.error(self._unknown(named.partition("=")[0]))
        return found

    def _unknown(self, word: str) -> str:
        if not word.startswith("-"):
            return f"there is no place for {word!r:.100}"
        return f"there is no option {word:.100}{meant(word, self._option_string_actions)}"  # argparse has no public name


class _Formatter(argparse.HelpFormatter):
    """argparse's, but the left column leaves room for the longest command."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        for part in self._iter_indented_subactions(action):
            self._action_max_length = max(self._action_max_length, len(part.dest) + self._current_indent)


def meant(word: str, known: Iterable[str]) -> str:
    """'; did you mean ...?' if a known word is close; else nothing.

    Example:
        >>> meant("trian", ["train", "embed"]), meant("fly", ["train"])
        ('; did you mean train?', '')
    """
    close = closest(word, known, cutoff=0.6)
    return f"; did you mean {close}?" if close else ""


def add_common(parser: argparse.ArgumentParser) -> None:
    """Adds the options that every command has."""
    section = parser.add_argument_group("output")
    section.add_argument(
        "--json", action="store_true", help="print the result as one JSON document on stdout; all else goes to stderr"
    )
    section.add_argument("-q", "--quiet", action="store_true", help="print results, warnings and errors only")
    section.add_argument("-v", "--verbose", action="store_true", help="also print versions, time and memory, and all warnings")
    section.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.add_argument(
        "--plugin", action="append", metavar="FILE", help="a Python file that registers methods; needed to read their runs, too"
    )


def early_plugins(arguments: Sequence[str]) -> list[str]:
    """The files given by --plugin, read before all else: they decide which methods exist."""
    early = Parser(prog="localgcl", add_help=False)
    early.add_argument("--plugin", action="append", default=[])
    files: list[str] = early.parse_known_args(arguments)[0].plugin
    return files
