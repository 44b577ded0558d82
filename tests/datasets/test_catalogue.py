import subprocess
import sys

import pytest

from localgcl import datasets
from localgcl.datasets.catalogue import ALIASES, CATALOGUE, names, resolve


def test_listing_the_datasets_does_not_import_torch() -> None:
    code = "import sys, localgcl.datasets.catalogue as c; c.names(); print('torch' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_every_exported_name_resolves() -> None:
    for name in datasets.__all__:
        assert getattr(datasets, name) is not None
    assert dir(datasets) == sorted(datasets.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = datasets.no_such_name


def test_names_are_the_keys_of_the_catalogue() -> None:
    assert names() == tuple(CATALOGUE)
    assert all(name == entry.name for name, entry in CATALOGUE.items())
    assert set(ALIASES.values()) <= set(CATALOGUE)
    assert not set(ALIASES) & set(CATALOGUE)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("Cora", "cora"), ("CiteSeer", "citeseer"), ("amazon-photo", "photo"), ("Coauthor_CS", "cs"), ("ogbn-arxiv", "arxiv")],
)
def test_spellings(spelling: str, name: str) -> None:
    assert resolve(spelling, names()) == name


def test_a_name_that_is_known_as_it_stands_is_taken_as_it_stands() -> None:
    assert resolve("My_Graph", {"My_Graph", "my-graph"}) == "My_Graph"
    assert resolve("film", {"film", "actor"}) == "film"  # not the alias of actor
    assert resolve("My_Graph", {"my-graph"}) == "my-graph"
    with pytest.raises(ValueError, match="unknown dataset 'film'"):
        resolve("film", {"my-graph"})  # an alias of what is not known


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"unknown dataset 'coar'; did you mean 'cora'\?"):
        resolve("coar", names())
    with pytest.raises(ValueError, match=r"did you mean 'amazon-computers'\?"):
        resolve("amazon-computer", names())


def test_a_name_like_no_other_is_answered_with_all() -> None:
    with pytest.raises(ValueError, match=r"unknown dataset 'zzz'; known are actor, arxiv, arxiv-structure") as caught:
        datasets.load("zzz")
    assert "ogbn" not in str(caught.value)
