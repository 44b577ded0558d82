import copy
import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import to_dense_adj

from localgcl.config import EncoderOptions
from localgcl.graph import Graph
from localgcl.nn.augment import diffuse, drop_edges, mask_features, shuffle_features
from localgcl.nn.encoders import GCN, MLP, Inputs, build_encoder, drop_entries, mlp_head
from localgcl.nn.layers import RReLU
from localgcl.ops import SparseMatrix
from localgcl.ops.propagation import propagation

N, F = 12, 9


def assert_close(first: Tensor, second: Tensor, atol: float = 1e-6, about: str = "") -> None:
    """To float32 rounding: values and gradients here are sums of some tens of products of order 1, in some order."""
    torch.testing.assert_close(first, second, rtol=1e-5, atol=atol, msg=lambda text: f"{about} {text}")


def edges(kind: str) -> Tensor:
    """Edges among the first ten of twelve nodes: the last two are isolated."""
    ends = torch.randint(0, N - 2, (2, 30), generator=torch.Generator().manual_seed(0))
    ends = ends[:, ends[0] != ends[1]]
    if kind == "undirected":
        ends = torch.cat([ends, ends.flip(0)], dim=1).unique(dim=1)
    elif kind == "loops":
        some = torch.tensor([0, 3, 3, N - 1])  # node 3 has two
        ends = torch.cat([ends, torch.stack([some, some])], dim=1)
    elif kind == "parallel":
        ends = torch.cat([ends, ends.flip(0), ends[:, :7], ends[:, :7].flip(0)], dim=1)
    return ends


KINDS = ["undirected", "directed", "loops", "parallel"]


def features(density: float = 0.3) -> Any:
    random = np.random.default_rng(0)
    return (random.normal(size=(N, F)) * (random.random((N, F)) < density)).astype(np.float32)


def graph_of(kind: str, x: Any = None) -> Graph:
    return Graph.from_edges(*edges(kind), x=features() if x is None else x)


def pyg_edges(kind: str, self_loops: float) -> Tensor:
    """What PyG is given: it keeps loops that are there at weight 1, ours replaces them, so at weight 2 they are left out."""
    ends = edges(kind)
    return ends[:, ends[0] != ends[1]] if self_loops == 2 else ends


def loop_options(self_loops: float) -> dict[str, bool]:
    return {"improved": self_loops == 2, "add_self_loops": self_loops > 0}


def encoder_of(kind: type[GCN] | type[MLP] = GCN, seed: int = 0, **options: Any) -> GCN | MLP:
    """An encoder whose biases are not zero, so that leaving one out would show."""
    torch.manual_seed(seed)
    encoder = kind(F, EncoderOptions(**{"dim": 5, **options}))
    for layer in encoder.weights:
        assert isinstance(layer, nn.Linear)
        nn.init.normal_(layer.bias)
    return encoder


def gradients(module: nn.Module, out: Tensor) -> dict[str, Tensor]:
    """Gradients of a loss that treats every entry of the output differently."""
    module.zero_grad()
    weights = torch.linspace(-1, 1, out.numel()).view_as(out)
    (out.sin() * weights).sum().backward()
    return {name: value.grad.clone() for name, value in module.named_parameters() if value.grad is not None}


def assert_same(first: tuple[Tensor, dict[str, Tensor]], second: tuple[Tensor, dict[str, Tensor]]) -> None:
    assert_close(first[0], second[0])
    assert first[1].keys() == second[1].keys()
    normed = any(name.startswith("norms") for name in first[1])
    for name, gradient in first[1].items():
        # A batch norm subtracts the bias before it again: contributions of order 1 cancel, and what is left is their rounding.
        assert_close(gradient, second[1][name], 1e-5 if normed and name.endswith("bias") else 1e-6, name)


# The matrix


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("self_loops", [0.0, 1.0, 2.0])
def test_propagation_agrees_with_pyg(kind: str, self_loops: float) -> None:
    ends = pyg_edges(kind, self_loops)
    index, weight = gcn_norm(ends, torch.ones(ends.shape[1]), N, **loop_options(self_loops))
    expected = to_dense_adj(index, edge_attr=weight, max_num_nodes=N)[0].T  # row i: the edges that point to i
    matrix = propagation(graph_of(kind), self_loops)
    # Each entry is a product of three numbers and, for parallel edges, a sum of a few: some float32 roundings.
    torch.testing.assert_close(matrix.csr.to_dense(), expected, rtol=1e-6, atol=0)
    torch.testing.assert_close(matrix.transposed.csr.to_dense(), expected.T, rtol=1e-6, atol=0)


def test_propagation_by_hand() -> None:
    # 0 -> 1, 2 -> 1, and node 3 alone. Row sums of A^T + I: 1, 3, 1, 1.
    graph = Graph.from_edges([0, 2], [1, 1], x=np.ones((4, 1)))
    third, root = 1 / 3, 1 / math.sqrt(3)
    expected = torch.tensor([[1, 0, 0, 0], [root, third, root, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    torch.testing.assert_close(propagation(graph).csr.to_dense(), expected)
    # Without loops nothing points to 0 and 2, so what leaves them has weight zero.
    assert propagation(graph, 0.0).csr.to_dense().abs().sum() == 0


@pytest.mark.parametrize("weight", [0.25, 1.0, 3.0])
def test_the_graphs_own_loops_give_way_to_the_chosen_one(weight: float) -> None:
    looped, bare = graph_of("loops"), graph_of("loops").without_loops()
    assert looped.num_edges == bare.num_edges + 4
    assert torch.equal(propagation(looped, weight).csr.to_dense(), propagation(bare, weight).csr.to_dense())
    assert not torch.equal(propagation(looped, 0.0).csr.to_dense(), propagation(bare, 0.0).csr.to_dense())


@pytest.mark.parametrize("kind", KINDS)
def test_symmetric_says_whether_the_matrix_is(kind: str) -> None:
    for self_loops in (0.0, 1.0):
        matrix = propagation(graph_of(kind), self_loops)
        assert matrix.symmetric == (kind in ("undirected", "parallel"))
        dense = matrix.csr.to_dense()
        assert torch.equal(dense, dense.T) == matrix.symmetric


def test_isolated_nodes_see_themselves_or_nothing() -> None:
    graph = graph_of("undirected")
    assert propagation(graph, 1.0).csr.to_dense()[-1].tolist() == [0.0] * (N - 1) + [1.0]
    assert propagation(graph, 0.0).csr.to_dense()[-1].tolist() == [0.0] * N


# GCN


class PyGEncoder(nn.Module):
    """The same network of PyG's layers, with a given encoder's weights under the same names."""

    def __init__(self, encoder: GCN | MLP, self_loops: float) -> None:
        super().__init__()
        self.weights, norms = nn.ModuleList(), encoder.norms
        for layer in encoder.weights:
            assert isinstance(layer, nn.Linear)
            conv = GCNConv(layer.in_features, layer.out_features, **loop_options(self_loops))
            conv.lin.weight.data.copy_(layer.weight.data)
            conv.bias.data.copy_(layer.bias.data)
            self.weights.append(conv)
        self.norms = copy.deepcopy(norms)

    def forward(self, x: Tensor, ends: Tensor) -> Tensor:
        ones = torch.ones(ends.shape[1])
        for depth, conv in enumerate(self.weights):
            x = conv(x, ends, ones)
            if depth < len(self.weights) - 1:
                x = torch.relu(x if self.norms is None else self.norms[depth](x))
        return x

    def named_gradients(self, out: Tensor) -> dict[str, Tensor]:
        return {name.replace("lin.", ""): value for name, value in gradients(self, out).items()}


def compare_with_pyg(kind: str, self_loops: float, *, constant: bool = True, **options: Any) -> None:
    encoder = encoder_of(self_loops=self_loops, **options)
    reference = PyGEncoder(encoder, self_loops)
    graph = graph_of(kind)
    out = encoder(encoder.inputs(graph, constant=constant))
    expected = reference(graph.x, pyg_edges(kind, self_loops))
    assert out.shape == (N, 5)
    assert_same((out, gradients(encoder, out)), (expected, reference.named_gradients(expected)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("self_loops", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("constant", [True, False])
def test_gcn_agrees_with_pyg_on_every_graph(kind: str, self_loops: float, constant: bool) -> None:
    compare_with_pyg(kind, self_loops, constant=constant)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("hidden", [0, 7])
@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("kind", ["undirected", "loops"])
def test_gcn_agrees_with_pyg_in_every_shape(layers: int, hidden: int, batch_norm: bool, kind: str) -> None:
    compare_with_pyg(kind, 1.0, layers=layers, hidden=hidden, batch_norm=batch_norm)


def widths(encoder: GCN | MLP) -> list[tuple[int, ...]]:
    return [tuple(weight.shape) for name, weight in encoder.named_parameters() if name.endswith("weight") and weight.ndim == 2]


@pytest.mark.parametrize("kind", [GCN, MLP])
def test_widths(kind: type[GCN] | type[MLP]) -> None:
    assert widths(encoder_of(kind, layers=1, hidden=7)) == [(5, F)]
    assert widths(encoder_of(kind, layers=3, hidden=7)) == [(7, F), (7, 7), (5, 7)]
    assert widths(encoder_of(kind, layers=2)) == [(5, F), (5, 5)]


def test_gcn_starts_glorot_uniform_with_zero_biases() -> None:
    torch.manual_seed(0)
    encoder = GCN(300, EncoderOptions(dim=200, layers=1))
    (layer,) = encoder.weights
    assert isinstance(layer, nn.Linear)
    assert layer.bias.abs().max() == 0
    bound = math.sqrt(6 / 500)
    assert layer.weight.abs().max() <= bound
    # The largest of 60,000 uniform draws misses the bound by more than 0.1% with probability exp(-60).
    assert layer.weight.abs().max() > 0.999 * bound
    # A uniform law on [-b, b] has variance b^2/3; over 60,000 draws its estimate deviates by 0.4%, so 2% is five deviations.
    assert layer.weight.var().item() == pytest.approx(bound**2 / 3, rel=0.02)


# MLP


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("batch_norm", [False, True])
def test_mlp_agrees_with_sequential(layers: int, batch_norm: bool) -> None:
    encoder = encoder_of(MLP, layers=layers, hidden=7, batch_norm=batch_norm)
    parts: list[nn.Module] = []
    for depth, layer in enumerate(copy.deepcopy(encoder).weights):
        parts.append(layer)
        if depth < layers - 1:
            parts += [nn.BatchNorm1d(7), nn.ReLU()] if batch_norm else [nn.ReLU()]
    reference, graph = nn.Sequential(*parts), graph_of("loops")
    out, expected = encoder(encoder.inputs(graph)), reference(graph.x)
    assert_close(out, expected)
    ours, theirs = gradients(encoder, out), gradients(reference, expected)
    # Ours are named by kind and depth, theirs by position in the sequence.
    places = {"weights": [i for i, part in enumerate(parts) if isinstance(part, nn.Linear)]}
    places["norms"] = [i for i, part in enumerate(parts) if isinstance(part, nn.BatchNorm1d)]
    split = {name: name.split(".") for name in ours}
    renamed = {f"{places[kind][int(depth)]}.{rest}": ours[name] for name, (kind, depth, rest) in split.items()}
    assert renamed.keys() == theirs.keys()
    for name, gradient in renamed.items():
        # Looser in absolute terms for the biases that a batch norm cancels, see assert_same.
        assert_close(gradient, theirs[name], 1e-5 if batch_norm else 1e-6, name)


def test_mlp_does_not_see_edges() -> None:
    encoder = encoder_of(MLP)
    outs = [encoder(encoder.inputs(graph_of(kind))) for kind in ("undirected", "directed")]
    assert torch.equal(outs[0], outs[1])


# Both


ENCODERS = pytest.mark.parametrize("kind", [GCN, MLP])


@ENCODERS
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("density", [0.02, 0.3])
def test_sparse_and_dense_features_agree(kind: type[GCN] | type[MLP], constant: bool, density: float) -> None:
    x = features(density)
    x[0, 0] = 1.0  # not all zero
    encoder = encoder_of(kind)
    results, inputs = [], []
    for layout in (np.asarray, sp.csr_array):
        graph = graph_of("directed", layout(x))
        inputs.append(encoder.inputs(graph, constant=constant))
        out = encoder(inputs[-1])
        results.append((out, gradients(encoder, out)))
    assert_same(*results)
    assert isinstance(inputs[0].first, Tensor)
    if density < 0.05 and not constant:
        assert isinstance(inputs[1].first, SparseMatrix)  # the sparse product was what ran
    if density > 0.05:
        assert isinstance(inputs[1].first, Tensor)  # too full for a sparse product to pay


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("graph_kind", KINDS)
def test_averaging_constant_features_once_changes_nothing(layout: Any, graph_kind: str) -> None:
    graph, encoder = graph_of(graph_kind, layout(features())), encoder_of()
    once, each = encoder.inputs(graph), encoder.inputs(graph, constant=False)
    assert once.propagated
    assert not each.propagated
    results = [(out, gradients(encoder, out)) for out in (encoder(once), encoder(each))]
    assert_same(results[0], results[1])


@ENCODERS
@pytest.mark.parametrize("batch_norm", [False, True])
def test_every_parameter_gets_a_gradient(kind: type[GCN] | type[MLP], batch_norm: bool) -> None:
    encoder = encoder_of(kind, layers=3, batch_norm=batch_norm)
    found = gradients(encoder, encoder(encoder.inputs(graph_of("undirected"))))
    assert found.keys() == dict(encoder.named_parameters()).keys()
    for name, gradient in found.items():
        # A bias in front of a batch norm is subtracted with the mean again: its gradient is zero but for rounding.
        absorbed = batch_norm and name in ("weights.0.bias", "weights.1.bias")
        assert (gradient.abs().max() > 1e-3) != absorbed, name


@ENCODERS
@pytest.mark.parametrize("graph_kind", ["undirected", "loops"])
def test_reordering_nodes_reorders_embeddings(kind: type[GCN] | type[MLP], graph_kind: str) -> None:
    graph, encoder = graph_of(graph_kind), encoder_of(kind, batch_norm=True)
    order = torch.randperm(N, generator=torch.Generator().manual_seed(1))
    out, moved = (encoder(encoder.inputs(g)) for g in (graph, graph.subgraph(order)))
    assert_close(moved, out[order])


@pytest.mark.parametrize(("name", "kind"), [("gcn", GCN), ("mlp", MLP)])
def test_build_encoder_goes_by_name(name: Any, kind: type[nn.Module]) -> None:
    assert type(build_encoder(F, EncoderOptions(encoder=name, dim=5))) is kind


def test_whole_number_loop_weights_work() -> None:
    graph = graph_of("loops")
    outs = [(e := encoder_of(self_loops=weight))(e.inputs(graph)) for weight in (2, 2.0)]
    assert torch.equal(outs[0], outs[1])


# Batch norm statistics


def train_a_little(encoder: GCN | MLP, inputs: Inputs) -> None:
    optimiser = torch.optim.Adam(encoder.parameters(), lr=0.1)
    for _ in range(3):
        optimiser.zero_grad()
        encoder(inputs).square().mean().backward()
        optimiser.step()


@ENCODERS
def test_refreshed_statistics_make_evaluation_agree_with_training(kind: type[GCN] | type[MLP]) -> None:
    encoder = encoder_of(kind, layers=3, hidden=7, batch_norm=True)
    inputs = encoder.inputs(graph_of("undirected"))
    train_a_little(encoder, inputs)
    trained = encoder(inputs).detach()
    before = encoder.eval()(inputs).detach()
    encoder.refresh_statistics(inputs)
    settled = encoder.eval()(inputs).detach()
    # The running averages still recalled the start, and settling brought evaluation much closer.
    assert (before - trained).abs().max() > 3 * (settled - trained).abs().max()
    # What is left: in training, torch divides by the variance over the n nodes; what it remembers for evaluation is n/(n-1)
    # times that, the unbiased estimate. Without that factor the two are the same to float32 rounding.
    assert encoder.norms is not None
    assert len(encoder.norms) == 2
    for norm in encoder.norms:
        assert isinstance(norm, nn.BatchNorm1d)
        assert norm.running_var is not None
        norm.running_var *= (N - 1) / N
    assert_close(encoder(inputs).detach(), trained)


@ENCODERS
def test_settling_twice_is_settling_once(kind: type[GCN] | type[MLP]) -> None:
    encoder = encoder_of(kind, layers=3, batch_norm=True)
    inputs = encoder.inputs(graph_of("undirected"))
    train_a_little(encoder, inputs)
    encoder.refresh_statistics(inputs)
    once = copy.deepcopy(encoder.state_dict())
    encoder.refresh_statistics(inputs)
    assert once.keys() == encoder.state_dict().keys()
    for name, value in encoder.state_dict().items():
        assert torch.equal(value, once[name]), name


def test_settling_from_evaluation_mode_works_and_keeps_the_weights() -> None:
    encoder = encoder_of(batch_norm=True)
    inputs = encoder.inputs(graph_of("undirected"))
    before = {name: value.clone() for name, value in encoder.named_parameters()}
    encoder.eval().refresh_statistics(inputs)
    assert all(torch.equal(value, before[name]) for name, value in encoder.named_parameters())
    other = encoder_of(batch_norm=True)
    other.refresh_statistics(inputs)
    torch.testing.assert_close(encoder.state_dict(), other.state_dict(), rtol=0, atol=0)


def test_without_batch_norm_there_is_nothing_to_refresh() -> None:
    encoder = encoder_of().eval()
    before = copy.deepcopy(encoder.state_dict())
    encoder.refresh_statistics(encoder.inputs(graph_of("undirected")))
    torch.testing.assert_close(encoder.state_dict(), before, rtol=0, atol=0)
    assert not encoder.training


# Mixed precision


@ENCODERS
@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("density", [0.02, 0.3])
def test_autocast_is_close_to_full_precision(kind: type[GCN] | type[MLP], batch_norm: bool, density: float) -> None:
    x = features(density)
    x[0, 0] = 1.0
    graph = graph_of("undirected", sp.csr_array(x))
    full, half = (encoder_of(kind, dim=32, layers=2, batch_norm=batch_norm, autocast=on) for on in (False, True))
    expected, out = (encoder(encoder.inputs(graph, constant=False)) for encoder in (full, half))
    assert out.dtype == torch.float32
    # bfloat16 keeps 8 bits: inputs, weights and results are each off by up to 2^-9 of their size, in two layers. Errors of
    # single products average out, so a few 2^-9 of the largest output remain. Batch norm divides columns by their own
    # deviation, which is small where few features are set, and enlarges the error by as much.
    error = (out - expected).abs().max() / expected.abs().max()
    assert error < (16 if batch_norm else 4) * 2**-9
    if kind is MLP or density > 0.05:
        assert error > 0  # it did run in bfloat16
    found = gradients(half, out)
    assert found.keys() == dict(half.named_parameters()).keys()
    assert all(value.dtype == torch.float32 and torch.isfinite(value).all() for value in found.values())


# Activations, dropout, heads, views


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@ENCODERS
@pytest.mark.parametrize("activation", ["relu", "prelu", "elu", "rrelu"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("batch_norm", [False, True])
def test_activations_are_where_they_are_asked_for(
    kind: type[GCN] | type[MLP], activation: str, last: bool, batch_norm: bool
) -> None:
    encoder = encoder_of(kind, layers=2, hidden=7, activation=activation, activate_last=last, batch_norm=batch_norm)
    graph = graph_of("directed")
    functions: dict[str, nn.Module] = {"relu": nn.ReLU(), "prelu": nn.PReLU(), "elu": nn.ELU(), "rrelu": nn.RReLU().eval()}
    h, adjacency = graph.x, propagation(graph).csr.to_dense() if kind is GCN else torch.eye(N)
    for depth, layer in enumerate(encoder.weights):
        assert isinstance(layer, nn.Linear)
        h = adjacency @ (h @ layer.weight.T) + layer.bias
        if depth == 0 or last:
            h = functions[activation]((h - h.mean(0)) / (h.var(0, correction=0) + 1e-5).sqrt() if batch_norm else h)
    assert_close(encoder(encoder.inputs(graph)), h, 1e-5)
    assert len(encoder.activations) == (2 if last else 1)
    slopes = [name for name, _ in encoder.named_parameters() if name.startswith("activations")]
    assert len(slopes) == (len(encoder.activations) if activation == "prelu" else 0)


def test_rrelu_draws_slopes_from_the_generator_in_training_only() -> None:
    h = -torch.ones(300, 200)
    slopes = -RReLU()(h, generator())
    assert slopes.min() >= 1 / 8
    assert slopes.max() <= 1 / 3
    # The mean of 60,000 uniform draws of width 5/24 deviates by 2.5e-4; four deviations are allowed.
    assert slopes.mean().item() == pytest.approx(11 / 48, abs=1e-3)
    assert torch.equal(RReLU()(-h, generator()), -h)
    encoder = encoder_of(activation="rrelu")
    inputs = encoder.inputs(graph_of("directed"))
    assert torch.equal(encoder(inputs, generator()), encoder(inputs, generator()))
    assert not torch.equal(encoder(inputs, generator()), encoder(inputs, generator(1)))
    encoder.eval()
    assert torch.equal(encoder(inputs, generator()), encoder(inputs))


@ENCODERS
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_dropout_falls_on_each_layers_input_in_training_only(kind: type[GCN] | type[MLP], layout: Any) -> None:
    encoder, plain = (encoder_of(kind, layers=2, dropout=rate) for rate in (0.5, 0.0))
    graph = graph_of("directed", layout(features(0.9)))
    inputs = encoder.inputs(graph)
    assert not inputs.propagated
    torch.manual_seed(1)
    first = encoder(inputs, generator())
    assert torch.equal(first, encoder(inputs, generator()))  # the global generator plays no part
    assert not torch.equal(first, encoder(inputs, generator(1)))
    assert_close(encoder(inputs), plain(plain.inputs(graph)))
    random = generator()
    h, adjacency = graph.x.to_dense(), propagation(graph).csr.to_dense() if kind is GCN else torch.eye(N)
    for depth, layer in enumerate(encoder.weights):
        assert isinstance(layer, nn.Linear)
        h = h * (torch.rand(h.shape, generator=random) >= 0.5) * 2
        h = adjacency @ (h @ layer.weight.T) + layer.bias
        h = h.relu() if depth == 0 else h
    assert_close(first, h)


def test_dropout_of_a_sparse_matrix_keeps_its_mean() -> None:
    x = torch.ones(200, 300).to_sparse_csr()
    dropped = drop_entries(SparseMatrix(x), 0.3, generator())
    assert isinstance(dropped, SparseMatrix)
    values = dropped.csr.values()
    torch.testing.assert_close(values.unique(), torch.tensor([0.0, 1 / 0.7]))
    # 60,000 draws: the mean deviates by 0.0027; four deviations.
    assert values.mean().item() == pytest.approx(1, abs=0.011)


@pytest.mark.parametrize("batch_norm", [False, True])
def test_heads(batch_norm: bool) -> None:
    head = mlp_head(5, 7, 3, "prelu", batch_norm)
    kinds = [nn.Linear, nn.BatchNorm1d, nn.PReLU, nn.Linear] if batch_norm else [nn.Linear, nn.PReLU, nn.Linear]
    assert [type(part) for part in head] == kinds
    assert head(torch.ones(4, 5)).shape == (4, 3)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_a_directed_view_averages_over_the_sources_of_incoming_edges(layout: Any) -> None:
    encoder = encoder_of(layers=1)
    graph = graph_of("undirected", layout(features()))
    view = mask_features(drop_edges(graph, 0.5, generator()), 0.3, generator(1))
    out = encoder(encoder.inputs(view, constant=False))
    incoming = torch.zeros(N, N)
    incoming[view.indices, view.rows] = 1
    incoming += torch.eye(N)
    scale = incoming.sum(1).rsqrt()
    (layer,) = encoder.weights
    assert isinstance(layer, nn.Linear)
    expected = (scale[:, None] * incoming * scale) @ nn.functional.linear(view.x.to_dense(), layer.weight) + layer.bias
    assert_close(out, expected)
    assert_close(out, encoder(encoder.inputs(view)))


def test_a_view_with_the_same_edges_takes_the_matrix_over() -> None:
    encoder, graph = encoder_of(), graph_of("directed")
    inputs = encoder.inputs(graph)
    view = shuffle_features(graph, generator())
    reading = encoder.inputs(view, constant=False, like=inputs)
    assert reading.adjacency is inputs.adjacency
    assert torch.equal(encoder(reading), encoder(encoder.inputs(view, constant=False)))


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_a_dense_matrix_may_take_the_place_of_the_adjacency(layout: Any) -> None:
    encoder, graph = encoder_of(), graph_of("directed", layout(features()))
    given = Inputs(graph.x.to_dense(), diffuse(graph))
    sparse = Inputs(graph.x.to_dense(), diffuse(graph, top_k=N))
    out, other = encoder(given), encoder(sparse)
    assert_same((out, gradients(encoder, out)), (other, gradients(encoder, other)))
    assert_close(encoder(encoder.inputs(graph, like=given)), out)
