import pytest
import torch
from scipy.linalg import hadamard as scipy_hadamard

from localgcl.ops import hadamard
from tests.references.graphs import random_rows

SIZES = [2**k for k in range(12)]


@pytest.mark.parametrize("d", SIZES)
def test_equals_scipy(d: int) -> None:
    expected = torch.from_numpy(scipy_hadamard(d)).double() / d**0.5
    # At most 2048 products of numbers near 1 in float64: 1e-12 leaves three digits of room.
    torch.testing.assert_close(hadamard(torch.eye(d, dtype=torch.float64)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("d", SIZES)
def test_is_an_orthogonal_involution(d: int) -> None:
    x = random_rows(d, 3)
    torch.testing.assert_close(hadamard(hadamard(x)), x, rtol=0, atol=1e-12)
    torch.testing.assert_close(hadamard(x).T @ hadamard(x), x.T @ x, rtol=1e-12, atol=1e-12)


def test_batch_axes_are_independent() -> None:
    x = random_rows(2 * 3 * 32, 5).reshape(2, 3, 32, 5)
    out = hadamard(x)
    assert out.shape == x.shape
    for i in range(2):
        for j in range(3):
            torch.testing.assert_close(out[i, j], hadamard(x[i, j].clone()), rtol=1e-13, atol=1e-13)


def test_single_precision_and_strided_input() -> None:
    x = random_rows(7, 512)
    # float32 rounds at 6e-8; two products of 32 terms keep the error of outputs near 1 below 1e-5.
    torch.testing.assert_close(hadamard(x.float().T), hadamard(x.T).float(), rtol=0, atol=1e-5)


def test_gradient() -> None:
    x = random_rows(8, 3).requires_grad_()
    assert torch.autograd.gradcheck(hadamard, x)


@pytest.mark.parametrize(("d", "padded"), [(3, 4), (6, 8), (100, 128)])
def test_needs_a_power_of_two(d: int, padded: int) -> None:
    with pytest.raises(ValueError, match=rf"got {d}; pad with zeros to {padded}$"):
        hadamard(torch.zeros(d, 1))
