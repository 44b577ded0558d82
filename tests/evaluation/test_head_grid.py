import itertools
import math

import pytest
import torch
from torch import Tensor

from localgcl.evaluation.linear import BatchedAdam, HeadGrid
from tests.evaluation.toys import clouds

GRID = list(itertools.product((0.02, 0.3), (0.0, 0.05)))  # learning rate and weight decay of each head
CLASSES = 3
CPU = torch.device("cpu")


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


class Training:
    """Two noisy clouds to learn and to validate on, in float64, so that rounding decides nothing."""

    def __init__(self, seed: int, spread: float = 0.8) -> None:
        z, y = clouds(72, dim=6, classes=CLASSES, spread=spread, seed=seed)
        rows, labels = torch.from_numpy(z).double(), torch.from_numpy(y)
        self.x, self.validation = torch.cat([rows, rows.new_ones(len(rows), 1)], 1).split([40, 32])
        self.y, self.val_y = labels.split([40, 32])
        self.start = 0.1 * torch.randn(7, CLASSES, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))

    def head_grid(
        self, steps: int, every: int, *, ties_by_loss: bool, look: bool = True, device: torch.device = CPU
    ) -> HeadGrid:
        x, y, validation = self.x.to(device), self.y.to(device), self.validation.to(device)
        val_y, start = self.val_y.to(device), self.start.to(device)
        head_grid = HeadGrid(x, y, validation, val_y, start, GRID, steps, ties_by_loss=ties_by_loss)
        head_grid.run(every, look=look)
        return head_grid

    def plain(self, steps: int, every: int, *, ties_by_loss: bool) -> tuple[int, int, Tensor, list[Tensor]]:
        """One head after the other by torch's Adam: the pick among all looks, its step and weights, and all last weights."""
        looks, last = [], []
        for head, (rate, decay) in enumerate(GRID):
            weights = self.start.clone().requires_grad_()
            adam = torch.optim.Adam([weights], lr=rate, weight_decay=decay)
            for step in range(1, steps + 1):
                adam.zero_grad()
                torch.nn.functional.cross_entropy(self.x @ weights, self.y).backward()
                adam.step()
                if step % every == 0 or step == steps:
                    logits = self.validation @ weights.detach()
                    right = int((logits.argmax(1) == self.val_y).sum())
                    loss = float(torch.nn.functional.cross_entropy(logits, self.val_y))
                    looks.append((-right, loss if ties_by_loss else step, loss, head, step, weights.detach().clone()))
            last.append(weights.detach())
        *_, head, step, weights = min(looks, key=lambda look: look[:3])
        return head, step, weights, last


@pytest.mark.parametrize("ties_by_loss", [True, False])
@pytest.mark.parametrize(("steps", "every"), [(40, 10), (43, 10), (7, 10), (12, 1)])
def test_a_race_is_every_head_by_torchs_adam(steps: int, every: int, ties_by_loss: bool) -> None:
    for seed in range(4):
        training = Training(seed)
        head_grid = training.head_grid(steps, every, ties_by_loss=ties_by_loss)
        head, step, weights, last = training.plain(steps, every, ties_by_loss=ties_by_loss)
        assert head_grid.picked()[:2] == (head, step)
        # Both take the same steps in float64, in another order of summing: a few units of rounding, grown over 43 steps.
        torch.testing.assert_close(head_grid.picked()[2], weights, rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(head_grid.adam.weights, torch.cat(last, 1), rtol=1e-8, atol=1e-10)


def test_the_courses_above_have_something_to_pick() -> None:
    by_loss, by_step = (
        [Training(seed).head_grid(43, 10, ties_by_loss=rule).picked()[:2] for seed in range(4)] for rule in (True, False)
    )
    assert len({head for head, _ in by_loss}) == 3
    assert {step for _, step in by_loss} == {10, 20, 30, 43}
    assert by_step != by_loss


def test_ties_go_to_the_lowest_loss_or_to_the_earliest_step() -> None:
    easy = Training(0, spread=0.05)  # every look finds all right, and ever more surely
    assert easy.head_grid(23, 5, ties_by_loss=True).picked()[1] == 23
    assert easy.head_grid(23, 5, ties_by_loss=False).picked()[1] == 5


def test_a_leader_is_kept_until_it_is_beaten() -> None:
    head_grid = Training(0).head_grid(1, 1, ties_by_loss=True)
    right, loss, best = int(head_grid.right), float(head_grid.loss), head_grid.best.clone()
    assert best.any()
    head_grid.adam.weights.zero_()  # all answers are class 0, at a loss of log 3
    head_grid._look(torch.tensor(2))
    assert right > int((head_grid.val_y == 0).sum())
    assert head_grid.picked()[1] == 1
    assert (int(head_grid.right), float(head_grid.loss)) == (right, loss)
    assert torch.equal(head_grid.best, best)
    # And the other way round: chance is beaten.
    chance = Training(0).head_grid(1, 1, ties_by_loss=True, look=False)
    trained = chance.adam.weights.clone()
    chance.adam.weights.zero_()
    chance._look(torch.tensor(1))
    assert float(chance.loss) == pytest.approx(math.log(3))
    chance.adam.weights.copy_(trained)
    chance._look(torch.tensor(2))
    assert chance.picked()[1] == 2


def test_without_looking_the_validation_nodes_stay_unused() -> None:
    head_grid = Training(0).head_grid(23, 5, ties_by_loss=True, look=False)
    assert (int(head_grid.right), float(head_grid.loss), head_grid.picked()[1]) == (-1, math.inf, 0)
    torch.testing.assert_close(head_grid.adam.weights, Training(0).head_grid(23, 5, ties_by_loss=True).adam.weights)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU that torch can use")
@pytest.mark.parametrize("look", [True, False])
@pytest.mark.parametrize(("steps", "every"), [(43, 10), (40, 10)])
def test_replaying_equals_launching(steps: int, every: int, look: bool) -> None:
    for seed in range(4):
        training = Training(seed)
        plain = training.head_grid(steps, every, ties_by_loss=True, look=look)
        replayed = training.head_grid(steps, every, ties_by_loss=True, look=look, device=torch.device("cuda"))
        assert replayed.picked()[:2] == plain.picked()[:2]
        torch.testing.assert_close(replayed.best.cpu(), plain.best, rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(replayed.adam.weights.cpu(), plain.adam.weights, rtol=1e-8, atol=1e-10)
