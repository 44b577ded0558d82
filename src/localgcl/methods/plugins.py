"""Methods from elsewhere: of installed packages that name an entry point, and of Python files that the user names.

A package declares a method by an entry point of the group `localgcl.methods`, whose name is the method's and whose value is its
class. A file registers its methods itself, by `METHODS["name"] = Class`. A plug-in is code and runs with the user's rights, so
only what is installed or named is loaded: a run folder tells which plug-in it needs, but never loads it.
"""

import dataclasses
import importlib.util
import inspect
import os
import sys
import warnings
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from localgcl.config import LocalGCLWarning
from localgcl.methods.base import Method

GROUP = "localgcl.methods"
"""The group of entry points."""
FILES = "LOCALGCL_PLUGINS"
"""The environment variable that lists files to load, separated as in PATH. Worker processes read it, too."""

Registry = dict[str, type[Method]]


ORIGINS: dict[str, str] = {}
"""Where each plug-in's method comes from: the file, or the package and its version."""
BROKEN: dict[str, str] = {}
"""Why a package's method could not be loaded, by its name."""


def load_installed(registry: Registry) -> None:
    """Registers the methods of installed packages and of the files that the environment names.

    A package that fails is left out with a warning, since others are not at fault; asking for its method says why.
    """
    for point in metadata.entry_points(group=GROUP):
        origin = f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value
        try:
            if point.name in registry:
                raise ValueError(f"there is a method {point.name!r} already; the entry point needs another name")
            kind = point.load()
            check_method(point.name, kind)
        except Exception as error:
            BROKEN[point.name] = f"method {point.name!r} of {origin} did not load: {_in_a_line(error)}"
            warnings.warn(BROKEN[point.name], LocalGCLWarning, stacklevel=2)
            continue
        registry[point.name] = kind
        ORIGINS[point.name] = origin
    for path in filter(None, os.environ.get(FILES, "").split(os.pathsep)):
        load_file(path, registry)


def load_file(path: str | os.PathLike[str], registry: Registry) -> None:
    """Runs a Python file that registers methods, and names it in the environment, for worker processes. Once a file.

    Raises:
        FileNotFoundError: There is none.
        ValueError: It fails, registers nothing, or replaces a method.
    """
    file = Path(path).resolve()
    if str(file) in ORIGINS.values():
        return
    if not file.is_file():
        raise FileNotFoundError(f"there is no plug-in {path}; name a Python file that registers a method")
    before = dict(registry)
    try:
        _run(file)
        new = {name: kind for name, kind in registry.items() if before.get(name) is not kind}
        if not new:
            raise ValueError("it registers no method; add METHODS['name'] = Class, with METHODS of localgcl.methods")
        for name, kind in new.items():
            if name in before:
                raise ValueError(f"it replaces the method {name!r}; choose another name")
            check_method(name, kind)
    except Exception as error:
        registry.clear()
        registry.update(before)
        raise ValueError(f"plug-in {path} did not load: {_in_a_line(error)}") from error
    ORIGINS.update(dict.fromkeys(new, str(file)))
    known = [given for given in os.environ.get(FILES, "").split(os.pathsep) if given]
    if str(file) not in known:
        os.environ[FILES] = os.pathsep.join([*known, str(file)])


def origin_of(method: str) -> dict[str, str]:
    """Where a plug-in's method comes from, as a run folder stores it; empty for other methods."""
    return {"plugin": ORIGINS[method]} if method in ORIGINS else {}


def missing_plugin(tables: Mapping[str, Any], registry: Registry) -> str:
    """How to load the plug-in that a run's method needs; empty if it needs none. `tables` are those of its config.toml."""
    method, made = tables.get("method"), tables.get("made")
    origin = made.get("plugin") if isinstance(made, dict) else None
    if not (isinstance(method, str) and isinstance(origin, str)) or method in registry:
        return ""
    return f"it is of a plug-in: {f'give --plugin {origin}' if origin.endswith('.py') else f'install {origin}'}"


def check_method(name: Any, kind: Any) -> None:
    """Raises ValueError unless `kind` is a complete method."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"a method is called {name!r:.80}; its name must be text")
    if not (isinstance(kind, type) and issubclass(kind, Method)):
        raise ValueError(f"{name} is {kind!r:.80}; it must be a subclass of localgcl.methods.Method")
    if inspect.isabstract(kind):
        raise ValueError(f"{name} lacks {', '.join(sorted(kind.__abstractmethods__))}; a method defines its loss")
    if lacking := [part for part in ("Options", "idea", "cost") if not hasattr(kind, part)]:
        raise ValueError(f"{name} lacks {', '.join(lacking)}; see localgcl.methods.Method")
    if not dataclasses.is_dataclass(kind.Options):
        raise ValueError(f"Options of {name} is {kind.Options!r:.80}; it must be a frozen dataclass of options")


def _run(file: Path) -> None:
    """Imports a file as a module, under a name by which worker processes find its classes, too."""
    name = f"localgcl_plugin_{file.stem}"
    if name in sys.modules:
        raise ValueError(f"there is a plug-in called {file.stem} already; rename the file")
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ValueError("it is no Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def _in_a_line(error: Exception) -> str:
    """What went wrong; for errors other than our own, also their kind."""
    text = " ".join(str(error).split())
    return text if type(error) is ValueError else f"{type(error).__name__}: {text}"
