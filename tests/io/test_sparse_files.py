"""Files of `scipy.sparse.save_npz`: every format is read, and every part that does not fit is refused by name of the file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from localgcl.io.files import read_graph
from localgcl.io.formats import read_arrays
from tests.io.helpers import put, saved

A = np.array([[0, 1, 0, 0], [0, 0, 2, 0], [3, 0, 0, 0], [0, 0, 0, 0]], dtype=np.float64)
SOUND: dict[str, Any] = {
    "format": b"csr",
    "shape": [3, 3],
    "data": np.ones(3),
    "indices": [0, 1, 2],
    "indptr": [0, 1, 2, 3],
}


def read(path: Path) -> Any:
    return read_arrays(path, ".npz", ("x",))["x"]


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "dia"])
@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("compressed", [True, False])
def test_what_scipy_writes_is_read(tmp_path: Path, kind: str, make: Any, compressed: bool) -> None:
    sp.save_npz(tmp_path / "s.npz", make(A).asformat(kind), compressed=compressed)
    np.testing.assert_array_equal(read(tmp_path / "s.npz").toarray(), A)


def test_coordinates_in_one_array(tmp_path: Path) -> None:
    """As scipy announces to write them."""
    np.savez(tmp_path / "s.npz", format="coo", shape=[2, 2], data=[1.0], coords=[[0], [1]])
    assert read(tmp_path / "s.npz").toarray().tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"indptr": [0, 10**9, 0, 3]}, "must rise from 0 to the number of entries .3., got 0 to 3 with falls"),
        ({"indptr": [0, 2, 1, 3]}, "must rise from 0"),
        ({"indptr": [0, 1, 2, 10**9]}, "got 0 to 1000000000"),
        ({"indptr": [0, 1, 2]}, "3 row pointers"),
        ({"indices": [0, 1, 10**9]}, "column indices run from 0 to 1000000000, but there are 3 columns"),
        ({"indices": [0.0, 1.0, 2.0]}, "type float64"),
        ({"data": np.ones(2)}, "values have shape"),
        ({"data": np.array(1.0)}, "values have shape"),
        ({"data": ["a", "b", "c"]}, "values are of type"),
        ({"data": np.array([{}, {}, {}])}, "values of type"),
        ({"format": b"xyz"}, "format 'xyz'; known are csr, csc, bsr, coo, dia"),
        ({"format": 7}, "format 7; known are"),
        ({"format": ["csr", "csc"]}, "format ''; known are"),
        ({"format": "coo"}, "has no array 'row'"),
        ({"format": "dia"}, "has no array 'offsets'"),
        ({"format": "bsr"}, "do not fill"),
        ({"format": "coo", "coords": [0, 1]}, "coordinates have shape"),
        ({"format": "coo", "row": [0, 1, 3], "col": [0, 1, 2]}, "row indices run from 0 to 3"),
        ({"shape": [3]}, r"shape of its sparse matrix is \[3\]; give two sizes"),
        ({"shape": [3, 3, 3]}, "give two sizes"),
        ({"shape": 3}, "give two sizes"),
        ({"shape": [3.0, 3.0]}, "give two sizes"),
        ({"shape": [-3, 3]}, "give two sizes"),
        ({"shape": [10**9, 3]}, "declares 8,000,000,000 bytes"),
    ],
)
def test_parts_that_do_not_fit_are_refused(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "sound.npz", **SOUND)
    assert read(tmp_path / "sound.npz").toarray().tolist() == np.eye(3).tolist()
    path = put(tmp_path / "bad.npz", saved(np.savez, **{**SOUND, **changed}))
    with pytest.raises(ValueError, match=f"bad.npz.*{message}") as caught:
        read(path)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("side", [10**9, 10**7, 10**6])
def test_a_kilobyte_cannot_ask_for_gigabytes(tmp_path: Path, side: int) -> None:
    np.savez(tmp_path / "bad.npz", format="coo", shape=[side, side], data=np.ones(1), row=[0], col=[1])
    with pytest.raises(ValueError, match=r"bad\.npz has 1,\d\d\d bytes but declares .* write it again, as CSR"):
        read_graph(tmp_path / "bad.npz")


def test_a_matrix_without_nodes_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", format="coo", shape=[0, 0], data=[1.0][:0], row=np.arange(0), col=np.arange(0))
    with pytest.raises(ValueError, match=r"bad\.npz"):
        read_graph(tmp_path / "bad.npz")


def test_isolated_nodes_are_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", format="coo", shape=[500, 500], data=np.ones(1), row=[0], col=[1])
    (tmp_path / "x.npy").write_bytes(saved(np.save, np.ones((500, 1))))
    assert read_graph(tmp_path / "a.npz", features=tmp_path / "x.npy").num_nodes == 500
