import pytest
import torch

from localgcl.graph import Graph
from localgcl.ops import edge_dot, edges
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
