"""Methods from outside: a file by --plugin, a package by its entry point. What is broken is said in one line."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from localgcl.commands import main
from localgcl.methods import METHODS
from localgcl.methods.plugins import FILES, ORIGINS, check_method
from localgcl.training import RunFolder
from tests.methods.plugged import EXAMPLE, unplugged

TINY = ["--dim", "4", "--steps", "2", "--device", "cpu", "--quiet"]
HEAD = "from localgcl.methods import METHODS\nfrom localgcl.methods.baselines import RandomInit\n"


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    with unplugged():
        yield


def run(*arguments: str | Path) -> int:
    return main([str(argument) for argument in arguments])


def forget() -> None:
    """A new process knows no plug-in."""
    METHODS.pop("triplet")
    ORIGINS.pop("triplet")
    del sys.modules["localgcl_plugin_new_method"]


def test_a_file_is_known_to_every_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[str | Path] = ["train", "digits", "--method", "triplet", "--margin", "2", *TINY, "--out", tmp_path / "run"]
    assert run(*asked) == 1
    assert "there is no method 'triplet'" in capsys.readouterr().err
    assert run(*asked, "--plugin", EXAMPLE) == 0
    assert RunFolder.open(tmp_path / "run").config.options.margin == 2.0
    assert os.environ[FILES] == str(EXAMPLE)  # for worker processes
    assert run("methods", "--plugin", EXAMPLE) == 0  # a second time it is not run again
    assert "neighbours nearer than random nodes" in capsys.readouterr().out

    forget()
    assert run("embed", tmp_path / "run", "-o", tmp_path / "z.npy") == 1
    assert f"it is of a plug-in: give --plugin {EXAMPLE}\n" in capsys.readouterr().err
    assert run("embed", tmp_path / "run", "-o", tmp_path / "z.npy", "--plugin", EXAMPLE) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), np.load(tmp_path / "run" / "embeddings.npy"))


def test_a_run_folder_never_loads_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", "digits", "--plugin", EXAMPLE, "--method", "triplet", *TINY, "--out", tmp_path / "run") == 0
    forget()
    mark = tmp_path / "mark"
    (tmp_path / "evil.py").write_text(f"open({str(mark)!r}, 'w')")
    config = tmp_path / "run" / "config.toml"
    config.write_text(config.read_text().replace(str(EXAMPLE), str(tmp_path / "evil.py")))
    assert run("embed", tmp_path / "run", "-o", tmp_path / "z.npy") == 1
    assert not mark.exists()
    assert f"give --plugin {tmp_path / 'evil.py'}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1", "it registers no method; add METHODS['name'] = Class"),
        ("x = ", "SyntaxError: invalid syntax"),
        ("import nowhere", "ModuleNotFoundError: No module named 'nowhere'"),
        ("raise RuntimeError('one\\ntwo')", "RuntimeError: one two"),
        (f"{HEAD}METHODS['dgi'] = RandomInit", "it replaces the method 'dgi'; choose another name"),
        (f"{HEAD}METHODS['mine'] = RandomInit()", "TypeError: "),
        (f"{HEAD}METHODS['mine'] = 3", "mine is 3; it must be a subclass of localgcl.methods.Method"),
        (f"{HEAD}METHODS[7] = RandomInit", "a method is called 7; its name must be text"),
        (f"{HEAD}from localgcl.methods import Method\nMETHODS['mine'] = Method", "mine lacks loss; a method defines its loss"),
    ],
)
def test_a_broken_file_is_one_line(code: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = dict(METHODS)
    (tmp_path / "mine.py").write_text(code)
    assert run("methods", "--plugin", tmp_path / "mine.py") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"localgcl: error: plug-in {tmp_path / 'mine.py'} did not load: ")
    assert message in line
    assert before == METHODS
    assert FILES not in os.environ


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("methods", "--plugin", tmp_path / "nothing.py") == 1
    assert capsys.readouterr().err.endswith("nothing.py; name a Python file that registers a method\n")
    (tmp_path / "mine.txt").write_text(f"{HEAD}METHODS['mine'] = RandomInit")
    assert run("methods", "--plugin", tmp_path / "mine.txt") == 1
    assert "it is no Python file; its name must end in .py" in capsys.readouterr().err


def test_what_a_method_lacks_is_named() -> None:
    whole = METHODS["dgi"]
    check_method("mine", whole)
    with pytest.raises(ValueError, match="Options of mine is <class 'int'>; it must be a frozen dataclass of options"):
        check_method("mine", type("Mine", (whole,), {"Options": int}))


# Packages: in fresh processes, since entry points are read when the package is imported.


def package(folder: Path, name: str, point: str, code: str) -> None:
    """An installed package with one entry point."""
    (folder / f"{name}.py").write_text(code)
    info = folder / f"{name}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[localgcl.methods]\n{point}\n")


def in_a_new_process(folder: Path, code: str) -> str:
    given = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True).stdout


def test_packages_and_workers(tmp_path: Path) -> None:
    """A package's method is there. One that is broken is a warning, and an error if it is asked for. Files are read, too."""
    package(tmp_path, "good", "mine = good:Mine", "from localgcl.methods.baselines import RandomInit as Mine")
    package(tmp_path, "bad", "theirs = bad:Theirs", "import nowhere")
    package(tmp_path, "rude", "dgi = rude:Theirs", "from localgcl.methods.baselines import RandomInit as Theirs")
    code = f"""
import os, warnings
os.environ[{FILES!r}] = {str(EXAMPLE)!r}
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    from localgcl.methods import METHODS, find_method
for warning in told:
    if warning.category.__name__ == "LocalGCLWarning":
        print(warning.message)
from localgcl.methods.plugins import origin_of
print(METHODS["mine"].__name__, METHODS["dgi"].__name__, METHODS["triplet"].__name__, find_method("dgi").__name__)
print(origin_of("mine"), origin_of("triplet"), origin_of("dgi"))
try:
    find_method("theirs")
except ValueError as error:
    print(error)
"""
    bad = "method 'theirs' of bad 1.2 did not load: ModuleNotFoundError: No module named 'nowhere'"
    rude = "method 'dgi' of rude 1.2 did not load: there is a method 'dgi' already; the entry point needs another name"
    *warned, names, origins, asked = in_a_new_process(tmp_path, code).splitlines()
    assert sorted(warned) == [rude, bad]
    assert names == "RandomInit DGI Triplet DGI"
    assert origins == f"{{'plugin': 'good 1.2'}} {{'plugin': '{EXAMPLE}'}} {{}}"
    assert asked == bad
