"""The hops encoder: channels over averaged features."""

import dataclasses
from typing import Any
from unittest.mock import Mock, patch

import pytest
import torch
from torch import Tensor

from localgcl.config import EncoderOptions
from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.nn import hops as module
from localgcl.nn.encoders import GCN, build_encoder
from localgcl.nn.hops import Hops, channel_widths, parse_channel
from localgcl.nn.layers import Inputs, average_once
from localgcl.ops import SparseMatrix
from localgcl.ops.propagation import propagation

DENSE = sbm(60, mean_degree=5, features=12, seed=1).symmetrized()


def options(**changes: Any) -> EncoderOptions:
    return EncoderOptions(**{"encoder": "hops", "layers": 1, "dim": 20, **changes})


def sparse_graph() -> Graph:
    """Bags of words: 5% of the entries are 1."""
    words = (torch.rand(60, 200, generator=torch.Generator().manual_seed(3)) < 0.04).float()
    return DENSE.with_features(words.to_sparse_csr())


def encoder(graph: Graph, **changes: Any) -> Hops:
    torch.manual_seed(0)
    found = build_encoder(graph.num_features, options(**changes))
    assert isinstance(found, Hops)
    return found


def order(graph: Graph, hops: Hops, monkeypatch: pytest.MonkeyPatch, *, stored: bool) -> Inputs:
    monkeypatch.setattr(module, "_storing_pays", lambda *_: stored)
    inputs = hops.inputs(graph)
    assert all((hop.matrix is None) == (stored or name == "X") for hop, name in zip(inputs.hops, hops.names, strict=True))
    return inputs


def unit(z: Tensor) -> Tensor:
    return torch.nn.functional.normalize(z, dim=1)


def assert_same_gradients(ours: Tensor, theirs: Tensor, one: torch.nn.Module, other: torch.nn.Module) -> None:
    weights = torch.randn(ours.shape, generator=torch.Generator().manual_seed(1))
    (ours * weights).sum().backward()
    (theirs * weights).sum().backward()
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


def test_channel_sx_is_a_gcn_of_one_layer() -> None:
    hops = encoder(DENSE, dim=8, channels=("SX",))
    gcn = GCN(DENSE.num_features, options(encoder="gcn", dim=8))
    gcn.load_state_dict(hops.channels[0].state_dict())
    (ours,) = hops.parts(hops.inputs(DENSE))
    theirs = gcn(gcn.inputs(DENSE))
    torch.testing.assert_close(ours, theirs)
    assert_same_gradients(ours, theirs, hops.channels[0], gcn)


def weighted(graph: Graph) -> Graph:
    draws = torch.rand(graph.num_edges, generator=torch.Generator().manual_seed(4))
    return graph.with_edges(graph.rows, graph.indices, 3 * draws + 0.01).symmetrized()


GRAPHS = [DENSE, sparse_graph(), weighted(DENSE), weighted(sparse_graph())]


@pytest.mark.parametrize("graph", GRAPHS, ids=["dense", "sparse", "weighted", "weighted sparse"])
@pytest.mark.parametrize("layers", [1, 2])
def test_both_orders_of_work_agree(graph: Graph, layers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """To rounding in single precision. Dropout leaves out columns, so it commutes too."""
    results = []
    for stored in (True, False):
        hops = encoder(graph, layers=layers, dropout=0.3, hidden=7)
        inputs = order(graph, hops, monkeypatch, stored=stored)
        z = torch.cat(hops.parts(inputs, torch.Generator().manual_seed(5)), dim=1)
        weights = torch.randn(z.shape, generator=torch.Generator().manual_seed(1))
        (z * weights).sum().backward()
        results.append((z, [parameter.grad for parameter in hops.parameters()]))
    (first, gradients), (second, others) = results
    torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-5)
    for a, b in zip(gradients, others, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_channels_are_powers_of_the_averaging_matrices() -> None:
    names = ("X", "SX", "S2X", "BX", "B3X")
    hops = encoder(DENSE, dim=25, channels=names)
    with_loops, without = (propagation(DENSE, loops).csr.to_dense() for loops in (1.0, 0.0))
    x = DENSE.x
    rows = [x, with_loops @ x, with_loops @ with_loops @ x, without @ x, without @ without @ without @ x]
    for channel, expected, z in zip(hops.channels, rows, hops.parts(hops.inputs(DENSE)), strict=True):
        layer = channel.weights[0]  # type: ignore[index]
        assert isinstance(layer, torch.nn.Linear)
        torch.testing.assert_close(z, torch.nn.functional.linear(expected, layer.weight, layer.bias), rtol=1e-4, atol=1e-5)


def test_the_embedding_has_unit_rows_side_by_side() -> None:
    hops = encoder(DENSE)
    inputs = hops.inputs(DENSE)
    torch.testing.assert_close(hops(inputs), torch.cat([unit(part) for part in hops.parts(inputs)], dim=1))


def test_sparse_features_equal_dense_ones() -> None:
    sparse = sparse_graph()
    dense = sparse.with_features(sparse.x.to_dense())
    hops = encoder(sparse)
    torch.testing.assert_close(hops(hops.inputs(sparse)), hops(hops.inputs(dense)), rtol=1e-4, atol=1e-5)


def test_permuted_nodes_have_permuted_rows() -> None:
    hops = encoder(DENSE)
    order = torch.randperm(DENSE.num_nodes, generator=torch.Generator().manual_seed(2))
    moved = DENSE.subgraph(order)
    torch.testing.assert_close(hops(hops.inputs(moved)), hops(hops.inputs(DENSE))[order], rtol=1e-4, atol=1e-5)


def test_isolated_nodes_are_finite_and_rows_of_zeros_stay_zero() -> None:
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    x[3:] = 0
    # Node 3 has no features but a neighbour, node 4 neither; node 2 has features and no neighbour.
    graph = Graph.from_edges([0, 0], [1, 3], x=x).symmetrized()
    hops = encoder(graph, dim=20)
    for channel in hops.channels:
        torch.nn.init.ones_(channel.weights[0].bias)  # type: ignore[index, union-attr]
    z = hops(hops.inputs(graph))
    assert bool(z.isfinite().all())
    parts = dict(zip(hops.names, z.split(4, dim=1), strict=True))
    assert not parts["X"][3].any()
    assert parts["BX"][3].any()
    assert not parts["BX"][2].any()
    assert not z[4].any()


def test_a_batch_reads_the_rows_of_its_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = torch.tensor([7, 3, 59, 0])
    for graph in (DENSE, sparse_graph()):
        hops = encoder(graph)
        for stored in (True, False):
            inputs = order(graph, hops, monkeypatch, stored=stored)
            torch.testing.assert_close(hops(hops.take(inputs, rows)), hops(inputs)[rows], rtol=1e-4, atol=1e-5)


def test_principal_components_keep_the_variance() -> None:
    hops = encoder(DENSE, pca=6)
    inputs = hops.inputs(DENSE)
    hops.refresh_statistics(inputs)
    hops.train()
    wide = hops(inputs)
    hops.eval()
    short = hops(inputs)
    assert short.shape == (60, 6)
    values = torch.linalg.svdvals(wide - wide.mean(dim=0))
    torch.testing.assert_close(torch.linalg.svdvals(short), values[:6], rtol=1e-4, atol=1e-5)
    again = encoder(DENSE, pca=6)
    again.load_state_dict(hops.state_dict())
    torch.testing.assert_close(again.eval()(inputs), short)


@pytest.mark.parametrize(
    ("dim", "inputs", "layers", "expected"), [(22, 100, 1, [5, 5, 4, 4, 4]), (50, 7, 1, [7] * 5), (50, 7, 2, [10] * 5)]
)
def test_dim_is_shared_out_and_a_linear_channel_is_not_wider_than_its_input(
    dim: int, inputs: int, layers: int, expected: list[int]
) -> None:
    assert channel_widths(inputs, options(dim=dim, layers=layers)) == expected


def test_wrong_channels_are_refused() -> None:
    assert parse_channel("B3X") == ("B", 3)
    for name in ("", "Y", "XS", "S1X", "S10X", "SBX", "x"):
        with pytest.raises(ValueError, match="give X, SX or BX"):
            parse_channel(name)
    with pytest.raises(ValueError, match="5 channels share dim 4"):
        channel_widths(10, options(dim=4))
    with pytest.raises(ValueError, match="0 channels"):
        channel_widths(10, options(channels=()))


def test_storing_pays_where_rows_stay_sparse_or_the_graph_is_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = propagation(DENSE, 1.0)
    assert module._storing_pays(matrix, DENSE.x, 2)
    monkeypatch.setattr(module, "STORED_BYTES", 4 * DENSE.x.numel() - 1)
    assert not module._storing_pays(matrix, DENSE.x, 2)
    # 20 words of 100,000 in a row: averaged twice over 10 neighbours, a row has some 2,000, and mapping first is cheaper.
    wide = torch.sparse_csr_tensor(torch.arange(0, 1201, 20), torch.arange(1200) * 83, torch.ones(1200), size=(60, 100_000))
    monkeypatch.setattr(module, "STORED_BYTES", 2**40)
    assert not module._storing_pays(matrix, wide, 2)


def test_options_of_channels_are_those_of_their_layers() -> None:
    hops = encoder(DENSE, layers=2, batch_norm=True, hidden=9)
    assert [channel.weights[0].out_features for channel in hops.channels] == [9] * 5  # type: ignore[index, union-attr]
    assert all(channel.norms is not None for channel in hops.channels)
    assert dataclasses.replace(options(), channels=["X", "SX"]).channels == ("X", "SX")  # type: ignore[arg-type]  # as TOML has it


def test_fourier_columns_widen_what_the_channels_read() -> None:
    hops = encoder(DENSE, fourier=30, dim=100)
    assert [part.shape[1] for part in hops.parts(hops.inputs(DENSE))] == [20] * 5  # 12 without it
    again = encoder(DENSE, fourier=30, dim=100)
    torch.manual_seed(5)
    other = build_encoder(DENSE.num_features, options(fourier=30, dim=100))
    other.load_state_dict(again.state_dict())
    torch.testing.assert_close(other(other.inputs(DENSE)), hops(hops.inputs(DENSE)), rtol=0, atol=0)


def test_fourier_columns_of_sparse_features_are_refused() -> None:
    graph = sparse_graph()
    with pytest.raises(ValueError, match="fourier is 30, but the features are sparse"):
        encoder(graph, fourier=30).inputs(graph)


def test_channels_read_a_projection_of_sparse_features() -> None:
    graph = sparse_graph()
    hops = encoder(graph, projected=24, dim=200)
    assert [part.shape[1] for part in hops.parts(hops.inputs(graph))] == [24] * 5  # a linear channel is no wider than it reads
    assert hops.narrow is not None
    narrow = graph.with_features(hops.narrow(graph.x))
    plain = encoder(narrow, dim=200)
    plain.load_state_dict({name: part for name, part in hops.state_dict().items() if "narrow" not in name})
    torch.testing.assert_close(hops(hops.inputs(graph)), plain(plain.inputs(narrow)))


def test_a_table_is_not_widened_and_narrowed_at_once() -> None:
    with pytest.raises(ValueError, match="fourier is 8 and projected is 9"):
        encoder(DENSE, fourier=8, projected=9)


@pytest.mark.parametrize("name", ["fourier", "projected", "pca"])
def test_options_of_hops_are_refused_for_other_encoders(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is 8, but encoder is gcn; only hops has it"):
        build_encoder(12, options(encoder="gcn", **{name: 8}))


def test_channel_g2x_is_a_gcn_of_two_layers() -> None:
    settings = {"dim": 8, "hidden": 16, "activation": "prelu", "self_loops": 2.0}
    hops = encoder(DENSE, channels=("G2X",), **settings)
    gcn = GCN(DENSE.num_features, options(encoder="gcn", **settings | {"layers": 2}))
    gcn.load_state_dict(hops.channels[0].state_dict())
    (ours,), theirs = hops.parts(hops.inputs(DENSE)), gcn(gcn.inputs(DENSE))
    torch.testing.assert_close(ours, theirs)
    assert_same_gradients(ours, theirs, hops.channels[0], gcn)


def test_a_gcn_channel_gives_a_batch_its_rows_and_leaves_empty_ones_zero() -> None:
    lonely = Graph.from_edges([0, 1], [1, 0], x=torch.tensor([[1.0, 2], [3, 4], [0, 0]]))
    hops = encoder(lonely, channels=("G2X", "X"), dim=6)
    with torch.no_grad():
        for parameter in hops.parameters():
            parameter.add_(0.5)  # biases too
        whole = hops(hops.inputs(lonely))
        rows = torch.tensor([2, 0])
        torch.testing.assert_close(hops(hops.take(hops.inputs(lonely), rows)), whole[rows])
    assert not whole[2].any()
    assert whole[:2].all()


def test_a_gcn_channel_may_be_wider_than_its_input() -> None:
    assert channel_widths(3, options(channels=("X", "G2X", "GX"), dim=30)) == [3, 10, 3]


def test_layer_norm_comes_after_each_activation() -> None:
    mlp = build_encoder(12, options(encoder="mlp", layers=2, layer_norm=True, activate_last=True))
    z = mlp(mlp.inputs(DENSE))
    # Weights of the norms start at 1 and biases at 0; the norm's epsilon of 1e-5 keeps deviations a little below 1.
    torch.testing.assert_close(z.mean(dim=1), torch.zeros(60), rtol=0, atol=1e-5)
    torch.testing.assert_close(z.std(dim=1, correction=0), torch.ones(60), rtol=0, atol=1e-2)


@pytest.mark.parametrize("graph", [DENSE, sparse_graph()], ids=["dense", "sparse"])
def test_a_stored_power_starts_from_the_one_below(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("S4X", "B2X", "X", "S2X", "S2X")
    alone = [order(graph, encoder(graph, channels=(name,)), monkeypatch, stored=True).hops[0] for name in names]
    steps = Mock(wraps=average_once)
    monkeypatch.setattr(module, "average_once", steps)
    together = order(graph, encoder(graph, channels=names), monkeypatch, stored=True).hops
    assert steps.call_count == 4 + 2
    for one, other in zip(together, alone, strict=True):
        assert torch.equal(_dense(one.first), _dense(other.first))
        assert torch.equal(one.present, other.present)


def _dense(first: Tensor | SparseMatrix) -> Tensor:
    return first.csr.to_dense() if isinstance(first, SparseMatrix) else first


def test_after_batches_hops_are_computed_again_only_for_statistics() -> None:
    with patch.object(Hops, "inputs", autospec=True, side_effect=Hops.inputs) as computed:
        encoder(DENSE).refresh_rows(DENSE)
        assert computed.call_count == 0
        encoder(DENSE, layers=2, batch_norm=True).refresh_rows(DENSE)
        encoder(DENSE, pca=4).refresh_rows(DENSE)
        assert computed.call_count == 2
