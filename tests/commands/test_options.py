"""A dataclass of options becomes a command line, and is read back from it."""

import argparse
import dataclasses
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from localgcl.commands import command_parser, main
from localgcl.commands.options import add_columns, add_group, read_group
from localgcl.config import Checked, option
from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.graph.prepare import with_structural_features
from localgcl.methods import METHODS
from localgcl.methods.settings import choose_settings
from localgcl.recipes import length_for

COLOURS = ["red", "green"]
COMMANDS = [["train", "graph"], ["embed", "run", "-o", "parts"]]


@dataclasses.dataclass(frozen=True)
class Paint(Checked):
    colour: str = option("red", "which", choices=lambda: COLOURS)
    finish: Literal["matt", "gloss"] = option("matt", "how")
    coats: int = option(2, "how many", low=1)
    share: float = option(0.5, "100% is all", low=0, high=1)
    dry: bool = option(True, "wait")
    walls: tuple[int, ...] = option((1, 2), "which walls", low=0, metavar="W")
    out: Path | None = option(None, "where")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="paint", exit_on_error=False)
    add_group(made, "paint", Paint, {"coats": 3})
    return made


def read(*arguments: str) -> Paint:
    return read_group(parser().parse_args(arguments), Paint)


def test_options_that_are_not_given_keep_their_defaults() -> None:
    assert read() == Paint()
    assert vars(parser().parse_args([])) == {}


@pytest.mark.parametrize(
    ("arguments", "changes"),
    [
        (["--colour", "green"], {"colour": "green"}),
        (["--finish", "gloss"], {"finish": "gloss"}),
        (["--coats", "5"], {"coats": 5}),
        (["--share", "1"], {"share": 1.0}),
        (["--no-dry"], {"dry": False}),
        (["--walls", "4"], {"walls": (4,)}),
        (["--walls", "0", "3", "7"], {"walls": (0, 3, 7)}),
        (["--out", "a/b"], {"out": Path("a/b")}),
    ],
)
def test_each_kind_of_option(arguments: list[str], changes: dict[str, Any]) -> None:
    assert read(*arguments) == Paint(**changes)


def test_help_names_defaults_and_words() -> None:
    text = " ".join(parser().format_help().split())
    shown = ("--colour {red,green}", "(default: red)", "how many (default: 3)", "100% is all", "which walls (default: 1 2)")
    for part in shown:
        assert part in text
    assert "where (default" not in text


def test_words_come_from_the_registry_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="colour is 'blue'; choose one of red, green"):
        Paint(colour="blue")
    monkeypatch.setattr("tests.commands.test_options.COLOURS", ["red", "blue"])
    assert read("--colour", "blue").colour == "blue"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"coats": 0}, "coats is 0; it must be at least 1"),
        ({"walls": (1, -1)}, "walls is -1; it must be at least 0"),
        ({"walls": 1}, "walls is 1; give a tuple of values"),
        ({"walls": ("one",)}, "walls is 'one'; it must be of type int"),
        ({"out": 3}, "out is 3; it must be of type Path or NoneType"),
    ],
)
def test_values_are_checked_however_they_come(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Paint(**values)


def test_an_option_that_the_command_has_already_is_refused() -> None:
    @dataclasses.dataclass(frozen=True)
    class Aim(Checked):
        target: float = option(1.0, "where to")

    made = argparse.ArgumentParser()
    add_columns(made)
    with pytest.raises(ValueError, match="aim has an option 'target', and the command has another --target; call it otherwise"):
        add_group(made, "aim", Aim)


@pytest.mark.parametrize("command", COMMANDS, ids=["train", "embed"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "2"], "workers is 2, but there is no engine; add --engine ray"),
        (["--engine", "ray"], "engine is ray, but the number of workers is not given; add --workers K"),
    ],
)
def test_an_engine_and_its_workers_come_together(
    command: list[str], options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, *options]) == 1
    assert capsys.readouterr().err == f"localgcl: error: {message}\n"


@pytest.mark.parametrize("command", COMMANDS, ids=["train", "embed"])
def test_torchrun_and_an_engine_exclude_each_other(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    assert main([*command, "--engine", "ray", "--workers", "2"]) == 1
    assert "engine is ray, which starts the processes itself; leave torchrun out" in capsys.readouterr().err


def test_other_engines_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(["train", "graph", "--engine", "spark", "--workers", "2"])
    assert exit.value.code == 2
    assert "invalid choice: 'spark'" in capsys.readouterr().err


# What help says of settings that no recipe gives


def graphs() -> list[Graph]:
    """Graphs whose statistics lead to every choice that there is."""
    alike = sbm(200, classes=2, features=8, mean_degree=12, seed=0)
    sparse = sbm(200, classes=2, features=8, mean_degree=3, seed=0)
    noise = torch.randn(200, 8, generator=torch.Generator().manual_seed(0))
    return [alike, sparse, alike.with_features(noise), with_structural_features(sparse, 8)]


@pytest.mark.parametrize("method", METHODS)
def test_help_says_what_is_chosen_from_the_graph(method: str) -> None:
    chosen = {name for graph in graphs() for name in choose_settings(method, graph).values}
    fixed = length_for(method)
    parser, _ = command_parser("train", ["--method", method])
    text = {action.dest: action.help or "" for action in parser._actions}
    assert {name for name, told in text.items() if "(default: chosen from the graph)" in told} == chosen - set(fixed)
    for name, steps in fixed.items():
        assert f"(default: {steps})" in text[name]
