import ast
import importlib.metadata
import importlib.util
import inspect
import json
import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import localgcl

ROOT = Path(__file__).parent.parent


def run(code: str) -> str:
    """What a fresh interpreter prints: this one has long imported torch."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_package_does_not_import_torch() -> None:
    # torch takes seconds to import; `localgcl --help` should not wait for it.
    heavy = "torch", "numpy", "scipy", "sklearn", "torch_geometric", "pyarrow"
    assert run(f"import sys, localgcl; localgcl.__version__; print([m for m in {heavy} if m in sys.modules])") == "[]"


def test_a_name_is_imported_when_it_is_used() -> None:
    code = "import sys, localgcl; localgcl.Graph; print('torch' in sys.modules, 'localgcl.evaluation' in sys.modules)"
    assert run(code) == "True False"


def test_every_public_name_resolves_and_is_documented() -> None:
    code = """
import json
from localgcl import *
import localgcl
def tell(value):
    return [getattr(value, "__module__", ""), getattr(value, "__name__", ""), bool(value.__doc__)]
print(json.dumps({name: tell(globals()[name]) for name in localgcl.__all__}))
"""
    told = json.loads(run(code))
    assert list(told) == localgcl.__all__
    told.pop("__version__")
    for name, (module, own_name, documented) in told.items():
        assert documented, name
        if module:
            assert own_name == name
            assert module.startswith("localgcl.")
        else:  # a module
            assert own_name.startswith("localgcl.")
            assert own_name.endswith(f".{name}")


def test_dir_lists_the_public_names() -> None:
    assert dir(localgcl) == sorted(localgcl.__all__)
    assert len(set(localgcl.__all__)) == len(localgcl.__all__)


def test_type_checkers_see_the_same_names() -> None:
    # Names resolve at run time by a table; type checkers read the imports beside it.
    source = Path(inspect.getfile(localgcl)).read_text()
    assert set(re.findall(r"^ +from [\w.]+ import (\w+) as \1$", source, re.MULTILINE)) == set(localgcl.__all__) - {
        "__version__"
    }


def test_unknown_names_raise_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'localgcl' has no attribute 'nothing'"):
        localgcl.nothing  # noqa: B018
    assert not hasattr(localgcl, "nothing")


def test_the_package_does_not_need_the_paper() -> None:
    """The folder `paper` is beside the package and not installed with it."""
    wrong = []
    for path in (ROOT / "src" / "localgcl").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            wrong += [f"{path}: {name}" for name in names if name.split(".")[0] in ("paper", "benchmarks", "tests")]
    assert wrong == []


def test_types_are_shipped() -> None:
    assert files("localgcl").joinpath("py.typed").is_file()
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "py.typed" in settings["tool"]["setuptools"]["package-data"]["localgcl"]


def test_version() -> None:
    assert localgcl.__version__ == importlib.metadata.version("localgcl")
    assert re.fullmatch(r"\d+\.\d+\.\d+([.-]?\w+)?", localgcl.__version__)


@pytest.mark.skipif(importlib.util.find_spec("localgcl.commands") is None, reason="the command line is not part of this build")
def test_the_command_line_does_not_import_torch_to_start() -> None:
    code = "import sys, localgcl.commands; print('torch' in sys.modules, callable(localgcl.commands.main))"
    assert run(code) == "False True"


def test_vector_functions_are_set_up_before_threads_use_them() -> None:
    # The race that `vectormath` avoids shows in a few per cent of processes, too rarely for a test; that it is there, always.
    modules = ["losses", "evaluation", "nn.encoders", "datasets.built_in"]
    code = f"""
import importlib, sys
for module in {modules}:
    for known in [name for name in sys.modules if name.startswith("localgcl")]:
        del sys.modules[known]
    importlib.import_module("localgcl." + module)
    if "localgcl.system.vectormath" in sys.modules:
        print(module)
"""
    assert run(code).split() == modules
