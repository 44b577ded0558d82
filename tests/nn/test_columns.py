"""Columns from random features and from random projections."""

import math

import pytest
import torch
from torch import Tensor

from localgcl.nn.columns import FourierColumns, SparseProjection


def columns(count: int) -> FourierColumns:
    torch.manual_seed(0)
    return FourierColumns(3, count)


def test_the_table_comes_first_and_unchanged() -> None:
    x = torch.randn(20, 3, generator=torch.Generator().manual_seed(1))
    widened = columns(8)(x)
    assert widened.shape == (20, 11)
    torch.testing.assert_close(widened[:, :3], x, rtol=0, atol=0)


def test_products_of_rows_approach_the_gaussian_kernel() -> None:
    r"""$\frac{2}{D}\sum_k\cos(\omega_k x + b_k)\cos(\omega_k y + b_k) \to e^{-|x-y|^2/2f}$, before the centre is taken off."""
    x = torch.randn(12, 3, generator=torch.Generator().manual_seed(1))
    fourier = columns(40_000)
    centre = torch.cos(fourier.phases) * torch.exp(-fourier.frequencies.square().sum(dim=0) / 2)
    phi = fourier(x)[:, 3:] / math.sqrt(3) + math.sqrt(2 / 40_000) * centre
    kernel = torch.exp(-torch.cdist(x, x).square() / (2 * 3))
    # A product is a mean of 40,000 terms of deviation at most 1: five deviations are 0.025.
    torch.testing.assert_close(phi @ phi.T, kernel, rtol=0, atol=0.025)


def test_columns_of_a_normal_table_have_mean_zero() -> None:
    x = torch.randn(40_000, 3, generator=torch.Generator().manual_seed(1))
    means = columns(16)(x).mean(dim=0)
    # Entries are at most sqrt(2 * 3 / 16) * 2 = 1.2 in size and most of deviation below 1, so means have one of 0.005.
    assert means.abs().max() < 0.025


def projection(num_inputs: int, count: int, seed: int = 0) -> SparseProjection:
    torch.manual_seed(seed)
    return SparseProjection(num_inputs, count)


def words(rows: int = 40, columns: int = 300) -> Tensor:
    return (torch.rand(rows, columns, generator=torch.Generator().manual_seed(1)) < 0.1).float()


@pytest.mark.parametrize("count", [1, 5, 8, 20, 64])
def test_sparse_and_dense_rows_are_projected_alike(count: int) -> None:
    x, project = words(), projection(300, count)
    projected = project(x.to_sparse_csr())
    assert projected.shape == (40, count)
    torch.testing.assert_close(projected, project(x))
    matrix = project(torch.eye(300))
    torch.testing.assert_close(projected, x @ matrix)
    # Each column of X goes to eight others, or to all where there are fewer, and keeps its length.
    assert set((matrix != 0).sum(dim=1).tolist()) == {min(8, count)}
    torch.testing.assert_close(matrix.norm(dim=1), torch.ones(300))


def test_inner_products_are_kept_without_bias_and_with_noise_of_one_over_root_p() -> None:
    x = torch.nn.functional.normalize(words(), dim=1)
    exact = x @ x.T
    draws = torch.stack([project(x) @ project(x).T for project in (projection(300, 64, seed) for seed in range(200))])
    errors = draws - exact
    # The mean of 200 draws of deviation 1/8 deviates by 0.009; the largest of 1,600 such by less than five of these.
    assert float(errors.mean(dim=0).abs().max()) < 5 * 0.125 / 200**0.5
    off = ~torch.eye(40, dtype=torch.bool)
    assert 0.5 / 8 < float(errors[:, off].std()) < 1.5 / 8


def test_a_row_without_entries_stays_zero() -> None:
    assert not projection(30, 10)(torch.zeros(2, 30).to_sparse_csr()).any()


def test_draws_follow_the_seed_and_are_kept_with_the_weights() -> None:
    one, other = projection(50, 16), projection(50, 16, seed=1)
    assert not torch.equal(one.places, other.places)
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(torch.eye(50)), other(torch.eye(50)))
