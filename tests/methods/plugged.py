"""Plug-ins for tests: gone when a test is over."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from localgcl.methods import METHODS
from localgcl.methods.plugins import FILES, LOADED

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "new_method.py"
"""A plug-in: it registers the method triplet."""


@contextlib.contextmanager
def unplugged() -> Iterator[None]:
    """Starts without plug-ins, and forgets those that were loaded."""
    before = os.environ.pop(FILES, None)
    methods, origins, modules = dict(METHODS), dict(LOADED.origins), set(sys.modules)
    try:
        yield
    finally:
        os.environ.pop(FILES, None)
        if before is not None:
            os.environ[FILES] = before
        for name in set(METHODS) - set(methods):
            del METHODS[name]
        LOADED.origins.clear()
        LOADED.origins.update(origins)
        for name in set(sys.modules) - modules:
            if name.startswith("localgcl_plugin_"):
                del sys.modules[name]
