import math
from typing import Any

import pytest
import torch
from torch import Tensor

from localgcl.graph import Graph
from localgcl.ops import edge_dot, edges, segment_logsumexp, segment_max, segment_sum
from tests.references.graphs import messy_graph, random_rows

GRAPHS = {
    "directed, loops, parallel": messy_graph(),
    "symmetric": messy_graph(seed=1).symmetrized(),
    "all edges parallel": Graph.from_edges([0] * 5, [1] * 5, x=torch.zeros(3, 1)),
    "only loops": Graph.from_edges([0, 2, 2], [0, 2, 2], x=torch.zeros(3, 1)),
    "no edges": Graph.from_edges([], [], x=torch.zeros(3, 1)),
}


@pytest.mark.parametrize("chunk", [1, 20, 2**24])
@pytest.mark.parametrize("name", GRAPHS)
def test_value_and_gradient_equal_dense(name: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edges, "_CHUNK", chunk)
    graph = GRAPHS[name]
    z = random_rows(graph.num_nodes, 5).requires_grad_()
    upstream = random_rows(graph.num_edges, 1, seed=3)[:, 0]
    out, dense = edge_dot(z, graph.csr), (z @ z.T)[graph.rows, graph.indices]
    # The same products in another order, in float64.
    torch.testing.assert_close(out, dense, rtol=1e-12, atol=1e-12)
    (grad,), (expected,) = torch.autograd.grad(out, z, upstream), torch.autograd.grad(dense, z, upstream)
    torch.testing.assert_close(grad, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", GRAPHS)
def test_gradcheck(name: str) -> None:
    graph = GRAPHS[name]
    assert torch.autograd.gradcheck(lambda z: edge_dot(z, graph.csr), random_rows(graph.num_nodes, 3).requires_grad_())


def test_expanded_gradient_and_strided_embeddings() -> None:
    """What sum() sends back is one number expanded, and a transposed z is not contiguous: sparse kernels must cope."""
    graph = GRAPHS["directed, loops, parallel"]
    z = random_rows(4, graph.num_nodes).T.requires_grad_()
    (grad,) = torch.autograd.grad(edge_dot(z, graph.csr).sum(), z)
    (expected,) = torch.autograd.grad((z @ z.T)[graph.rows, graph.indices].sum(), z)
    torch.testing.assert_close(grad, expected, rtol=1e-12, atol=1e-12)


def test_single_precision() -> None:
    graph = GRAPHS["symmetric"]
    z = random_rows(graph.num_nodes, 64)
    # 64 products of numbers near 1 in float32: about 64 * 6e-8 of the largest value.
    torch.testing.assert_close(edge_dot(z.float(), graph.csr).double(), edge_dot(z, graph.csr), rtol=1e-5, atol=1e-5)


INF = math.inf


def _rows(values: Tensor, graph: Graph) -> list[Tensor]:
    return list(values.split(graph.degree.tolist()))


def _graph(*degrees: int) -> Graph:
    """Node i has degrees[i] edges, to anywhere."""
    source = [i for i, degree in enumerate(degrees) for _ in range(degree)]
    return Graph.from_edges(source, [0] * len(source), x=torch.zeros(len(degrees), 1))


ROWS = {"messy": messy_graph(), "empty first and last": _graph(0, 3, 0, 0, 1, 2, 0), "no edges": _graph(0, 0)}


@pytest.mark.parametrize("name", ROWS)
def test_values_row_by_row(name: str) -> None:
    graph = ROWS[name]
    values = random_rows(graph.num_edges, 1)[:, 0]
    rows = _rows(values, graph)
    # float64, a handful of terms a row.
    close: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-12}
    expected = torch.stack([row.sum() for row in rows])
    torch.testing.assert_close(segment_sum(values, graph.csr), expected, **close)
    expected = torch.stack([row.logsumexp(0) if len(row) else torch.tensor(-INF).double() for row in rows])
    torch.testing.assert_close(segment_logsumexp(values, graph.csr), expected, **close)
    expected = torch.stack([row.max() if len(row) else torch.tensor(-INF).double() for row in rows])
    assert torch.equal(segment_max(values, graph.csr), expected)


@pytest.mark.parametrize("name", ROWS)
def test_gradcheck_of_reductions(name: str) -> None:
    graph = ROWS[name]
    has_edges = graph.degree > 0
    values = random_rows(graph.num_edges, 1)[:, 0].requires_grad_()
    for reduction in (segment_logsumexp, segment_max):
        assert torch.autograd.gradcheck(lambda v, f=reduction: f(v, graph.csr)[has_edges], values)


def test_masked_entries() -> None:
    """Entries of -inf count for nothing and get no gradient, also where a whole row is masked."""
    graph = _graph(3, 2, 0, 1)
    values = torch.tensor([0.5, -INF, 1.5, -INF, -INF, 2.0], dtype=torch.float64, requires_grad=True)
    out = segment_logsumexp(values, graph.csr)
    expected = torch.tensor([math.log(math.exp(0.5) + math.exp(1.5)), -INF, -INF, 2.0], dtype=torch.float64)
    torch.testing.assert_close(out, expected, rtol=1e-14, atol=0)
    (grad,) = torch.autograd.grad(out, values, torch.tensor([2.0, 1.0, 1.0, 3.0], dtype=torch.float64))
    share = 1 / (1 + math.exp(-1))
    expected = torch.tensor([2 * (1 - share), 0, 2 * share, 0, 0, 3], dtype=torch.float64)
    torch.testing.assert_close(grad, expected, rtol=1e-12, atol=1e-14)
    assert segment_max(values, graph.csr).tolist() == [1.5, -INF, -INF, 2.0]


def test_logsumexp_does_not_overflow() -> None:
    values = torch.tensor([1000.0, 1000.0, -1000.0, -1000.0])
    out = segment_logsumexp(values, _graph(2, 2).csr)
    # float32 keeps 1000 to 6e-5.
    torch.testing.assert_close(out, torch.tensor([1000.0, -1000.0]) + math.log(2), rtol=0, atol=1e-4)


def test_ties_go_to_the_first() -> None:
    values = torch.tensor([1.0, 3.0, 3.0, 3.0, 2.0, 2.0], requires_grad=True)
    out = segment_max(values, _graph(4, 0, 2).csr)
    assert out.tolist() == [3.0, -INF, 2.0]
    (grad,) = torch.autograd.grad(out, values, torch.tensor([5.0, 7.0, 11.0]))
    assert grad.tolist() == [0, 5, 0, 0, 11, 0]


def test_gradient_of_a_sum() -> None:
    graph = ROWS["messy"]
    values = random_rows(graph.num_edges, 1)[:, 0].requires_grad_()
    has_edges = graph.degree > 0
    (grad,) = torch.autograd.grad(segment_logsumexp(values, graph.csr)[has_edges].sum(), values)
    expected = torch.cat([row.softmax(0) for row in _rows(values.detach(), graph)])
    torch.testing.assert_close(grad, expected, rtol=1e-12, atol=1e-12)


def test_sum_is_a_count_without_gradient() -> None:
    values = random_rows(4, 1)[:, 0].requires_grad_()
    assert not segment_sum(values, _graph(4).csr).requires_grad
