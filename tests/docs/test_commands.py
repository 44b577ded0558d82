"""Every command that the documentation shows is one that the command line reads."""

import re
from pathlib import Path

import pytest

from localgcl.commands import COMMANDS, command_parser, module_parser
from paper.__main__ import chosen
from paper.bench.setups import BENCHMARKS
from paper.experiments import EXPERIMENTS, GROUPS
from paper.studies import STUDIES
from tests.docs.shown import PAGES, ROOT, Shown, in_docstrings, in_text
from tests.methods.plugged import EXAMPLE, unplugged

MODULES = sorted(path for folder in ("src/localgcl", "paper") for path in (ROOT / folder).rglob("*.py"))
NAMES = {"python -m paper bench": (*BENCHMARKS, "all"), "python -m paper": (*EXPERIMENTS, *GROUPS, *STUDIES)}
"""What may stand after a command, and the word NAME stands for there; after an option it stands for a method."""

pytestmark = pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the documentation is not part of this build")


def found(place: Path) -> list[Shown]:
    if place.suffix == ".py":
        return list(in_docstrings(place))
    return list(in_text(place.read_text(encoding="utf-8"), str(place.relative_to(ROOT))))


def read(shown: Shown) -> str | None:
    """What is wrong with a command, or None."""
    if shown.program == "localgcl":
        command, *places = shown.arguments
        if command not in COMMANDS:
            return f"there is no command {command!r}"
    else:
        command, module, places = chosen(shown.arguments)
    for index, argument in enumerate(places):
        if argument in ("NAME", "METHOD"):
            places[index] = NAMES.get(command, ("local-gcl",))[0]
        if index and places[index - 1] == "--plugin":
            places[index] = str(EXAMPLE)
    with unplugged():
        parser, _ = command_parser(command, places) if command in COMMANDS else module_parser(command, module, places)
    said: list[str] = []

    def error(message: str) -> None:
        said.append(message)
        raise SystemExit(2)

    parser.error = error  # type: ignore[method-assign,assignment]
    try:
        parser.parse_args(places)
    except SystemExit:
        if said and not (shown.mention and ("required" in said[0] or "expected one argument" in said[0])):
            return said[0]
    if command in NAMES and places and places[0] not in NAMES[command] and not places[0].startswith("-"):
        return f"there is no experiment {places[0]!r}"
    return None


@pytest.mark.parametrize("place", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_of_a_page_is_read(place: Path) -> None:
    wrong = {str(shown): problem for shown in found(place) if (problem := read(shown))}
    assert not wrong


def test_every_command_of_a_docstring_is_read() -> None:
    wrong = {str(shown): problem for place in MODULES for shown in found(place) if (problem := read(shown))}
    assert not wrong


def test_every_command_is_shown_somewhere() -> None:
    shown = {each.arguments[0] for place in PAGES for each in found(place) if each.program == "localgcl"}
    assert set(COMMANDS) <= shown


def test_commands_are_found_in_every_form() -> None:
    text = """Say `localgcl train --method NAME --help` or `localgcl evaluate RUN RUN...`; not localgcl itself.
Or `python -m paper table-main --show`, and not python -m paper.lines.

```text
$ localgcl embed run -o z.parquet
torchrun --nnodes 2 \\
    -m localgcl train graph/ --out runs/mine
timeout 5 localgcl train digits || true   # stops
python -m paper                           lists them
.venv/bin/python -m paper bench all
pip install 'localgcl[big]'
localgcl: error: none of these
```
"""
    assert [(each.arguments, each.mention) for each in in_text(text, "here") if each.program == "localgcl"] == [
        (("embed", "run", "-o", "z.parquet"), False),
        (("train", "graph/", "--out", "runs/mine"), False),
        (("train", "digits"), False),
        (("train", "--method", "NAME", "--help"), True),
        (("evaluate", "RUN", "RUN"), True),
    ]
    assert [(each.arguments, each.mention) for each in in_text(text, "here") if each.program == "python -m paper"] == [
        ((), False),
        (("bench", "all"), False),
        (("table-main", "--show"), True),
    ]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (("paint", "digits"), "no command"),
        (("train", "digits", "--no-such-option"), "--no-such-option"),
        (("train", "digits", "--encoder", "wurst"), "wurst"),
        (("embed", "run"), "required"),
    ],
)
def test_a_wrong_command_is_noticed(call: tuple[str, ...], problem: str) -> None:
    assert problem in (read(Shown("here", call, mention=False)) or "nothing")


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (("table-mian",), "no experiment 'table-mian'"),
        (("table-main", "--nodes", "10"), "--nodes"),
        (("bench", "all", "--graphs", "cora"), "--graphs"),
        (("bench", "al"), "no experiment 'al'"),
    ],
)
def test_a_wrong_command_of_the_paper_is_noticed(call: tuple[str, ...], problem: str) -> None:
    assert problem in (read(Shown("here", call, mention=False, program="python -m paper")) or "nothing")


@pytest.mark.parametrize("place", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_scripts_and_targets_exist(place: Path) -> None:
    """`python -m benchmarks.NAME`, `python benchmarks/NAME.py` and `make NAME`."""
    text = place.read_text(encoding="utf-8")
    for module in re.findall(r"python -m ((?:benchmarks|paper|tests)[\w.]*\w)", text):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module
    for script in re.findall(r"python ((?:benchmarks|docs|examples)/[\w/]+\.py)", text):
        assert (ROOT / script).is_file(), script
    targets = re.findall(r"^([a-z-]+(?: [a-z-]+)*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    known = {name for line in targets for name in line.split()}
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE)) <= known
