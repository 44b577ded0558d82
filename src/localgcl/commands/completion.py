"""`localgcl completion`: a script that lets a shell complete commands, options, their values and names."""

import argparse
from collections.abc import Iterable, Mapping

from localgcl.commands.output import Result
from localgcl.commands.shells import SHELLS, Command, Slot

DESCRIPTION = (
    "Print a script that completes localgcl's commands, options, data sets, methods and files in your shell. Store it where "
    "the shell looks for it, and again after an update: for bash ~/.local/share/bash-completion/completions/localgcl, for zsh "
    "a file _localgcl in a folder of $fpath, for fish ~/.config/fish/completions/localgcl.fish."
)
_PATHS = ("F", "FILE", "DIR", "RUN", "EDGES", "RUN|FILE", "NAME|FILE", "DATASET", "HOW")
"""What help texts call a value that is a path, or may be one."""


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """The shell."""
    parser.add_argument("shell", choices=list(SHELLS), help="which shell")


def run(options: argparse.Namespace) -> Result:
    """Prints the script."""
    script = SHELLS[options.shell](commands())
    print(script)
    return {"shell": options.shell, "script": script}


def commands() -> list[Command]:
    """Every command with its options; of methods, the options of all."""
    from localgcl.commands import COMMANDS, command_parser  # which import this module in turn
    from localgcl.methods import METHODS

    found = []
    for name, summary in COMMANDS.items():
        methods = METHODS if name in ("train", "tune") else ("local-gcl",)
        parsers = [command_parser(name, ["--method", method])[0] for method in methods]
        actions = [action for parser in parsers for action in parser._actions]  # argparse has no public name for them
        known = _words()
        slots: dict[str, Slot] = {}
        for action in actions:  # of one option that methods read differently, all words
            slot, first = _slot(action, known), action.option_strings[0] if action.option_strings else ""
            words = (*slots[first].words, *slot.words) if first in slots else slot.words
            files = slot.files or (first in slots and slots[first].files)
            slots[first] = slot._replace(words=tuple(dict.fromkeys(words)), files=files)
        arguments = slots.pop("", Slot((), "", 0, (), files=False))
        found.append(Command(name, summary, list(slots.values()), arguments.words, arguments.files))
    return found


def _words() -> Mapping[str, Iterable[str]]:
    """Words that values may have, by the name of the option or place."""
    from localgcl.datasets.catalogue import CATALOGUE
    from localgcl.methods import METHODS

    return {
        "method": METHODS,
        "methods": METHODS,
        "device": ("auto", "cpu", "cuda"),
        "encode": ("auto",),
        "dataset": CATALOGUE,
    }


def _slot(action: argparse.Action, known: Mapping[str, Iterable[str]]) -> Slot:
    words = tuple(map(str, action.choices or known.get(action.dest, ())))
    files = str(action.metavar) in _PATHS
    values = 0 if action.nargs == 0 else 99 if action.nargs == "+" else 1
    return Slot(tuple(action.option_strings), (action.help or "").replace("%%", "%"), values, words, files)
