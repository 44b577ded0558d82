"""The parser of a command: options that all commands have, and usage errors of one line."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from localgcl.config import closest

COMMON = ("debug", "json", "plugin", "quiet", "verbose")
"""Names of the options that `add_common` adds."""


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
