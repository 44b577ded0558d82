"""A graph folder opened for some of its rows."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from localgcl.datasets import sbm
from localgcl.graph.csr import features_to_scipy
from localgcl.graph.mapped import StoredRows
from localgcl.graph.stored import FolderError, Header, read_header, write_header
from tests.references.folders import stored

GRAPH = sbm(60, features=5, mean_degree=4.0, seed=0)
NODES = torch.tensor([0, 7, 59])


def test_rows_are_those_of_the_graph(tmp_path: Path) -> None:
    stored(GRAPH, tmp_path)
    rows = StoredRows.open(tmp_path)
    assert torch.equal(rows.features(NODES), GRAPH.x[NODES])
    assert rows.features(NODES[:0]).shape == (0, 5)
    taken = rows.edges.take(NODES)
    assert taken.weights is None
    for own, node in zip(taken.indices.split(taken.degree.tolist()), NODES, strict=True):
        assert own.tolist() == GRAPH.indices[GRAPH.rows == node].tolist()


def test_sparse_features_of_some_nodes(tmp_path: Path) -> None:
    stored(GRAPH, tmp_path)
    (tmp_path / "x.npy").unlink()
    x = sp.random_array((60, 9), density=0.2, rng=np.random.default_rng(0), dtype=np.float32).tocsr()
    for name, array in (("indptr", x.indptr.astype(np.int64)), ("indices", x.indices.astype(np.int32)), ("values", x.data)):
        np.save(tmp_path / f"x-{name}.npy", array)
    write_header(tmp_path, Header("sparse", 60, GRAPH.num_edges, 9))
    taken = StoredRows.open(tmp_path).features(NODES)
    assert taken.layout == torch.sparse_csr
    np.testing.assert_array_equal(features_to_scipy(taken).toarray(), x[NODES.numpy()].toarray())
    assert StoredRows.open(tmp_path).features(NODES[:0]).shape == (0, 9)


@pytest.mark.parametrize(("name", "array"), [("x.npy", np.zeros((60, 4))), ("indptr.npy", np.zeros(60)), ("indices.npy", [0])])
def test_arrays_that_do_not_fit_are_refused_for_some_rows(name: str, array: object, tmp_path: Path) -> None:
    stored(GRAPH, tmp_path)
    header = read_header(tmp_path)
    np.save(tmp_path / name, np.asarray(array))
    with pytest.raises(FolderError, match=name):
        StoredRows.open(tmp_path)
    write_header(tmp_path, header)  # forged
    with pytest.raises(FolderError, match="run localgcl convert again"):
        StoredRows.open(tmp_path)
