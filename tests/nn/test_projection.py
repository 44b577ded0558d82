"""Sparse random projections."""

import pytest
import torch
from torch import Tensor

from localgcl.nn.projection import SparseProjection


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
