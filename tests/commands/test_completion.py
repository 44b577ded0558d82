"""Completion scripts, run by the shells they are for."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from localgcl.commands import COMMANDS, main
from localgcl.commands.completion import SHELLS, commands
from localgcl.datasets.catalogue import CATALOGUE
from localgcl.methods import METHODS


@pytest.fixture(scope="module")
def scripts() -> dict[str, str]:
    found = commands()
    return {shell: write(found) for shell, write in SHELLS.items()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "edges of mine.csv").write_text("")
    (tmp_path / "runs").mkdir()
    return tmp_path


def completed(shell: str, script: str, folder: Path, *line: str) -> set[str]:
    """What the shell offers for the last word of the command line."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (folder / ".script").write_text(script)
    quoted = " ".join(f"'{word}'" for word in line)
    typed = " ".join(line)
    ask = {
        "bash": f"source .script; COMP_WORDS=({quoted}); COMP_CWORD={len(line) - 1}; _localgcl; "
        "printf '%s\\n' \"${COMPREPLY[@]}\"",
        # Outside of the editor there is no completion: what the function offers is printed instead.
        "zsh": f"compdef() {{ : }}; source .script; compadd() {{ shift; print -l -- ${{(M)@:#${{current}}*}} }}; "
        f"_files() {{ print -l -- ${{current}}*(N) }}; words=({quoted}); CURRENT={len(line)}; _localgcl",
        "fish": f"source .script; complete -C '{typed}' | string replace -r '\\t.*' ''; true",
    }[shell]
    done = subprocess.run([shell, "-c", ask], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return set(filter(None, done.stdout.splitlines()))


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_options_names_and_files(shell: str, scripts: dict[str, str], folder: Path) -> None:
    def offered(*line: str) -> set[str]:
        return completed(shell, scripts[shell], folder, "localgcl", *line)

    assert offered("") == set(COMMANDS)
    assert offered("tr") == {"train"}
    assert offered("train", "--temp") == {"--temperature"}
    assert {"--edge-weight", "--edges"} == offered("train", "--edge")  # of another method than the default
    assert offered("train", "--method", "") == set(METHODS)
    assert offered("train", "--method", "gr") == {"grace"}
    assert offered("train", "--encoder", "h") == {"hops"}
    assert offered("train", "--dim", "") == set()
    assert {name for name in CATALOGUE if name.startswith("c")} == offered("train", "--dim", "8", "c")
    assert {"edges of mine.csv"} == {word.replace("\\", "") for word in offered("train", "--edges", "edg")}
    assert {word.rstrip("/") for word in offered("embed", "ru")} == {"runs"}
    assert {"--output"} == offered("embed", "runs", "--out")
    assert {"bash"} == offered("completion", "b")


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_an_option_with_several_values_goes_on_until_the_next(shell: str, scripts: dict[str, str], folder: Path) -> None:
    def offered(*line: str) -> set[str]:
        return completed(shell, scripts[shell], folder, "localgcl", *line)

    assert offered("compare", "digits", "--methods", "grace", "dg") == {"dgi"}
    assert offered("compare", "digits", "--methods", "grace", "--seed") == {"--seeds"}


def test_the_command_prints_the_script(scripts: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish"]) == 0
    assert capsys.readouterr().out == scripts["fish"] + "\n"
    assert main(["completion", "zsh", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["script"] == scripts["zsh"]
