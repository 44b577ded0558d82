"""Encoders: GCN and MLP, from node features to embeddings. Also the small heads that some methods put on top."""

import dataclasses
import itertools
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from localgcl.config import Activation, EncoderOptions
from localgcl.graph import Graph
from localgcl.graph.csr import as_features, features_to_scipy
from localgcl.ops import SparseMatrix, spmm
from localgcl.ops.propagation import propagation as propagation

# Below about this share of non-zeros a sparse product beats the dense one on a CPU.
_SPARSE_BELOW = 0.05


@dataclasses.dataclass(frozen=True, eq=False)
class Inputs:
    """What an encoder reads of a graph: the first layer's input, and the matrix that averages over neighbours.

    `propagated` means that `first` is already A X: constant features are averaged once. The matrix is dense if a method
    averages over all nodes (the exact diffusion of MVGRL).
    """

    first: Tensor | SparseMatrix
    adjacency: SparseMatrix | Float[Tensor, "n n"] | None = None
    propagated: bool = False


class RReLU(nn.Module):
    """ReLU with a random slope below zero, drawn for each entry from U(1/8, 1/3); without a generator, the mean slope."""

    def forward(self, h: Float[Tensor, "n d"], generator: torch.Generator | None = None) -> Float[Tensor, "n d"]:
        low, high = 1 / 8, 1 / 3
        if generator is None:
            return nn.functional.leaky_relu(h, (low + high) / 2)
        slope = torch.rand(h.shape, generator=generator, device=h.device, dtype=h.dtype) * (high - low) + low
        return torch.where(h < 0, slope * h, h)


_ACTIVATIONS: dict[Activation, type[nn.Module]] = {"relu": nn.ReLU, "prelu": nn.PReLU, "rrelu": RReLU, "elu": nn.ELU}


class _Encoder(nn.Module):
    """Layers with an activation (and batch normalisation) between them; the last is linear unless `activate_last`."""

    def __init__(self, num_inputs: int, options: EncoderOptions) -> None:
        super().__init__()
        hidden = options.hidden or options.dim
        widths = [num_inputs, *[hidden] * (options.layers - 1), options.dim]
        activated = widths[1:] if options.activate_last else widths[1:-1]
        self.weights = nn.ModuleList(nn.Linear(i, o) for i, o in itertools.pairwise(widths))
        self.autocast, self.dropout = options.autocast, options.dropout
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for width in activated) if options.batch_norm else None
        self.activations = nn.ModuleList(_ACTIVATIONS[options.activation]() for _ in activated)

    def forward(self, inputs: Inputs, generator: torch.Generator | None = None) -> Float[Tensor, "n d"]:
        """Embeddings. In training, dropout and RReLU draw from `generator`; without one they act as in evaluation."""
        device = self.weights[0].weight.device.type
        chance = generator if self.training else None
        with torch.autocast(str(device), torch.bfloat16, enabled=self.autocast):
            return self._encode(inputs, chance).float() if self.autocast else self._encode(inputs, chance)

    def _encode(self, inputs: Inputs, generator: torch.Generator | None) -> Float[Tensor, "n d"]:
        h: Tensor | SparseMatrix = inputs.first
        for depth, layer in enumerate(self.weights):
            if generator is not None and self.dropout > 0:
                h = drop_entries(h, self.dropout, generator)
            h = self._layer(layer, h, inputs, first=depth == 0)
            if depth < len(self.activations):
                h = h if self.norms is None else self.norms[depth](h)
                activation = self.activations[depth]
                h = activation(h, generator) if isinstance(activation, RReLU) else activation(h)
        assert isinstance(h, Tensor)
        return h

    def _layer(self, layer: nn.Module, h: Tensor | SparseMatrix, inputs: Inputs, *, first: bool) -> Tensor:
        raise NotImplementedError

    @torch.no_grad()
    def refresh_statistics(self, inputs: Inputs) -> None:
        """Recomputes the batch-norm statistics in one pass: after few steps, their running averages still recall the start."""
        if self.norms is None:
            return
        for norm in self.norms:
            assert isinstance(norm, nn.BatchNorm1d)
            norm.reset_running_stats()
            norm.momentum = None  # a plain average over the passes, here one
        self.train()
        self(inputs)


class GCN(_Encoder):
    r"""Graph convolutions $H^{(l+1)} = \mathrm{ReLU}(\hat A H^{(l)} W^{(l)} + b)$, the last without ReLU. O(|E| d + |V| d^2).

    Weights start Glorot-uniform and biases at zero, as in the original.
    """

    def __init__(self, num_inputs: int, options: EncoderOptions) -> None:
        super().__init__(num_inputs, options)
        self.self_loops = options.self_loops
        for layer in self.weights:
            assert isinstance(layer, nn.Linear)
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def inputs(self, graph: Graph, *, constant: bool = True, like: Inputs | None = None) -> Inputs:
        """What the encoder reads of a graph. Constant features are averaged over neighbours here, once, if that is cheaper.

        Pass `constant=False` for a view that changes at each step; that is O(|E|), without a sort. `like` is the result for a
        graph with the same edges: its matrix is reused. With dropout nothing is averaged here, because dropout comes first.
        """
        adjacency = like.adjacency if like is not None else propagation(graph, self.self_loops)
        assert adjacency is not None
        if not constant or self.dropout > 0 or not _averages_well(adjacency, graph.x):
            return Inputs(_first(graph.x), adjacency)
        return Inputs(_first(_propagate_once(adjacency, graph.x)), adjacency, propagated=True)

    def _layer(self, layer: nn.Module, h: Tensor | SparseMatrix, inputs: Inputs, *, first: bool) -> Tensor:
        assert isinstance(layer, nn.Linear)
        assert inputs.adjacency is not None
        if first and inputs.propagated:
            return _linear(layer, h)
        return _average(inputs.adjacency, _product(layer, h)) + layer.bias


class MLP(_Encoder):
    """Each node on its own: Linear, (BatchNorm,) ReLU, Linear. The graph enters only through the loss. O(|V| d^2)."""

    def inputs(self, graph: Graph, *, constant: bool = True, like: Inputs | None = None) -> Inputs:  # noqa: ARG002
        """The features; edges are ignored."""
        return Inputs(_first(graph.x))

    def _layer(self, layer: nn.Module, h: Tensor | SparseMatrix, inputs: Inputs, *, first: bool) -> Tensor:  # noqa: ARG002
        assert isinstance(layer, nn.Linear)
        return _linear(layer, h)


ENCODERS: dict[str, type[GCN] | type[MLP]] = {"gcn": GCN, "mlp": MLP}


def build_encoder(num_inputs: int, options: EncoderOptions) -> GCN | MLP:
    """The encoder that `options` describe."""
    return ENCODERS[options.encoder](num_inputs, options)


def encoder_memory(num_nodes: int, num_edges: int, num_features: int, options: EncoderOptions) -> int:
    """Bytes of one pass and its backward, estimated: each layer's product, activation and gradient in single precision; for a
    GCN also the averaged features and the matrix with its transpose (8 bytes an index, 4 a weight).
    """
    hidden = options.hidden or options.dim
    layers = 3 * 4 * num_nodes * (hidden * (options.layers - 1) + options.dim)
    matrix = 4 * num_nodes * num_features + 2 * 12 * (num_edges + num_nodes)
    return layers + (matrix if options.encoder == "gcn" else 0)


def with_dense_features(graph: Graph) -> Graph:
    """Converts features once to the layout that encoders read, so that each new view does not convert them again.

    Features become dense unless they are so sparse that sparse products are faster.
    """
    return graph.derived(x=_kept(graph.x))


def _first(x: Tensor) -> Tensor | SparseMatrix:
    kept = _kept(x)
    return SparseMatrix(kept) if kept.layout == torch.sparse_csr else kept


def _kept(x: Tensor) -> Tensor:
    """Features, made dense unless sparse products are faster."""
    return x.to_dense() if x.layout == torch.sparse_csr and not _stays_sparse(x) else x


def _stays_sparse(x: Tensor) -> bool:
    return x.layout == torch.sparse_csr and x.values().numel() < _SPARSE_BELOW * x.shape[0] * x.shape[1]


def mlp_head(
    inputs: int, hidden: int, outputs: int, activation: Literal["relu", "prelu", "elu"], batch_norm: bool = False
) -> nn.Sequential:
    """A projector or predictor: Linear, (BatchNorm,) activation, Linear."""
    norm = [nn.BatchNorm1d(hidden)] if batch_norm else []
    return nn.Sequential(nn.Linear(inputs, hidden), *norm, _ACTIVATIONS[activation](), nn.Linear(hidden, outputs))


def drop_entries(h: Tensor | SparseMatrix, rate: float, generator: torch.Generator) -> Tensor | SparseMatrix:
    """Dropout: entries set to zero with probability `rate`, the others divided by 1 - rate. Of a sparse matrix, stored ones."""
    if isinstance(h, SparseMatrix):
        return h.with_values(_dropped(h.csr.values(), rate, generator))
    return _dropped(h, rate, generator)


def _dropped(values: Tensor, rate: float, generator: torch.Generator) -> Tensor:
    keep = torch.rand(values.shape, generator=generator, device=values.device) >= rate
    return values * keep / (1 - rate)


def _averages_well(adjacency: SparseMatrix | Tensor, x: Tensor) -> bool:
    """True if (A X) W is cheaper than A (X W).

    Dense features keep their size. Sparse ones fill up: A X has an entry for (nearly) every entry of every neighbour, which on
    word counts costs more than the saved product with A.
    """
    if isinstance(adjacency, Tensor) or not _stays_sparse(x):
        return True
    entries = x.crow_indices().diff()[adjacency.csr.col_indices()].sum()
    return int(entries) <= x.values().numel() + adjacency.csr.values().numel()


def _propagate_once(adjacency: SparseMatrix | Tensor, x: Tensor) -> Tensor:
    if isinstance(adjacency, Tensor):
        return adjacency @ x.to_dense()
    if x.layout != torch.sparse_csr:
        return spmm(adjacency, x)
    product = features_to_scipy(adjacency.csr) @ features_to_scipy(x)
    return as_features(product).to(x.device)


def _product(layer: nn.Linear, h: Tensor | SparseMatrix) -> Tensor:
    """h W, without the bias."""
    return _spmm(h, layer.weight.T) if isinstance(h, SparseMatrix) else nn.functional.linear(h, layer.weight)


def _linear(layer: nn.Linear, h: Tensor | SparseMatrix) -> Tensor:
    return _spmm(h, layer.weight.T) + layer.bias if isinstance(h, SparseMatrix) else layer(h)


def _average(matrix: SparseMatrix | Tensor, x: Tensor) -> Tensor:
    return matrix @ x if isinstance(matrix, Tensor) else _spmm(matrix, x)


def _spmm(matrix: SparseMatrix, x: Tensor) -> Tensor:
    """matrix @ x in single precision: under autocast torch would ask for a sparse product in bfloat16, and there is none."""
    with torch.autocast(x.device.type, enabled=False):
        return spmm(matrix, x)
