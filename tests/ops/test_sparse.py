import pytest
import torch
from torch import Tensor

from localgcl.ops import SparseMatrix, spmm
from tests.references.graphs import random_rows


def _dense(rows: int, columns: int) -> Tensor:
    """About a third of the entries, and an empty row and column."""
    matrix = random_rows(rows, columns, seed=1)
    matrix[matrix.abs() < 1] = 0
    matrix[rows // 2] = 0
    matrix[:, columns // 2] = 0
    return matrix


def _symmetric(n: int) -> Tensor:
    return _dense(n, n) + _dense(n, n).T


CASES = {
    "square": (_dense(9, 9), False),
    "wide": (_dense(5, 11), False),
    "tall": (_dense(11, 5), False),
    "symmetric": (_symmetric(9), True),
    "empty": (torch.zeros(4, 6, dtype=torch.float64), False),
}


@pytest.mark.parametrize("case", CASES)
def test_value_and_gradient_equal_dense(case: str) -> None:
    dense, symmetric = CASES[case]
    matrix = SparseMatrix(dense.to_sparse_csr(), symmetric=symmetric)
    x, upstream = random_rows(dense.shape[1], 4).requires_grad_(), random_rows(dense.shape[0], 4, seed=2)
    out = spmm(matrix, x)
    # The same products in another order, in float64.
    torch.testing.assert_close(out, dense @ x, rtol=1e-12, atol=1e-12)
    (grad,) = torch.autograd.grad(out, x, upstream)
    torch.testing.assert_close(grad, dense.T @ upstream, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_gradcheck(case: str) -> None:
    dense, symmetric = CASES[case]
    matrix = SparseMatrix(dense.to_sparse_csr(), symmetric=symmetric)
    assert torch.autograd.gradcheck(lambda x: spmm(matrix, x), random_rows(dense.shape[1], 2).requires_grad_())


@pytest.mark.parametrize("case", CASES)
def test_other_values_in_the_same_places(case: str) -> None:
    dense, symmetric = CASES[case]
    matrix = SparseMatrix(dense.to_sparse_csr(), symmetric=symmetric)
    values = random_rows(1, matrix.csr.values().numel(), seed=3)[0]  # not symmetric, whatever the places are
    expected = dense.clone()
    expected[dense != 0] = values
    changed = matrix.with_values(values)
    assert torch.equal(changed.csr.to_dense(), expected)
    assert torch.equal(changed.transposed.csr.to_dense(), expected.T)
    assert torch.equal(matrix.csr.to_dense(), dense)


def test_gradient_of_a_sum() -> None:
    """The upstream gradient of sum() is one number expanded, which sparse kernels cannot read."""
    dense, _ = CASES["wide"]
    x = random_rows(11, 4).requires_grad_()
    spmm(SparseMatrix(dense.to_sparse_csr()), x).sum().backward()
    torch.testing.assert_close(x.grad, dense.sum(0)[:, None].expand(-1, 4), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_widened(dtype: torch.dtype) -> None:
    dense = CASES["wide"][0].float()
    x = random_rows(11, 4, dtype=dtype).requires_grad_()
    out = spmm(SparseMatrix(dense.to_sparse_csr()), x)
    assert out.dtype == torch.float32
    # Widening is exact; what remains is float32 rounding of sums of eleven products.
    torch.testing.assert_close(out, dense @ x.detach().float(), rtol=1e-5, atol=1e-5)
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == dtype


def test_transposed() -> None:
    dense, _ = CASES["wide"]
    matrix = SparseMatrix(dense.to_sparse_csr())
    assert matrix.transposed.shape == (11, 5)
    assert torch.equal(matrix.transposed.csr.to_dense(), dense.T)
    assert torch.equal(matrix.transposed.transposed.csr.to_dense(), dense)


def test_no_gradient_asked_for() -> None:
    matrix = SparseMatrix(CASES["square"][0].to_sparse_csr())
    assert not spmm(matrix, random_rows(9, 2)).requires_grad
