import numpy as np
import pytest
import torch

from localgcl.ops.principal import principal_directions


@pytest.mark.parametrize(("n", "d", "count"), [(200, 10, 3), (300, 120, 8), (5, 40, 3), (40, 2, 8)])
def test_directions_are_the_first_right_singular_vectors(n: int, d: int, count: int) -> None:
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(n, d)) / np.arange(1, d + 1))
    found = principal_directions(x, count, generator=torch.Generator().manual_seed(0))
    kept = min(count, n, d)
    assert found.shape == (d, kept)
    torch.testing.assert_close(found.T @ found, torch.eye(kept, dtype=x.dtype))
    _, _, expected = torch.linalg.svd(x, full_matrices=False)
    # Four iterations with 16 more directions leave an error of the 9th power of the ratio of singular values.
    torch.testing.assert_close((found.T @ expected[:kept].T).abs(), torch.eye(kept, dtype=x.dtype), atol=1e-3, rtol=0)


def test_signs_do_not_depend_on_the_draw() -> None:
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(100, 12)) / np.arange(1, 13))
    a, b = (principal_directions(x, 2, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1))
    torch.testing.assert_close(a, b)
