"""Plug-ins for tests: gone when a test is over."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from localgcl.methods import METHODS
from localgcl.methods.plugins import FILES, ORIGINS

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "new_method.py"
"""A plug-in: it registers the method triplet."""


@contextlib.contextmanager
def unplugged() -> Iterator[None]:
    """Starts without plug-ins, and forgets those that were loaded."""
    before = os.environ.pop(FILES, None)
    methods, origins, modules = dict(METHODS), dict(ORIGINS), set(sys.modules)
    try:
        yield
    finally:
        os.environ.pop(FILES, None)
        if before is not None:
            os.environ[FILES] = before
        for name in set(METHODS) - set(methods):
            del METHODS[name]
        ORIGINS.clear()
        ORIGINS.update(origins)
        for name in set(sys.modules) - modules:
            if name.startswith("localgcl_plugin_"):
                del sys.modules[name]
