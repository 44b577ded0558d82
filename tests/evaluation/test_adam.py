import pytest
import torch

from localgcl.evaluation.adam import BatchedAdam


@pytest.mark.parametrize("steps", [1, 2, 50])
def test_each_column_follows_torchs_adam(steps: int) -> None:
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(6, 12, generator=generator, dtype=torch.float64)
    pull = torch.randn(6, 12, generator=generator, dtype=torch.float64)
    settings = [(1e-3, 0.0), (1e-2, 1e-3), (0.1, 0.3), (0.5, 0.0)]  # three columns each
    rates, decays = (torch.tensor(column, dtype=torch.float64).repeat_interleave(3) for column in zip(*settings, strict=True))

    ours = BatchedAdam(start.clone(), rates, decays, steps)
    for rate, root in zip(ours.rates, ours.roots, strict=True):
        ours.step((ours.weights - pull) ** 3, rate, root)

    for head, (learning_rate, decay) in enumerate(settings):
        columns = slice(3 * head, 3 * head + 3)
        weights = start[:, columns].clone().requires_grad_()
        adam = torch.optim.Adam([weights], lr=learning_rate, weight_decay=decay)
        for _ in range(steps):
            weights.grad = (weights.detach() - pull[:, columns]) ** 3
            adam.step()
        torch.testing.assert_close(ours.weights[:, columns], weights.detach(), rtol=1e-12, atol=1e-12)
