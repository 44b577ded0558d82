"""Every way to give the edges gives one loss and one gradient."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

import localgcl as lg
from localgcl.graph.csr import CSR
from localgcl.io.libraries import neighbourhoods
from localgcl.losses import local_contrastive, local_terms

GRAPH = lg.sbm(40, classes=2, features=4, mean_degree=4, seed=0)
ENDS = torch.stack([GRAPH.rows, GRAPH.indices])
MIXED = ENDS[:, torch.randperm(ENDS.shape[1], generator=torch.Generator().manual_seed(0))]


def network() -> Any:
    graph: Any = nx.DiGraph()
    graph.add_nodes_from(range(40))
    graph.add_edges_from(ENDS.T.tolist())
    return graph


FORMS: dict[str, Any] = {
    "CSR": GRAPH.csr,
    "edge_index": ENDS,
    "edge_index in another order": MIXED,
    "edge_index of int32": ENDS.int(),
    "array": ENDS.numpy(),
    "list": ENDS.tolist(),
    "scipy": GRAPH.to_scipy(),
    "scipy coo": sp.coo_array(GRAPH.to_scipy()),
    "torch sparse": torch.sparse_coo_tensor(ENDS, torch.ones(ENDS.shape[1]), (40, 40)),
    "Data": Data(edge_index=ENDS, num_nodes=40),
    "Data with features": lg.to_pyg(GRAPH),
    "networkx": network(),
}


def value_and_gradient(edges: Any) -> tuple[float, torch.Tensor]:
    z = torch.randn(40, 6, generator=torch.Generator().manual_seed(1)).requires_grad_()
    loss = local_contrastive(z, edges, temperature=0.5, negatives="exact")
    loss.backward()
    assert z.grad is not None
    return float(loss.detach()), z.grad


@pytest.mark.parametrize("form", FORMS)
def test_one_loss_whatever_holds_the_edges(form: str) -> None:
    expected, gradient = value_and_gradient(GRAPH)
    value, found = value_and_gradient(FORMS[form])
    assert value == expected
    assert torch.equal(found, gradient)


def test_weights_are_kept() -> None:
    weights = torch.rand(ENDS.shape[1], generator=torch.Generator().manual_seed(2)) + 0.5
    weighted = lg.Graph.from_edges(*ENDS, x=GRAPH.x, weights=weights)
    expected, _ = value_and_gradient(weighted)
    assert expected != value_and_gradient(GRAPH)[0]
    for form in (Data(edge_index=ENDS, edge_weight=weights, num_nodes=40), weighted.to_scipy()):
        assert value_and_gradient(form)[0] == expected


def test_isolated_nodes_at_the_end_have_rows() -> None:
    rows = neighbourhoods(torch.tensor([[0, 1], [1, 0]]), 4)
    assert isinstance(rows, CSR)
    assert rows.indptr.tolist() == [0, 1, 2, 2, 2]
    assert local_terms(torch.randn(4, 2), torch.tensor([[0, 1], [1, 0]])).positive.isfinite()


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (torch.tensor([[0, 5], [1, 0]]), "5"),
        (torch.tensor([[0, -1], [1, 0]]), "-1"),
        (torch.tensor([[0, 1], [1, 0], [2, 2]]), r"edges have shape \(3, 2\); an edge_index has shape \(2, m\): transpose it"),
        (sp.eye_array(3), "4 embeddings for 3 nodes; give one row per node"),
        (Data(edge_index=ENDS, num_nodes=40), "4 embeddings for 40 nodes"),
    ],
    ids=["too large", "negative", "shape", "matrix", "Data"],
)
def test_edges_that_do_not_fit(edges: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        local_contrastive(torch.randn(4, 2), edges)


def test_what_is_no_graph() -> None:
    with pytest.raises(TypeError, match=r"cannot make a graph of builtins\.dict; give localgcl\.Graph, a torch_geometric Data"):
        local_contrastive(torch.randn(4, 2), {"edges": []})


def test_a_conversion_before_the_loop_is_the_same() -> None:
    rows = neighbourhoods(ENDS, 40)
    assert neighbourhoods(rows, 40) is rows
    assert neighbourhoods(GRAPH, 40) is GRAPH
    assert value_and_gradient(rows)[0] == value_and_gradient(ENDS)[0]
    np.testing.assert_array_equal(rows.indices.numpy(), GRAPH.indices.numpy())
