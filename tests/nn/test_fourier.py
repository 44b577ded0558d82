"""Random Fourier features beside the columns of a narrow table."""

import math

import torch

from localgcl.nn.fourier import FourierColumns


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
