"""The Local-GCL loss against its plain formulas, and every point where the paper is silent or wrong (M1 to M25)."""

import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jaxtyping
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from localgcl.graph import Graph
from localgcl.losses.local import choose_negatives, local_contrastive, local_terms
from localgcl.nn.features import MAPS, FeatureMap, RandomFourier, StructuredOrthogonal
from tests.losses.problems import CLOSE, kernel_reference, linked, number, ring, seeded, with_gradient
from tests.references import local as reference
from tests.references.graphs import messy_graph, random_rows, weighted_graph, with_parallels


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Wrong types reach the library's own checks, as they do for a user, instead of the tests' shape checker."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


# Value and gradient against the formulas


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize(
    ("positives", "weight_gradient"), [("mean", False), ("max", False), ("weighted", False), ("weighted", True)]
)
@pytest.mark.parametrize("seed", range(3))
def test_equals_reference(positives: Any, weight_gradient: bool, include_self: bool, seed: int) -> None:
    graph, z, tau = messy_graph(seed=seed), 3 * random_rows(12, 5, seed), 0.7

    def loss(z: Tensor) -> Tensor:
        options: dict[str, Any] = {"temperature": tau, "positives": positives, "include_self": include_self}
        if weight_gradient:
            terms = local_terms(z, graph, weight_gradient=True, negatives="exact", **options)
            return terms.positive + terms.negative
        return local_contrastive(z, graph, negatives="exact", **options)

    value, grad = with_gradient(loss, z)
    expected, expected_grad = with_gradient(
        lambda z: reference.local_loss(z, graph, tau, positives, include_self=include_self, weight_gradient=weight_gradient),
        z,
    )
    torch.testing.assert_close(value, expected, **CLOSE)
    torch.testing.assert_close(grad, expected_grad, **CLOSE)


POSITIVES = [("mean", False), ("max", False), ("weighted", False), ("weighted", True)]


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize(("positives", "weight_gradient"), POSITIVES)
@pytest.mark.parametrize("symmetrise", [False, True])
def test_weighted_edges_equal_reference(positives: Any, weight_gradient: bool, include_self: bool, symmetrise: bool) -> None:
    graph = weighted_graph().symmetrized() if symmetrise else weighted_graph()
    z, tau = 3 * random_rows(12, 5), 0.7
    z[4] = 0  # its neighbours go without it
    options: dict[str, Any] = {"include_self": include_self, "weight_gradient": weight_gradient}

    def loss(z: Tensor) -> Tensor:
        terms = local_terms(z, graph, temperature=tau, positives=positives, negatives="exact", **options)
        return terms.positive + terms.negative

    value, grad = with_gradient(loss, z)
    expected, expected_grad = with_gradient(lambda z: reference.local_loss(z, graph, tau, positives, **options), z)
    torch.testing.assert_close(value, expected, **CLOSE)
    torch.testing.assert_close(grad, expected_grad, **CLOSE)


@pytest.mark.parametrize("positives", ["mean", "weighted"])
def test_a_weight_of_k_is_k_parallel_edges(positives: Any) -> None:
    graph, z = weighted_graph(whole=True), random_rows(12, 5)
    ours, parallel = (
        with_gradient(lambda z, each=each: local_terms(z, each, positives=positives, negatives="exact").positive, z)  # type: ignore[misc]
        for each in (graph, with_parallels(graph))
    )
    torch.testing.assert_close(ours, parallel, **CLOSE)


@pytest.mark.parametrize("scale", [1e-44, 3e37])
@pytest.mark.parametrize("positives", ["mean", "weighted"])
def test_the_scale_of_weights_does_not_matter(positives: Any, scale: float) -> None:
    """Their sums overflow in single precision, or they are the smallest numbers that there are."""
    star, z = linked(9, *[(0, leaf) for leaf in range(1, 9)]), random_rows(9, 5, dtype=torch.float32)
    scaled = star.with_edges(star.rows, star.indices, torch.full((8,), 7 * scale))
    ours, plain = (local_terms(z, each, positives=positives, negatives="exact").positive for each in (scaled, star))
    # Logarithms of about 100 are added and taken off again, which costs 100 times 6e-8.
    torch.testing.assert_close(ours, plain, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("positives", ["mean", "max", "weighted"])
def test_stored_weights_of_1_are_no_weights(positives: Any) -> None:
    csr, z = messy_graph().csr, random_rows(12, 5)
    stored = csr.with_weights(torch.ones(csr.num_entries))
    ours, plain = (
        with_gradient(lambda z, each=each: local_terms(z, each, positives=positives, negatives="exact").positive, z)  # type: ignore[misc]
        for each in (stored, csr)
    )
    torch.testing.assert_close(ours, plain, **CLOSE)


Edges = tuple[int, list[tuple[int, int]]]


@st.composite
def _graphs(draw: st.DrawFn) -> Edges:
    """Any directed multigraph of up to seven nodes: loops, parallel edges and isolated nodes come by themselves."""
    n = draw(st.integers(1, 7))
    node = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(node, node), max_size=15))


@settings(max_examples=40, deadline=None)
@given(_graphs(), st.integers(0, 99), st.sampled_from(["mean", "weighted"]), st.booleans())
def test_equals_reference_on_any_graph(edges: Edges, seed: int, positives: Any, include_self: bool) -> None:
    # "max" is left to the case above: between equally near neighbours its gradient is a matter of choice.
    graph = linked(edges[0], *edges[1])
    z = random_rows(graph.num_nodes, 3, seed)
    options: dict[str, Any] = {"positives": positives, "include_self": include_self}
    value, grad = with_gradient(lambda z: local_contrastive(z, graph, temperature=0.5, negatives="exact", **options), z)
    expected, expected_grad = with_gradient(lambda z: reference.local_loss(z, graph, 0.5, **options), z)
    torch.testing.assert_close(value, expected, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(grad, expected_grad, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", MAPS)
def test_kernelised_loss_equals_reference(name: Any) -> None:
    graph, z, tau = messy_graph(), random_rows(12, 5), 1.0
    draw = MAPS[name](300).draw(5, tau, generator=seeded(4), dtype=torch.float64)
    options: dict[str, Any] = {"temperature": tau, "negatives": name, "num_features": 300}
    value, grad = with_gradient(lambda z: local_contrastive(z, graph, generator=seeded(4), **options), z)
    expected, expected_grad = with_gradient(
        lambda z: reference.local_loss(z, graph, tau, negative=kernel_reference(draw, tau)), z
    )
    torch.testing.assert_close(value, expected, **CLOSE)
    torch.testing.assert_close(grad, expected_grad, **CLOSE)


@pytest.mark.parametrize("law", ["correct", "printed"])
def test_a_feature_map_object_decides_for_itself(law: Any) -> None:
    graph, z, tau = messy_graph(), random_rows(12, 5), 0.5
    loss = local_contrastive(z, graph, temperature=tau, negatives=RandomFourier(400, fixed_seed=3, law=law), num_features=1)
    variance = 1 / tau if law == "correct" else tau
    frequencies = torch.randn(5, 400, generator=seeded(3), dtype=torch.float64) * math.sqrt(variance)
    expected = reference.local_loss(
        z, graph, tau, negative=lambda u: reference.negative_kernel(reference.rff(u, frequencies), 0.0, 1 / tau)
    )
    torch.testing.assert_close(loss, expected, **CLOSE)


def test_single_precision() -> None:
    graph, z = messy_graph(), random_rows(12, 5)
    narrow, narrow_grad = with_gradient(lambda z: local_contrastive(z, graph, negatives="exact"), z.float())
    wide, wide_grad = with_gradient(lambda z: local_contrastive(z, graph, negatives="exact"), z)
    assert narrow.dtype == torch.float32
    # The project's promise: 1e-5 relative, in value and gradient.
    assert abs(number(narrow) - number(wide)) < 1e-5 * abs(number(wide))
    assert float((narrow_grad - wide_grad).norm() / wide_grad.norm()) < 1e-5


@pytest.mark.parametrize("negatives", ["exact", "sorf"])
def test_bfloat16_embeddings(negatives: Any) -> None:
    graph, z = ring(200), random_rows(200, 64, dtype=torch.float32)
    options: dict[str, Any] = {"negatives": negatives, "num_features": 512}
    low, grad = with_gradient(lambda z: local_contrastive(z, graph, generator=seeded(0), **options), z.bfloat16())
    rounded, _ = with_gradient(lambda z: local_contrastive(z, graph, generator=seeded(0), **options), z.bfloat16().float())
    full, full_grad = with_gradient(lambda z: local_contrastive(z, graph, generator=seeded(0), **options), z)
    # Widening is exact, so only the rounding of z itself remains: relative 2^-9 an entry, which moves cosines of 64
    # entries by about 2^-9 and the loss, averaged over nodes, by less than 2^-9 / tau = .004.
    assert torch.equal(low, rounded)
    assert abs(number(low) - number(full)) < 0.004
    assert grad.dtype == torch.bfloat16
    # Gradients are rounded once more, to 2^-9 each.
    assert float((grad.float() - full_grad).norm() / full_grad.norm()) < 0.02


# What N(i) is


def test_self_loops_are_no_neighbours_unless_asked_for() -> None:
    """M10. Loops of the graph itself are ignored by default, and count once with `include_self`."""
    z = random_rows(3, 4)
    plain, loops = linked(3, (0, 1), (1, 2)), linked(3, (0, 0), (0, 0), (0, 1), (1, 2), (2, 2))
    for include_self in (False, True):
        options: dict[str, Any] = {"negatives": "exact", "include_self": include_self}
        assert torch.equal(local_contrastive(z, plain, **options), local_contrastive(z, loops, **options))
    u = torch.nn.functional.normalize(z, dim=1)
    closed = local_terms(z, plain, temperature=1.0, negatives="exact", include_self=True).positive
    rows = [(math.e + math.exp(u[0] @ u[1])) / 2, (math.e + math.exp(u[1] @ u[2])) / 2, math.e]
    assert number(closed) == pytest.approx(-sum(math.log(row) for row in rows) / 3)


def test_isolated_nodes_repel_but_attract_nobody() -> None:
    """M11: node 2 has no positive term, yet stays in every negative sum and in the denominator."""
    z = torch.tensor([[1.0, 0], [0, 1], [-1, 0]], dtype=torch.float64, requires_grad=True)
    graph = linked(3, (0, 1), (1, 0))
    terms = local_terms(z, graph, temperature=1.0, negatives="exact")
    e = math.e
    assert number(terms.positive) == pytest.approx(0, abs=1e-12)  # 0 and 1 are orthogonal: log e^0
    assert number(terms.negative) == pytest.approx((2 * math.log(e + 1 + 1 / e) + math.log(e + 2)) / 3)
    (grad,) = torch.autograd.grad(terms.negative, z, retain_graph=True)
    assert (grad[2] != 0).any()
    (grad,) = torch.autograd.grad(terms.positive, z)
    assert (grad[2] == 0).all()
    assert (grad[0] != 0).any()


@pytest.mark.parametrize("positives", ["mean", "max", "weighted"])
def test_a_graph_without_edges_has_no_positive_term(positives: Any) -> None:
    z = random_rows(4, 3).requires_grad_()
    terms = local_terms(z, linked(4), positives=positives, negatives="exact")
    assert number(terms.positive) == 0
    (grad,) = torch.autograd.grad(terms.positive + terms.negative, z)
    assert grad.isfinite().all()


def test_log_of_a_mean_of_exponentials() -> None:
    """M12: -log((e + 1)/2) = -.620 for similarities 1 and 0, not their mean -.5."""
    z = torch.tensor([[1.0, 0], [1, 0], [0, 1]], dtype=torch.float64)
    terms = local_terms(z, linked(3, (0, 1), (0, 2)), temperature=1.0, negatives="exact")
    assert 3 * number(terms.positive) == pytest.approx(-math.log((math.e + 1) / 2))
    assert 3 * number(terms.positive) == pytest.approx(-0.6201, abs=1e-4)


def test_directed_edges_are_used_as_given() -> None:
    """M13: an edge i -> j makes j a positive of i only; symmetrising is the caller's choice."""
    z = random_rows(2, 3)
    cosine = float(torch.nn.functional.cosine_similarity(z[0], z[1], dim=0))
    one, both = (
        number(local_terms(z, g, temperature=1.0, negatives="exact").positive)
        for g in (linked(2, (0, 1)), linked(2, (0, 1), (1, 0)))
    )
    assert one == pytest.approx(-cosine / 2)
    assert both == pytest.approx(-cosine)


def test_parallel_edges_count_as_often_as_they_occur() -> None:
    z = torch.tensor([[1.0, 0], [1, 0], [0, 1]], dtype=torch.float64)
    terms = local_terms(z, linked(3, (0, 1), (0, 1), (0, 2)), temperature=1.0, negatives="exact")
    assert 3 * number(terms.positive) == pytest.approx(-math.log((2 * math.e + 1) / 3))


# Identities


def test_equal_similarities_make_all_positives_equal() -> None:
    """M15, M16: with the softmax normalised to one, equal weights give back the mean."""
    z = torch.tensor([[1.0, 0, 0], [1, 1, 0], [1, -1, 0], [1, 0, 1], [1, 0, -1]], dtype=torch.float64)
    star = linked(5, (0, 1), (0, 2), (0, 3), (0, 4))
    values = [
        number(local_terms(z, star, temperature=0.5, positives=p, negatives="exact").positive)
        for p in ("mean", "max", "weighted")
    ]
    assert values == pytest.approx([-math.sqrt(2) / 5] * 3)


@settings(max_examples=30, deadline=None)
@given(_graphs(), st.integers(0, 99))
def test_weights_lie_between_mean_and_max(edges: Edges, seed: int) -> None:
    """Weights that grow with similarity raise the average, and no average exceeds the maximum."""
    graph = linked(edges[0], *edges[1])
    z = random_rows(graph.num_nodes, 3, seed)
    mean, weighted, highest = (
        number(local_terms(z, graph, positives=p, negatives="exact").positive) for p in ("mean", "weighted", "max")
    )
    assert highest - 1e-12 <= weighted <= mean + 1e-12


def test_only_the_nearest_neighbour_is_pulled_by_max() -> None:
    """M15: the gradient flows to both ends of the chosen edge, and to no other neighbour."""
    z = torch.tensor([[1.0, 0.1], [1, 0], [0, 1]], dtype=torch.float64, requires_grad=True)
    terms = local_terms(z, linked(3, (0, 1), (0, 2)), positives="max", negatives="exact")
    (grad,) = torch.autograd.grad(terms.positive, z)
    assert (grad != 0).any(dim=1).tolist() == [True, True, False]


def test_weights_carry_no_gradient_by_default() -> None:
    graph, z = messy_graph(), random_rows(12, 5)
    options: dict[str, Any] = {"positives": "weighted", "negatives": "exact"}
    value, grad = with_gradient(lambda z: local_terms(z, graph, **options).positive, z)
    same, other = with_gradient(lambda z: local_terms(z, graph, weight_gradient=True, **options).positive, z)
    assert torch.equal(value, same)
    assert not torch.allclose(grad, other)


@settings(max_examples=25, deadline=None)
@given(_graphs(), st.integers(0, 99), st.floats(1e-8, 1e8))
def test_scale_of_embeddings_does_not_matter(edges: Edges, seed: int, factor: float) -> None:
    graph = linked(edges[0], *edges[1])
    z = random_rows(graph.num_nodes, 3, seed)
    factors = 1 + torch.arange(graph.num_nodes, dtype=torch.float64)[:, None]
    scaled = local_contrastive(factor * factors * z, graph, negatives="exact")
    torch.testing.assert_close(scaled, local_contrastive(z, graph, negatives="exact"), rtol=1e-10, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(_graphs(), st.permutations(range(7)))
def test_names_of_nodes_do_not_matter(edges: Edges, names: list[int]) -> None:
    """Renumbering nodes leaves the loss alone and renumbers the gradient."""
    graph = linked(edges[0], *edges[1])
    order = torch.tensor([name for name in names if name < graph.num_nodes])
    position = torch.argsort(order)  # new node k is old node order[k]
    renamed = graph.with_edges(position[graph.rows], position[graph.indices])
    z = random_rows(graph.num_nodes, 3)
    for negatives in ("exact", StructuredOrthogonal(64, fixed_seed=0)):
        options: dict[str, Any] = {"temperature": 5.0, "negatives": negatives}

        def loss(z: Tensor, graph: Graph, options: dict[str, Any] = options) -> Tensor:
            terms = local_terms(z, graph, **options)  # so few features may clamp, which is not the matter here
            return terms.positive + terms.negative

        value, grad = with_gradient(lambda z: loss(z, graph), z)
        renamed_value, renamed_grad = with_gradient(lambda z: loss(z, renamed), z[order])
        torch.testing.assert_close(renamed_value, value, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(renamed_grad, grad[order], rtol=1e-8, atol=1e-8)


# M25: rows without direction


@pytest.mark.parametrize("positives", ["mean", "max", "weighted"])
@pytest.mark.parametrize("negatives", ["exact", "rff"])
def test_rows_of_zeros_leave_both_terms(negatives: Any, positives: Any) -> None:
    graph, tau = linked(5, (0, 1), (0, 2), (1, 0), (2, 0), (3, 1), (1, 3), (4, 0)), 1.0
    z = random_rows(5, 3)
    z[1] = 0  # node 3 has no living neighbour left
    options: dict[str, Any] = {"temperature": tau, "positives": positives, "negatives": negatives, "num_features": 500}
    value, grad = with_gradient(lambda z: local_contrastive(z, graph, generator=seeded(0), **options), z)
    draw = RandomFourier(500).draw(3, tau, generator=seeded(0), dtype=torch.float64)
    negative = kernel_reference(draw, tau) if negatives == "rff" else None
    expected, expected_grad = with_gradient(lambda z: reference.local_loss(z, graph, tau, positives, negative=negative), z)
    torch.testing.assert_close(value, expected, **CLOSE)
    torch.testing.assert_close(grad, expected_grad, **CLOSE)
    assert (grad[1] == 0).all()
    terms = local_terms(z, graph, **options)
    assert float(terms.dead) == pytest.approx(1 / 5)


@pytest.mark.parametrize("negatives", ["exact", "sorf"])
def test_all_rows_zero(negatives: Any) -> None:
    value, grad = with_gradient(lambda z: local_contrastive(z, ring(4), negatives=negatives, num_features=8), torch.zeros(4, 3))
    assert float(value) == 0
    assert (grad == 0).all()


def test_rows_too_small_to_have_a_direction() -> None:
    """In float32 squares below 1e-38 underflow: such rows count as zero, others of any size as themselves."""
    z = random_rows(4, 3, dtype=torch.float32)
    z[0] *= 1e-30
    z[1] *= 1e-10
    z[2] *= 1e10
    terms = local_terms(z, ring(4), negatives="exact")
    assert float(terms.dead) == pytest.approx(1 / 4)
    value, grad = with_gradient(lambda z: local_contrastive(z, ring(4), negatives="exact"), z)
    assert value.isfinite()
    assert grad.isfinite().all()
    assert (grad[0] == 0).all()


@pytest.mark.parametrize("negatives", ["exact", "sorf"])
def test_nan_is_not_taken_for_zero(negatives: Any) -> None:
    """A diverged encoder must show: hiding its rows like rows of zeros would train on silently."""
    z = random_rows(4, 3)
    z[1, 2] = math.nan
    terms = local_terms(z, ring(4), negatives=negatives, num_features=64)
    assert terms.positive.isnan()
    assert terms.negative.isnan()
    assert float(terms.dead) == 0


# Many machines


class _Ranks:
    """An all-reduce between threads: each call waits until all ranks have given their vector, then all get the sum."""

    def __init__(self, count: int) -> None:
        self.barrier, self.vectors, self.sizes = threading.Barrier(count, timeout=30), [torch.empty(0)] * count, set[int]()

    def reduce(self, rank: int) -> Callable[[Tensor], Tensor]:
        def reduce(vector: Tensor) -> Tensor:
            self.vectors[rank] = vector
            self.sizes.add(vector.numel())
            self.barrier.wait()
            total = torch.stack(self.vectors).sum(0)
            self.barrier.wait()  # nobody overwrites before everybody has read
            return total

        return reduce


@pytest.mark.parametrize("kind", MAPS.values())
def test_two_ranks_equal_one_machine(kind: type[FeatureMap]) -> None:
    """Each rank holds half of the nodes and one message of width + 2 numbers forward, of width backward."""
    first, second = messy_graph(12, 30, seed=0), messy_graph(9, 20, seed=1)
    whole = Graph.from_edges(
        torch.cat([first.rows, second.rows + 12]), torch.cat([first.indices, second.indices + 12]), x=torch.zeros(21, 1)
    )
    z, tau, maker = random_rows(21, 6), 0.8, kind(50, fixed_seed=1)
    z[4] = 0

    def loss(z: Tensor, graph: Graph, reduce: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        terms = local_terms(z, graph, temperature=tau, negatives=maker, reduce=reduce)
        return terms.positive + terms.negative

    expected, expected_grad = with_gradient(lambda z: loss(z, whole), z)
    ranks, results = _Ranks(2), dict[int, tuple[Tensor, Tensor]]()

    def work(rank: int, graph: Graph, part: Tensor) -> None:
        results[rank] = with_gradient(lambda z: loss(z, graph, ranks.reduce(rank)), part)

    threads = [
        threading.Thread(target=work, args=(0, first, z[:12])),
        threading.Thread(target=work, args=(1, second, z[12:])),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.testing.assert_close(results[0][0] + results[1][0], expected, **CLOSE)
    torch.testing.assert_close(torch.cat([results[0][1], results[1][1]]), expected_grad, **CLOSE)
    width = maker.draw(6, tau).width
    assert ranks.sizes == {width, width + 2}


# What "auto" stands for


def test_choice_of_negatives() -> None:
    assert choose_negatives(500, 512, 4096, 0.5) == "exact"
    assert choose_negatives(100_000, 512, 4096, 0.5) == "sorf"
    assert choose_negatives(100_000, 64, 4096, 0.5) == "sorf"
    assert choose_negatives(100_000, 63, 4096, 0.5) == "sorf"
    # Too few features to be trusted at this temperature: exact as long as that can be paid for.
    assert choose_negatives(20_000, 512, 4096, 0.1) == "exact"
    assert choose_negatives(100_000, 512, 4096, 0.1) == "sorf"
    assert choose_negatives(100_000, 512, 4096, 1e-9) == "sorf"
    # Exact sums need all embeddings in one place.
    assert choose_negatives(500, 512, 4096, 0.5, distributed=True) == "sorf"


def test_auto_follows_the_choice() -> None:
    z = random_rows(40, 8)
    assert torch.equal(local_contrastive(z, ring(40)), local_contrastive(z, ring(40), negatives="exact"))
    z, graph = random_rows(3000, 8), ring(3000)
    options: dict[str, Any] = {"temperature": 4.0, "num_features": 32}
    auto = local_contrastive(z, graph, generator=seeded(0), **options)
    assert torch.equal(auto, local_contrastive(z, graph, negatives="sorf", generator=seeded(0), **options))


# Wrong input


@pytest.mark.parametrize("rows", [3, 5])
def test_one_embedding_per_node(rows: int) -> None:
    with pytest.raises(ValueError, match=rf"{rows} embeddings for 4 nodes"):
        local_contrastive(torch.ones(rows, 2), ring(4))


@pytest.mark.parametrize("temperature", [0.0, -0.5, math.nan, math.inf])
@pytest.mark.parametrize("negatives", ["auto", "exact", "sorf"])
def test_temperature_must_be_positive(negatives: Any, temperature: float) -> None:
    with pytest.raises(ValueError, match=rf"temperature is {temperature}; it must be above 0"):
        local_contrastive(torch.ones(4, 2), ring(4), temperature=temperature, negatives=negatives)


@pytest.mark.usefixtures("unchecked")
def test_unknown_names() -> None:
    with pytest.raises(ValueError, match=r"negatives is 'exat'; did you mean 'exact'\?"):
        local_contrastive(torch.ones(4, 2), ring(4), negatives="exat")
    with pytest.raises(ValueError, match=r"positives is 'median'; choose 'mean', 'max' or 'weighted'"):
        local_contrastive(torch.ones(4, 2), ring(4), positives="median")  # type: ignore[arg-type]  # that is the test


def test_no_features() -> None:
    with pytest.raises(ValueError, match="num_features is 0"):
        local_contrastive(torch.ones(4, 2), ring(4), negatives="rff", num_features=0)


def test_exact_negatives_cannot_be_spread_over_machines() -> None:
    with pytest.raises(ValueError, match="exact negatives need all embeddings on one machine"):
        local_contrastive(torch.ones(4, 2), ring(4), negatives="exact", reduce=lambda vector: vector)
