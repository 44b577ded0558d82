"""Second derivatives are refused: our backward passes are not differentiable, and a silent answer would be wrong."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from localgcl.losses import local_contrastive, unit_rows
from localgcl.ops import SparseMatrix, edge_dot, segment_logsumexp, segment_max, spmm
from localgcl.ops.negatives import exact_log_sums
from tests.references.graphs import messy_graph, random_rows

GRAPH = messy_graph()
ALIVE = torch.ones(GRAPH.num_nodes, dtype=torch.bool)
MATRIX = SparseMatrix(torch.eye(GRAPH.num_nodes, dtype=torch.float64).to_sparse_csr())


def loss(**options: Any) -> Callable[[Tensor], Tensor]:
    return lambda z: local_contrastive(z, GRAPH, generator=torch.Generator().manual_seed(0), **options)


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "edge_dot": lambda z: edge_dot(z, GRAPH.csr).square().sum(),
    "segment_logsumexp": lambda z: segment_logsumexp(z[GRAPH.rows, 0], GRAPH.csr)[GRAPH.degree > 0].square().sum(),
    "segment_max": lambda z: segment_max(z[GRAPH.rows, 0], GRAPH.csr)[GRAPH.degree > 0].square().sum(),
    "spmm": lambda z: spmm(MATRIX, z).square().sum(),
    "unit_rows": lambda z: unit_rows(z)[0].square().sum(),
    "exact_log_sums": lambda z: exact_log_sums(z, ALIVE, 0.5).square().sum(),
    "loss, exact": loss(negatives="exact"),
    "loss, rff": loss(negatives="rff", num_features=64),
}


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_they_raise(name: str) -> None:
    z = random_rows(GRAPH.num_nodes, 4).requires_grad_()
    # The second summand alone would give an answer: of the whole it would be wrong.
    value = FUNCTIONS[name](z) + z.square().sum()
    with pytest.raises(RuntimeError, match="have no second derivatives; leave out create_graph=True"):
        torch.autograd.grad(value, z, create_graph=True)


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_first_derivatives_may_be_asked_for_twice(name: str) -> None:
    z = random_rows(GRAPH.num_nodes, 4).requires_grad_()
    value = FUNCTIONS[name](z)
    first, again = (torch.autograd.grad(value, z, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, again)
