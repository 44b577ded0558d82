"""`localgcl completion`: a script that lets a shell complete commands, options, their values and names."""

import argparse
import itertools
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from localgcl.commands.output import Result

DESCRIPTION = (
    "Print a script that completes localgcl's commands, options, data sets, methods and files in your shell. Store it where "
    "the shell looks for it, and again after an update: for bash ~/.local/share/bash-completion/completions/localgcl, for zsh "
    "a file _localgcl in a folder of $fpath, for fish ~/.config/fish/completions/localgcl.fish."
)
_PATHS = ("F", "FILE", "DIR", "RUN", "EDGES", "RUN|FILE", "NAME|FILE", "DATASET", "HOW")
"""Metavars of values that are paths, or may be."""


class Slot(NamedTuple):
    """An option, or a positional argument.

    Args:
        names: Such as -o and --output; none for a positional argument.
        text: Its help.
        values: How many values follow at most.
        words: What a value may be.
        files: True if a value may be a path.
    """

    names: tuple[str, ...]
    text: str
    values: int
    words: tuple[str, ...]
    files: bool


class Command(NamedTuple):
    """A command: its options, and what its positional arguments may be."""

    name: str
    summary: str
    slots: Sequence[Slot]
    arguments: Slot


# The same text runs in bash and zsh. `line` holds the words of the command line, `place` the number of the word at the cursor.
# It finds the last option before the cursor, and what may follow it; an option that has its values counts no more.
_BODY = """\
    local current=${line[place]} command=${line[1]} option= reach=0 found= files=0 i
    for ((i = place - 1; i > 1; i--)); do
        if [[ ${line[i]} == -* ]]; then option=${line[i]}; break; fi
    done
    case "$command $option" in
%(values)s
    esac
    if ((place == 1)); then
        found=%(commands)s
    elif ((reach == 0 || place - i > reach)) || [[ $current == -* ]]; then
        files=0
        case "$command" in
%(arguments)s
        esac
    fi"""

_BASH = """\
_localgcl() {
    local place=$COMP_CWORD line=("${COMP_WORDS[@]}")
%(body)s
    COMPREPLY=($(compgen -W "$found" -- "$current"))
    if ((files)) && [[ $current != -* ]]; then
        compopt -o filenames 2>/dev/null
        local IFS=$'\\n'
        COMPREPLY+=($(compgen -f -- "$current"))
    fi
}
complete -F _localgcl localgcl"""

_ZSH = """\
#compdef localgcl
_localgcl() {
    setopt localoptions ksharrays
    local place=$((CURRENT - 1))
    local -a line
    line=("${words[@]}")
%(body)s
    unsetopt ksharrays
    compadd -- ${=found}
    if ((files)) && [[ $current != -* ]]; then _files; fi
}
if [[ $funcstack[1] == _localgcl ]]; then _localgcl "$@"; else compdef _localgcl localgcl; fi"""


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """The shell."""
    parser.add_argument("shell", choices=list(SHELLS), help="which shell")


def run(options: argparse.Namespace) -> Result:
    """Prints the script."""
    script = SHELLS[options.shell](commands())
    print(script)
    return {"shell": options.shell, "script": script}


def commands() -> list[Command]:
    """Every command with its options; of train and tune, the options of all methods."""
    from localgcl.commands import COMMANDS, command_parser  # which import this module in turn
    from localgcl.datasets.catalogue import CATALOGUE
    from localgcl.methods import METHODS

    devices = ("auto", "cpu", "cuda")
    known = {"method": METHODS, "methods": METHODS, "device": devices, "encode": ("auto",), "dataset": CATALOGUE}
    found = []
    for name, summary in COMMANDS.items():
        methods = METHODS if name in ("train", "tune") else ("local-gcl",)
        parsers = [command_parser(name, ["--method", method])[0] for method in methods]
        actions = [action for parser in parsers for action in parser._actions]  # argparse has no public name for them
        none = Slot((), "", 0, (), files=False)
        slots = {"": none}
        for action in actions:  # of one option that methods read differently, all words
            slot, first = _slot(action, known), action.option_strings[0] if action.option_strings else ""
            before = slots.get(first, none)
            words = tuple(dict.fromkeys((*before.words, *slot.words)))
            slots[first] = slot._replace(words=words, files=slot.files or before.files)
        arguments = slots.pop("")
        found.append(Command(name, summary, list(slots.values()), arguments))
    return found


def _slot(action: argparse.Action, known: Mapping[str, Iterable[str]]) -> Slot:
    words = tuple(map(str, action.choices or known.get(action.dest, ())))
    files = str(action.metavar) in _PATHS
    values = 0 if action.nargs == 0 else 99 if action.nargs == "+" else 1
    return Slot(tuple(action.option_strings), (action.help or "").replace("%%", "%"), values, words, files)


def fish(commands: Sequence[Command]) -> str:
    """The script for fish."""
    lines = ["complete -c localgcl -f"]
    lines += [f"complete -c localgcl -n __fish_use_subcommand -a {c.name} -d {_fish(c.summary)}" for c in commands]
    for command in commands:
        start = f"complete -c localgcl -n '__fish_seen_subcommand_from {command.name}'"
        lines.append(f"{start}{' -F' * command.arguments.files}{_fish_words(command.arguments.words)}")
        for slot in command.slots:
            names = "".join(f" -{'l' if name.startswith('--') else 's'} {name.lstrip('-')}" for name in slot.names)
            value = "" if slot.values == 0 else f"{' -r -F' if slot.files else ' -x'}{_fish_words(slot.words)}"
            lines.append(f"{start}{names}{value} -d {_fish(slot.text)}")
    return "\n".join(lines)


SHELLS: dict[str, Callable[[Sequence[Command]], str]] = {
    "bash": lambda commands: _BASH % {"body": _body(commands)},
    "zsh": lambda commands: _ZSH % {"body": _body(commands)},
    "fish": fish,
}
"""The shells, and what writes the script of each. That for zsh is a file _localgcl of $fpath, or to source after compinit."""


def _body(commands: Sequence[Command]) -> str:
    values, arguments = [], []
    for command in commands:
        taking = sorted((slot for slot in command.slots if slot.values), key=_following)
        for following, slots in itertools.groupby(taking, key=_following):
            names = " | ".join(shlex.quote(f"{command.name} {name}") for slot in slots for name in slot.names)
            values.append(f"        {names}) {following} ;;")
        flags, given = [name for slot in command.slots for name in slot.names], command.arguments
        arguments.append(f"            {command.name})")
        arguments.append(f"                found={shlex.quote(' '.join(given.words))} files={int(given.files)}")
        arguments.append(f"                if [[ $current == -* ]]; then found={shlex.quote(' '.join(flags))}; fi ;;")
    names = shlex.quote(" ".join(command.name for command in commands))
    return _BODY % {"values": "\n".join(values), "commands": names, "arguments": "\n".join(arguments)}


def _following(slot: Slot) -> str:
    return f"reach={slot.values} found={shlex.quote(' '.join(slot.words))} files={int(slot.files)}"


def _fish(text: str) -> str:
    """Text in fish's quotes, its first clause."""
    short = text.partition("; ")[0].partition(" (")[0]
    return "'" + short.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish_words(words: Sequence[str]) -> str:
    return f" -a {_fish(' '.join(words))}" if words else ""
