"""The fuzzer of command lines notices what it is for: tracebacks, files that are lost, and files that are left behind."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz import arguments, commands
from tests.fuzz.inputs import Finding, attempt, made

# Of even length: the fuzzer has errors raised, where those of odd length are printed.
EVALUATE = commands.content("evaluate run --protocol knn --splits 12")
EMBED = commands.content("embed run -o news.csv")


def outcome(files: commands.Files, folder: Path) -> str:
    found = attempt("command-line", files, folder)
    return f"{found.kind}: {found.detail}" if isinstance(found, Finding) else str(found)


def raises(error: Exception) -> Callable[..., Any]:
    def stand_in(*_: Any, **__: Any) -> None:
        raise error

    return stand_in


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (ValueError("z.npy is no table"), "False"),
        (PermissionError(13, "Permission denied", "z.npy"), "False"),
        (KeyError("weights"), "KeyError in"),
        (TypeError("unsupported operand"), "TypeError in"),
        (UnicodeDecodeError("utf-8", b"", 0, 1, "no text"), "UnicodeDecodeError in"),
    ],
)
def test_errors_of_insides_are_found(error: Exception, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcome(EVALUATE, tmp_path) == "True"
    monkeypatch.setattr("localgcl.commands.evaluate.compare_runs", raises(error))
    assert outcome(EVALUATE, tmp_path).startswith(found)


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (lambda: Path("edges.csv").write_text("gone"), "changed or removed: ['edges.csv']"),
        (lambda: os.unlink("run/weights.safetensors"), "changed or removed: ['weights.safetensors']"),
        (lambda: Path(".new.csv.localgcl-0123abcd.csv").touch(), "a temporary file is left"),
        (lambda: print("\udcff"), "UnicodeEncodeError"),  # noqa: T201
    ],
)
def test_damage_is_found(damage: Callable[[], object], found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcome(EMBED, tmp_path) == "True"
    monkeypatch.setattr("localgcl.commands.embed.write_blocks", lambda *_, **__: damage())
    assert found in outcome(EMBED, tmp_path)


def test_options_are_those_of_the_command() -> None:
    """A few hundred inputs use most of the options that there are."""
    used = {
        argument.partition("=")[0]
        for number in range(600)
        for argument in made("command-line", number)[commands.NAME].decode(errors="replace").split("\n")
    }
    known = {name for action in arguments._options("train", "local-gcl") for name in action.option_strings}
    assert len(known & used) > 0.8 * len(known)
