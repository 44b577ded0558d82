"""Encoders: GCN and MLP, from node features to embeddings."""

import dataclasses
import itertools

import torch
from jaxtyping import Float
from torch import Tensor, nn

from localgcl.arrays import as_features, features_to_scipy
from localgcl.config import EncoderOptions
from localgcl.graph import Graph
from localgcl.ops import SparseMatrix, spmm
from localgcl.ops.propagation import propagation as propagation

# Below about this share of non-zeros a sparse product beats the dense one on a CPU.
_SPARSE_BELOW = 0.05


@dataclasses.dataclass(frozen=True, eq=False)
class Inputs:
    """What an encoder reads of a graph: the first layer's input, and the matrix that averages over neighbours.

    `propagated` says that the first averaging is already in `first`: features are constant, so it is done once.
    """

    first: Tensor | SparseMatrix
    adjacency: SparseMatrix | None = None
    propagated: bool = False


class _Encoder(nn.Module):
    """Layers with ReLU (and batch normalisation) between them; the last is linear."""

    def __init__(self, num_inputs: int, options: EncoderOptions) -> None:
        super().__init__()
        hidden = options.hidden or options.dim
        widths = [num_inputs, *[hidden] * (options.layers - 1), options.dim]
        self.weights = nn.ModuleList(nn.Linear(i, o) for i, o in itertools.pairwise(widths))
        self.autocast = options.autocast
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in widths[2:]) if options.batch_norm else None

    def forward(self, inputs: Inputs) -> Float[Tensor, "n d"]:
        device = self.weights[0].weight.device.type
        with torch.autocast(str(device), torch.bfloat16, enabled=self.autocast):
            return self._encode(inputs).float() if self.autocast else self._encode(inputs)

    def _encode(self, inputs: Inputs) -> Float[Tensor, "n d"]:
        h: Tensor | SparseMatrix = inputs.first
        for depth, layer in enumerate(self.weights):
            h = self._layer(layer, h, inputs, first=depth == 0)
            if depth < len(self.weights) - 1:
                h = torch.relu(h if self.norms is None else self.norms[depth](h))
        assert isinstance(h, Tensor)
        return h

    def _layer(self, layer: nn.Module, h: Tensor | SparseMatrix, inputs: Inputs, *, first: bool) -> Tensor:
        raise NotImplementedError

    @torch.no_grad()
    def settle(self, inputs: Inputs) -> None:
        """Re-estimates batch-norm statistics in one pass: after a few steps their running averages still recall the start."""
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

    def inputs(self, graph: Graph, *, constant: bool = True) -> Inputs:
        """Reads the graph; `constant` features (the same at every step) are averaged over neighbours here, once."""
        adjacency = propagation(graph, self.self_loops)
        if not constant:
            return Inputs(_first(graph.x), adjacency)
        return Inputs(_first(_propagate_once(adjacency, graph.x)), adjacency, propagated=True)

    def _layer(self, layer: nn.Module, h: Tensor | SparseMatrix, inputs: Inputs, *, first: bool) -> Tensor:
        assert isinstance(layer, nn.Linear)
        assert inputs.adjacency is not None
        if first and inputs.propagated:
            return _linear(layer, h)
        return _spmm(inputs.adjacency, _product(layer, h)) + layer.bias


class MLP(_Encoder):
    """Each node on its own: Linear, (BatchNorm,) ReLU, Linear. The graph enters only through the loss. O(|V| d^2)."""

    def inputs(self, graph: Graph, *, constant: bool = True) -> Inputs:  # noqa: ARG002 - one signature for all encoders
        return Inputs(_first(graph.x))

    def _layer(self, layer: nn.Module, h: Tensor | SparseMatrix, inputs: Inputs, *, first: bool) -> Tensor:  # noqa: ARG002
        assert isinstance(layer, nn.Linear)
        return _linear(layer, h)


ENCODERS: dict[str, type[GCN] | type[MLP]] = {"gcn": GCN, "mlp": MLP}


def build_encoder(num_inputs: int, options: EncoderOptions) -> GCN | MLP:
    """The encoder that `options` describe."""
    return ENCODERS[options.encoder](num_inputs, options)


def _first(x: Tensor) -> Tensor | SparseMatrix:
    """Keeps features sparse only where that is faster."""
    if x.layout != torch.sparse_csr:
        return x
    dense = x.values().numel() >= _SPARSE_BELOW * x.shape[0] * x.shape[1]
    return x.to_dense() if dense else SparseMatrix(x)


def _propagate_once(adjacency: SparseMatrix, x: Tensor) -> Tensor:
    if x.layout != torch.sparse_csr:
        return spmm(adjacency, x)
    product = features_to_scipy(adjacency.csr) @ features_to_scipy(x)
    return as_features(product).to(x.device)


def _product(layer: nn.Linear, h: Tensor | SparseMatrix) -> Tensor:
    """h W, without the bias."""
    return _spmm(h, layer.weight.T) if isinstance(h, SparseMatrix) else nn.functional.linear(h, layer.weight)


def _linear(layer: nn.Linear, h: Tensor | SparseMatrix) -> Tensor:
    return _spmm(h, layer.weight.T) + layer.bias if isinstance(h, SparseMatrix) else layer(h)


def _spmm(matrix: SparseMatrix, x: Tensor) -> Tensor:
    """matrix @ x in single precision: under autocast torch would ask for a sparse product in bfloat16, and there is none."""
    with torch.autocast(x.device.type, enabled=False):
        return spmm(matrix, x)
