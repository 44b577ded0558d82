"""Hard negatives by mixing against plain formulas."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from localgcl.graph import Graph
from localgcl.losses import hard_log_sums, local_terms, mixing
from localgcl.losses.mixing import BetaMixture, fit_beta_mixture
from tests.losses.problems import CLOSE, linked, seeded
from tests.references import local as local_reference
from tests.references import mixing as reference
from tests.references.graphs import messy_graph, random_rows

TAU = 0.5


def similarities(count: int = 4000, share: float = 0.2, seed: int = 0) -> np.ndarray:
    """A draw of two betas: means 0.4 and 0.85."""
    random = np.random.default_rng(seed)
    false = random.random(count) < share
    return np.where(false, random.beta(17, 3, count), random.beta(8, 12, count))


def test_em_equals_the_reference() -> None:
    s = similarities()
    found = fit_beta_mixture(torch.from_numpy(s))
    for part, expected in zip(found, reference.beta_mixture(s), strict=True):
        np.testing.assert_allclose(part.numpy(), expected, rtol=1e-8)
    grid = np.linspace(0.01, 0.99, 50)
    posterior = found.true_negative(torch.from_numpy(grid)).numpy()
    np.testing.assert_allclose(posterior, reference.posterior(grid, reference.beta_mixture(s)), rtol=1e-8, atol=1e-12)


def test_em_finds_the_mixture_that_was_drawn() -> None:
    found = fit_beta_mixture(torch.from_numpy(similarities(50_000)), iterations=50)
    means = found.alpha / (found.alpha + found.beta)
    # Well apart, so the moments are those of the components: means to .003 (three standard errors and the overlap).
    np.testing.assert_allclose(means.numpy(), [0.4, 0.85], atol=0.01)
    np.testing.assert_allclose(found.weight.numpy(), [0.8, 0.2], atol=0.01)


def test_entries_that_are_not_present_do_not_count() -> None:
    s = torch.from_numpy(similarities())
    present = torch.arange(len(s)) % 3 > 0
    found, expected = fit_beta_mixture(torch.where(present, s, 0.99), present), fit_beta_mixture(s[present])
    for part, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(part, wanted, rtol=1e-9, atol=0)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_equal_similarities_give_a_finite_mixture(value: float) -> None:
    mixture = fit_beta_mixture(torch.full((100,), value))
    assert all(bool(part.isfinite().all()) for part in mixture)
    posterior = mixture.true_negative(torch.linspace(0, 1, 11))
    assert bool(((posterior >= 0) & (posterior <= 1)).all())


def expected_log_sums(
    z: Tensor, graph: Graph, monkeypatch: pytest.MonkeyPatch, pool: int, selected: int
) -> tuple[Tensor, list[Tensor]]:
    """What the library gives under a known mixture, and the reference with the same pool and permutation."""
    parameters = np.array([4.0, 9.0]), np.array([6.0, 2.0]), np.array([0.8, 0.2])
    mixture = BetaMixture(*(torch.from_numpy(part) for part in parameters))
    monkeypatch.setattr(mixing, "_fit_to_pairs", lambda *_: mixture)
    found = hard_log_sums(z, graph, temperature=TAU, pool=pool, selected=selected, generator=seeded(1))
    generator = seeded(1)
    candidates = torch.randperm(len(z), generator=generator)[:pool].tolist()
    order = torch.randperm(min(selected, len(candidates)), generator=generator).tolist()
    return found, reference.hard_log_sums(z, graph, TAU, candidates, order, parameters)


@pytest.mark.parametrize("chunk", [1, 2**21])
@pytest.mark.parametrize(("pool", "selected"), [(9, 4), (40, 6), (40, 60)])
def test_mixes_equal_the_reference(pool: int, selected: int, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directed edges, a loop, isolated nodes, a row of zeros; all in one chunk or sixteen rows at a time."""
    monkeypatch.setattr(mixing, "_CHUNK", {"cpu": chunk})
    z = random_rows(40, 5, 3)
    z[7] = 0
    z.requires_grad_()
    found, expected = expected_log_sums(z, messy_graph(40, 200), monkeypatch, pool, selected)
    living = [i for i in range(40) if i != 7]
    weights = torch.linspace(0.5, 2, len(living), dtype=torch.float64)
    wanted = torch.stack(expected)[living]
    # In the last case nodes have fewer candidates than are selected; with a small pool some may have none to mix.
    some = wanted.isfinite()
    assert int(some.sum()) > 30
    torch.testing.assert_close(found[living], wanted, **CLOSE)
    (grad,) = torch.autograd.grad((found[living] * weights)[some].sum(), z)
    (wanted_grad,) = torch.autograd.grad((wanted * weights)[some].sum(), z)
    torch.testing.assert_close(grad, wanted_grad, **CLOSE)


def test_nothing_to_mix() -> None:
    """Two nodes that are neighbours have no candidates; the loss is what it is without hard negatives."""
    z, graph = random_rows(2, 3).requires_grad_(), linked(2, (0, 1), (1, 0))
    added = hard_log_sums(z, graph, temperature=TAU, generator=seeded(0))
    assert added.tolist() == [-math.inf, -math.inf]
    terms = local_terms(z, graph, temperature=TAU, negatives="exact", added=added)
    plain = local_terms(z, graph, temperature=TAU, negatives="exact")
    torch.testing.assert_close(terms.negative, plain.negative, **CLOSE)
    for found, expected in zip(terms, plain, strict=True):
        torch.testing.assert_close(found, expected)
    (grad,) = torch.autograd.grad(terms.negative, z)
    torch.testing.assert_close(grad, torch.autograd.grad(plain.negative, z)[0], **CLOSE)


@pytest.mark.parametrize("negatives", ["exact", "sorf"])
def test_the_mixes_join_the_sum_inside_the_logarithm(negatives: str) -> None:
    z, graph = random_rows(30, 8), messy_graph(30, 60)
    z[4] = 0
    z.requires_grad_()
    added = hard_log_sums(z, graph, temperature=TAU, pool=20, selected=6, generator=seeded(2))
    terms = local_terms(z, graph, temperature=TAU, negatives=negatives, num_features=512, generator=seeded(3), added=added)
    alive = torch.arange(30) != 4
    u = local_reference.unit_rows(z)
    if negatives == "exact":
        sums = (u @ u.T / TAU).exp().sum(1)
    else:
        from localgcl.nn.features import MAPS

        psi = MAPS["sorf"](512).draw(8, TAU, generator=seeded(3), dtype=torch.float64).psi(u)
        sums = (psi @ psi.sum(0)).clamp(min=local_reference.kernel_floor(29, TAU)) * math.exp(1 / TAU)
    expected = (sums + added[alive].exp()).log().sum() / 30
    torch.testing.assert_close(terms.negative, expected, **CLOSE)
    (grad,) = torch.autograd.grad(terms.negative, z, retain_graph=True)
    torch.testing.assert_close(grad, torch.autograd.grad(expected, z)[0], **CLOSE)


def test_the_order_of_nodes_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all nodes in the pool, the mixture given and one candidate selected, nothing is random."""
    monkeypatch.setattr(mixing, "_fit_to_pairs", lambda *_: fit_beta_mixture(torch.from_numpy(similarities())))
    z, graph = random_rows(60, 6), messy_graph(60, 100)
    order = torch.randperm(60, generator=seeded(9))
    where = order.argsort()
    moved = Graph.from_edges(where[graph.rows], where[graph.indices], x=torch.zeros(60, 1))
    first = hard_log_sums(z, graph, temperature=TAU, pool=60, selected=1, generator=seeded(0))
    second = hard_log_sums(z[order], moved, temperature=TAU, pool=60, selected=1, generator=seeded(0))
    torch.testing.assert_close(first[order], second, **CLOSE)


def test_mixes_lie_between_the_least_and_the_most_similar() -> None:
    z, graph = random_rows(50, 4), messy_graph(50, 80)
    found = hard_log_sums(z, graph, temperature=TAU, pool=50, selected=10, generator=seeded(0))
    assert bool((found <= math.log(10) + 1 / TAU).all())
    assert bool((found >= math.log(10) - 1 / TAU).all())


def test_temperature_must_be_positive() -> None:
    with pytest.raises(ValueError, match="temperature is -1; it must be above 0"):
        hard_log_sums(random_rows(4, 2), messy_graph(4, 3), temperature=-1, generator=seeded(0))
