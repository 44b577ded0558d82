import torch
from torch import Tensor

from localgcl.losses import spectral_terms
from tests.losses.problems import CLOSE, number, seeded, with_gradient
from tests.references.graphs import random_rows
from tests.references.spectral import spectral_loss

POSITIVES = torch.randint(11, (11, 3), generator=seeded(0))
NEGATIVES = torch.randint(11, (11, 7), generator=seeded(1))  # some twice, some the node itself


def loss(z: Tensor, positives: Tensor = POSITIVES, negatives: Tensor = NEGATIVES) -> Tensor:
    terms = spectral_terms(z, positives, negatives)
    return terms.positive + terms.negative


def test_equals_reference() -> None:
    z = 3 * random_rows(11, 5)
    z[4] = 0  # no direction: similarity 0 to all
    value, grad = with_gradient(loss, z)
    expected, expected_grad = with_gradient(lambda z: spectral_loss(z, POSITIVES.tolist(), NEGATIVES.tolist()), z)
    torch.testing.assert_close(value, expected, **CLOSE)
    # The reference leaves a row of zeros as it is, with the gradient of the bare row; ours gives it none.
    assert torch.equal(grad[4], torch.zeros(5, dtype=torch.float64))
    living = torch.arange(11) != 4
    torch.testing.assert_close(grad[living], expected_grad[living], **CLOSE)


def test_negatives_are_summed_and_positives_averaged() -> None:
    z = random_rows(11, 5)
    once, twice = (spectral_terms(z, POSITIVES.repeat(1, k), NEGATIVES.repeat(1, k)) for k in (1, 2))
    torch.testing.assert_close(twice.positive, once.positive, **CLOSE)
    torch.testing.assert_close(twice.negative, 2 * once.negative, **CLOSE)


def test_scale_and_order_of_nodes_do_not_matter() -> None:
    z = random_rows(11, 5)
    order = torch.randperm(11, generator=seeded(2))
    place = order.argsort()
    moved = loss(7 * z[order], place[POSITIVES[order]], place[NEGATIVES[order]])
    torch.testing.assert_close(moved, loss(z), **CLOSE)


def test_all_pairs_are_a_factorisation_of_the_positives() -> None:
    """With every node of the pool as a negative, L = ||Z Z^T - M||^2 / P - ||M||^2 / P, M the averaged positives."""
    z = torch.nn.functional.normalize(random_rows(11, 5))
    m = torch.nn.functional.one_hot(POSITIVES, 11).double().mean(1)
    gram = z @ z.T
    expected = ((gram - m).square().sum() - m.square().sum()) / 11
    torch.testing.assert_close(loss(z, negatives=torch.arange(11).repeat(11, 1)), expected, **CLOSE)


def test_single_precision() -> None:
    (narrow, narrow_grad), (wide, wide_grad) = (
        with_gradient(loss, random_rows(11, 5).to(d)) for d in (torch.float32, torch.float64)
    )
    # The project's promise: 1e-5 relative, in value and gradient.
    assert abs(number(narrow) - number(wide)) < 1e-5 * abs(number(wide))
    assert float((narrow_grad - wide_grad).norm() / wide_grad.norm()) < 1e-5
