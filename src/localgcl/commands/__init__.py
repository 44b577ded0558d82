"""The command line: one file a command. A command reads options, calls the library and prints; it has no logic of its own.

Exit codes: 0 done, 1 the input or the run is at fault (one line on stderr says what to do), 2 the command line is
wrong, 130 stopped by Ctrl-C (the run folder is usable and can be resumed).
"""

import contextlib
import functools
import importlib
import logging
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from types import ModuleType

from localgcl._version import __version__
from localgcl.commands.output import Notes, Result, document, for_people, show_warning
from localgcl.commands.parser import Parser, add_common, early_plugins, meant
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
    """Runs the command of a module, which the user calls `prog`; returns the exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = functools.partial(show_warning, verbose=False)
        return _guarded(prog, module, arguments)


def command_parser(command: str, arguments: list[str]) -> tuple[Parser, ModuleType]:
    """The parser of a command and its module. `arguments` matter where one option decides which others there are."""
    return module_parser(f"localgcl {command}", f"localgcl.commands.{command}", arguments)


def module_parser(prog: str, name: str, arguments: list[str]) -> tuple[Parser, ModuleType]:
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


def _guarded(prog: str, name: str, arguments: list[str]) -> int:
    """Runs a command. An error that the user can fix becomes one line on stderr; a bug keeps its traceback."""
    try:
        parser, module = module_parser(prog, name, arguments)
        options = parser.read(arguments)
        with Notes(options), for_people(options), _costs(prog, verbose=options.verbose):
            result: Result | None = module.run(options)
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
