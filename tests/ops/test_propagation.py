import pytest
import torch

from localgcl.ops.propagation import propagation
from tests.references.graphs import messy_graph


@pytest.mark.parametrize("self_loops", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("symmetrise", [False, True])
def test_row_normalisation_is_the_mean_over_incoming_edges(self_loops: float, symmetrise: bool) -> None:
    graph = messy_graph().symmetrized() if symmetrise else messy_graph()
    a = torch.from_numpy(graph.to_scipy().toarray()).T.clone()
    if self_loops > 0:
        a.fill_diagonal_(self_loops)
    expected = a / a.sum(1, keepdim=True).clamp(min=1e-9)
    matrix = propagation(graph, self_loops, "row")
    torch.testing.assert_close(matrix.csr.to_dense(), expected)
    torch.testing.assert_close(matrix.transposed.csr.to_dense(), expected.T)
