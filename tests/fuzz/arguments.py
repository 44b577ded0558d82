"""Command lines with other arguments: options and values that the command has, mostly, and what no command has."""

import argparse
import functools
import importlib
import itertools
from random import Random
from typing import Any

from localgcl.commands import COMMANDS
from localgcl.methods import METHODS


def _words(text: str) -> list[str]:
    return text.split("|")


NUMBERS = _words("0|1|-1|2|3|7|0.5|1.5|-0.0|1e-30|1e25|1e400|nan|inf|-inf|99999999999|0x10|1_000|٣|1e3|+1| 1|1,5|")
NUMBERS += ["9" * 30, "9" * 4000, "9" * 5000]
FILES = _words(
    "edges.csv|x.csv|y.csv|z.npy|recipe.toml|space.toml|notes.txt|run|partial|failed|empty|new|nowhere|nowhere/new.csv"
)
FILES += _words(
    "edges.csv/x|.|..|/|~|-|--|run/|run/config.toml|run/weights.safetensors|new.npy|new.npz|new.xyz|new.csv.gz|é.csv|"
)
FILES += _words("a b.csv|$HOME|*|/dev/null|/proc/self/mem|..csv|new\udcff.csv|\x1b[31m.csv|" + "a" * 300)
WORDS = _words("auto|cpu|cuda|cuda:99|meta|digits|Digits|kora|none|all|linear|knn|kmeans|sklearn|random|tpe|small|wide|recipe")
WORDS += _words("defaults|true|X|SX|table-main|HEAD|é|\udcff|%s")


@functools.cache
def _options(command: str, method: str) -> tuple[argparse.Action, ...]:
    module, parser = importlib.import_module(f"localgcl.commands.{command}"), argparse.ArgumentParser()
    module.add_options(parser, ["--method", method])
    return tuple(parser._actions)


def inside_argv(rng: Random, content: bytes) -> bytes:
    """Options and values that the command has, mostly; and what no command has."""
    arguments = content.decode("utf-8", "surrogateescape").split("\n")
    for _ in range(rng.choice((1, 1, 1, 2))):
        choice, at = rng.randrange(11), rng.randrange(len(arguments))
        if choice < 6:
            arguments += _drawn(rng, arguments)
        elif choice < 8:
            arguments[at] = _value(rng)
        elif choice == 8:
            del arguments[at]
        elif choice == 9:
            arguments.insert(rng.randrange(len(arguments) + 1), arguments[at])
        else:
            arguments[0] = rng.choice((*COMMANDS, "fly", "", "-h"))
        arguments = arguments or [""]
    return "\n".join(arguments).encode("utf-8", "surrogateescape")


def _drawn(rng: Random, arguments: list[str]) -> list[str]:
    """An option of the command with a value, which may be wrong."""
    if arguments[0] not in COMMANDS:
        return [_value(rng)]
    methods = [value for name, value in itertools.pairwise(arguments) if name == "--method" and value in METHODS]
    action = rng.choice(_options(arguments[0], methods[-1] if methods else "local-gcl"))
    name = rng.choice(action.option_strings) if action.option_strings else ""
    if name in ("--jobs", "--threads"):  # processes and threads beyond the limits of a fuzzing process
        return [name, rng.choice(("0", "-1", "1", "99999999999", "x"))]
    if action.nargs == 0:
        return [name] if rng.random() < 0.9 else [f"{name}={_value(rng)}"]
    value = str(rng.choice(list(action.choices))) if action.choices and rng.random() < 0.7 else _value(rng, action.type)
    return [f"{name}={value}"] if name and rng.random() < 0.2 else [name, value] if name else [value]


def _value(rng: Random, kind: Any = None) -> str:
    if kind in (int, float) and rng.random() < 0.5:
        return rng.choice(("1", "2", "3", "5") if kind is int else ("0.1", "0.5", "1", "3.0"))
    usual = NUMBERS if kind in (int, float) else (*FILES, *WORDS)
    return rng.choice(usual if rng.random() < 0.8 else (*NUMBERS, *FILES, *WORDS))
