"""A graph folder opened for some of its rows."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from localgcl.datasets import sbm
from localgcl.graph.csr import features_to_scipy
from localgcl.graph.folder_rows import FolderRows
from localgcl.graph.stored import FolderError, Header, read_header, write_header
from tests.references.folders import stored

GRAPH = sbm(60, features=5, mean_degree=4.0, seed=0)
NODES = np.array([0, 7, 59])


def test_rows_are_those_of_the_graph(tmp_path: Path) -> None:
    stored(GRAPH, tmp_path)
    rows = FolderRows.open(tmp_path)
    assert torch.equal(rows.features(NODES), GRAPH.x[NODES])
    assert rows.features(NODES[:0]).shape == (0, 5)
    entries = rows.edges.take(NODES)
    assert entries.values is None
    for place, node in enumerate(NODES):
        assert entries.columns[entries.rows == place].tolist() == GRAPH.indices[GRAPH.rows == int(node)].tolist()


def test_sparse_features(tmp_path: Path) -> None:
    stored(GRAPH, tmp_path)
    (tmp_path / "x.npy").unlink()
    x = sp.random_array((60, 9), density=0.2, rng=np.random.default_rng(0), dtype=np.float32).tocsr()
    for name, array in (("indptr", x.indptr.astype(np.int64)), ("indices", x.indices.astype(np.int32)), ("values", x.data)):
        np.save(tmp_path / f"x-{name}.npy", array)
    write_header(tmp_path, Header("sparse", 60, GRAPH.num_edges, 9))
    taken = FolderRows.open(tmp_path).features(NODES)
    assert taken.layout == torch.sparse_csr
    np.testing.assert_array_equal(features_to_scipy(taken).toarray(), x[NODES].toarray())
    assert FolderRows.open(tmp_path).features(NODES[:0]).shape == (0, 9)


@pytest.mark.parametrize(("name", "array"), [("x.npy", np.zeros((60, 4))), ("indptr.npy", np.zeros(60)), ("indices.npy", [0])])
def test_arrays_that_do_not_fit_are_refused(name: str, array: object, tmp_path: Path) -> None:
    stored(GRAPH, tmp_path)
    header = read_header(tmp_path)
    np.save(tmp_path / name, np.asarray(array))
    with pytest.raises(FolderError, match=name):
        FolderRows.open(tmp_path)
    write_header(tmp_path, header)  # forged
    with pytest.raises(FolderError, match="run localgcl convert again"):
        FolderRows.open(tmp_path)
