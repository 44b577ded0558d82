"""Sparse matrices of every format: sound ones mean the same, and broken ones are refused before compiled code reads them."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from localgcl.graph import Graph
from localgcl.graph.arrays import PARTS, checked_matrix, matrix_of_parts
from localgcl.graph.csr import as_features

A = np.array([[0, 1.5, 0, 0], [2, 0, 0, -1], [0, 0, 0, 0], [0, 0, 3, 0], [0, 0, 0, 4], [5, 0, 0, 0]], dtype=np.float32)
TENSORS: dict[str, Any] = {
    "coo": torch.Tensor.to_sparse_coo,
    "csr": torch.Tensor.to_sparse_csr,
    "csc": torch.Tensor.to_sparse_csc,
    "bsr": lambda x: x.to_sparse_bsr((2, 2)),
}


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix])
def test_sound_matrices_keep_their_entries(kind: str, make: Any) -> None:
    matrix = make(A).asformat(kind)
    np.testing.assert_array_equal(checked_matrix(matrix, "m").toarray(), A)
    np.testing.assert_array_equal(as_features(matrix).to_dense().numpy(), A)


def test_diagonals_beyond_the_corners_are_left_out() -> None:
    for shape in ((6, 4), (4, 6), (1, 5)):
        made: Any = sp.dia_array((np.arange(1.0, 19).reshape(3, 6), [1, -2, 9]), shape=shape)
        np.testing.assert_array_equal(checked_matrix(made, "m").toarray(), made.toarray())


@pytest.mark.parametrize("kind", TENSORS)
def test_sound_tensors_keep_their_entries(kind: str) -> None:
    tensor = TENSORS[kind](torch.from_numpy(A))
    np.testing.assert_array_equal(checked_matrix(tensor, "m").toarray(), A)
    np.testing.assert_array_equal(as_features(tensor).to_dense().numpy(), A)


@pytest.mark.parametrize("shape", [(3, 2**62), (2**62, 3), (-1, 3)])
def test_shapes_that_torch_cannot_count_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"m: the shape is .*; rows times columns must be below 2"):
        matrix_of_parts("coo", SOUND["coo"], shape, "m")


def test_big_endian_parts_are_read() -> None:
    csr = sp.csr_array(A)
    parts = {"data": csr.data.astype(">f4"), "indices": csr.indices.astype(">i8"), "indptr": csr.indptr.astype(">i4")}
    np.testing.assert_array_equal(matrix_of_parts("csr", parts, A.shape, "m").toarray(), A)


def test_repeated_entries_of_coordinates_are_kept() -> None:
    """Parallel edges are two entries of one place; CSR would add them up."""
    twice: Any = sp.coo_array((np.ones(2), ([0, 0], [1, 1])), shape=(2, 2))
    assert checked_matrix(twice, "m").nnz == 2


# Refusals: a sound 3 by 3 matrix of each format with one part changed

SOUND: dict[str, dict[str, Any]] = {
    "csr": {"data": np.ones(3), "indices": np.arange(3), "indptr": np.arange(4)},
    "csc": {"data": np.ones(3), "indices": np.arange(3), "indptr": np.arange(4)},
    "bsr": {"data": np.ones((3, 1, 1)), "indices": np.arange(3), "indptr": np.arange(4)},
    "coo": {"data": np.ones(3), "row": np.arange(3), "col": np.arange(3)},
    "dia": {"data": np.ones((1, 3)), "offsets": np.array([0])},
}
BROKEN: list[tuple[str, dict[str, Any], str]] = [
    *[
        (kind, {part: np.array(values)}, message)
        for kind in ("csr", "csc", "bsr")
        for part, values, message in (
            ("indptr", [0, 10**9, 0, 3], "must rise from 0 to the number of entries .3., got 0 to 3 with falls"),
            ("indptr", [0, 2, 1, 3], "with falls"),
            ("indptr", [0, -5, 1, 3], "with falls"),
            ("indptr", [1, 1, 2, 3], "got 1 to 3"),
            ("indptr", [0, 1, 2, 2], "got 0 to 2"),
            ("indptr", [0, 1, 2, 4], "got 0 to 4"),
            ("indptr", [0, 1, 3], "3 row pointers .indptr. for 3 rows"),
            ("indptr", [], "an index array has shape .0,. and type float64"),
            ("indptr", [0.0, 1, 2, 3], "type float64; it must be a list of integers"),
            ("indptr", [[0, 1, 2, 3]], "shape .1, 4."),
            ("indices", [0, 1, 3], "indices run from 0 to 3, but there are 3"),
            ("indices", [0, -1, 2], "indices run from -1 to 2"),
            ("indices", [0, 1, 2**62], "indices run from 0 to"),
            ("indices", [True, False, True], "type bool"),
            ("indices", [0, 1], "values have shape"),
        )
    ],
    ("csr", {"data": np.ones(2)}, "values have shape .2,., but the indices ask for .3,."),
    ("csr", {"data": np.ones((3, 1))}, "values have shape"),
    ("csr", {"data": np.array(["a", "b", "c"])}, "values are of type <U1; give numbers"),
    ("csr", {"data": np.ones(3, dtype=complex)}, "type complex128"),
    ("csr", {"data": np.array([{}, {}, {}])}, "type object"),
    ("bsr", {"data": np.ones((3, 2, 2))}, "blocks of shape .2, 2. do not fill the shape .3, 3."),
    ("bsr", {"data": np.ones((3, 0, 1))}, "blocks of shape .0, 1."),
    ("bsr", {"data": np.ones(3)}, "do not fill"),
    ("coo", {"row": np.array([0, 1, 3])}, "row indices run from 0 to 3, but there are 3 rows"),
    ("coo", {"col": np.array([0, 1, -1])}, "column indices run from -1 to 1"),
    ("coo", {"col": np.array([0, 1])}, "values have shape .3,., but the indices ask for .2,."),
    ("coo", {"col": np.array([0.0, 1, 2])}, "type float64"),
    ("coo", {"data": np.array(1.0)}, "values have shape .., but"),
    ("dia", {"offsets": np.array([0, 1])}, "values have shape .1, 3., but the indices ask for .2, 3."),
    ("dia", {"offsets": np.array([0.5])}, "type float64"),
    ("dia", {"data": np.ones(1)}, "values have shape"),
]


@pytest.mark.parametrize(("kind", "changed", "message"), BROKEN)
def test_parts_that_do_not_fit_are_refused(kind: str, changed: dict[str, Any], message: str) -> None:
    np.testing.assert_array_equal(matrix_of_parts(kind, SOUND[kind], (3, 3), "m").toarray(), np.eye(3))
    with pytest.raises(ValueError, match=f"m: .*{message}"):
        matrix_of_parts(kind, {**SOUND[kind], **changed}, (3, 3), "m")


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("use", [lambda m: Graph.from_edges([0], [1], x=m), as_features], ids=["graph", "features"])
def test_matrices_that_were_broken_in_memory_are_refused(kind: str, use: Any) -> None:
    sound: Any = sp.csr_array(np.eye(3))
    matrix = sound.asformat(kind)
    if kind == "coo":
        matrix.coords = (np.array([0, 1, 10**9]), np.arange(3))
    elif kind == "dia":
        matrix.offsets = np.array([0, 1])
    else:
        matrix.indptr = np.array([0, 10**9, 0, 3])
    with pytest.raises(ValueError, match="features: "):
        use(matrix)


def test_a_list_of_lists_must_have_a_value_for_each_column() -> None:
    matrix: Any = sp.lil_array(np.eye(3))
    matrix.rows[1] = [0, 1, 2]
    with pytest.raises(ValueError, match="m: a row has another number of columns than of values"):
        checked_matrix(matrix, "m")
    matrix.rows[1] = [10**9]
    with pytest.raises(ValueError, match="m: column indices run from 0 to 1000000000"):
        checked_matrix(matrix, "m")


def unchecked(crow: list[int], col: list[int], values: Any = None, shape: tuple[int, ...] = (3, 3)) -> torch.Tensor:
    values = torch.ones(len(col)) if values is None else values
    return torch.sparse_csr_tensor(torch.tensor(crow), torch.tensor(col), values, shape, check_invariants=False)


BROKEN_TENSORS: list[tuple[torch.Tensor, str]] = [
    (unchecked([0, 10**9, 0, 3], [0, 1, 2]), "must rise from 0"),
    (unchecked([0, 2, 1, 3], [0, 1, 2]), "must rise from 0"),
    (unchecked([0, 1, 2, 3], [0, 1, 3]), "column indices run from 0 to 3"),
    (unchecked([0, 1, 2, 3], [0, -1, 2]), "column indices run from -1"),
    (
        torch.sparse_csc_tensor(
            torch.tensor([0, 9, 2, 3]), torch.tensor([0, 1, 2]), torch.ones(3), (3, 3), check_invariants=False
        ),
        "must rise from 0",
    ),
    (
        torch.sparse_coo_tensor(torch.tensor([[0, 9], [0, 1]]), torch.ones(2), (3, 3), check_invariants=False),
        "row indices run from 0 to 9",
    ),
    (torch.eye(3, dtype=torch.complex64).to_sparse(), "give a matrix of real numbers"),
    (torch.ones(2, 3, 3).to_sparse(), "give a matrix of real numbers"),
    (torch.ones(3, 3, 2).to_sparse(2), "give a matrix of real numbers"),
]


@pytest.mark.parametrize(("tensor", "message"), BROKEN_TENSORS)
def test_broken_tensors_are_refused(tensor: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=f"features: .*{message}"):
        as_features(tensor)


def test_features_given_to_the_constructor_are_checked_too() -> None:
    indptr, indices = torch.tensor([0, 1, 1, 1]), torch.tensor([2])
    for broken in (unchecked([0, 10**9, 0, 3], [0, 1, 2]), unchecked([0, 1, 2, 3], [0, 1, 3])):
        with pytest.raises(ValueError, match="features: "):
            Graph(indptr, indices, broken)
        with pytest.raises(ValueError, match="features: "):
            Graph(indptr, indices, torch.eye(3)).with_features(broken)
    with pytest.raises(ValueError, match=r"layout torch\.sparse_csc; build the graph with Graph\.from_edges"):
        Graph(indptr, indices, torch.eye(3).to_sparse_csc())
