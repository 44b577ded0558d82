"""Every example in a docstring does what it says."""

import doctest
import importlib
import pkgutil

import pytest

import localgcl
import paper

MODULES = [
    info.name
    for package in (localgcl, paper)
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not info.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [example for name in MODULES for test in finder.find(importlib.import_module(name)) for example in test.examples]
    assert len(examples) > 20
