"""A source is a data set, files, or a graph folder."""

from pathlib import Path

import pytest

from localgcl.datasets import sbm
from localgcl.datasets.source import Source
from localgcl.graph.stored import FolderError
from tests.references.folders import stored


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Graph folders in the working directory, one called as a data set is."""
    monkeypatch.chdir(tmp_path)
    for name in ("people", "digits", "graph.v2"):
        stored(sbm(30, mean_degree=3, features=2, seed=0), tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("given", ["people", "people/", "./people", "./digits", "graph.v2", "people/../digits"])
def test_a_graph_folder_where_a_data_set_is_asked_for(given: str, here: Path) -> None:
    source = Source(given)
    assert source.dataset is None
    graph = source.read()
    assert graph.num_nodes == 30
    assert graph.folder == Path(given)
    assert source.name == "stored"
    known = source.to_dict()
    assert known == {"folder": str((here / given).resolve())}
    assert Source(**known).read().num_nodes == 30


def test_a_graph_folder_where_edges_are_asked_for() -> None:
    assert Source(edges="graph.v2").read().num_nodes == 30


def test_a_name_of_both_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'digits' is a data set and a graph folder here; write ./digits for the folder"):
        Source("digits")
    assert Source("cora").dataset == "cora"


def test_a_path_that_is_no_graph_folder(here: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"./none does not exist; give a graph folder, or a name from"):
        Source("./none")
    (here / "empty").mkdir()
    with pytest.raises(FolderError, match=r"empty has no header.json: it is no graph folder"):
        Source("./empty").read()
    with pytest.raises(ValueError, match=r"unknown dataset 'empty'"):
        Source("empty").read()
    (here / "people" / "header.json").unlink()
    with pytest.raises(FolderError, match=r"localgcl convert was stopped; run it again"):
        Source("people").read()


def test_a_graph_folder_brings_its_own_files() -> None:
    with pytest.raises(ValueError, match=r"graph folder 'people' has its own edges, features and labels"):
        Source("people", features="x.csv")
    with pytest.raises(ValueError, match=r"name a data set or give an edge file, not both"):
        Source("people", edges="e.csv")
