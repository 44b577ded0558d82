"""Encoders by name: GCN, MLP and hops, from node features to embeddings."""

import torch
from jaxtyping import Int
from torch import Tensor, nn

from localgcl.config import EncoderOptions
from localgcl.graph import Graph
from localgcl.graph.csr import select_rows
from localgcl.nn.hops import Hops
from localgcl.nn.layers import (
    Encoder,
    Inputs,
    Layers,
    RReLU,
    average,
    average_once,
    drop_entries,
    linear,
    mlp_head,
    product,
    readable,
    stays_sparse,
    with_dense_features,
)
from localgcl.ops import SparseMatrix
from localgcl.ops.propagation import propagation

__all__ = [
    "ENCODERS",
    "GCN",
    "MLP",
    "Encoder",
    "Hops",
    "Inputs",
    "RReLU",
    "build_encoder",
    "drop_entries",
    "mlp_head",
    "propagation",
    "with_dense_features",
]


class GCN(Layers, Encoder):
    r"""Graph convolutions $H^{(l+1)} = \mathrm{ReLU}(\hat A H^{(l)} W^{(l)} + b)$, the last without ReLU. O(|E| d + |V| d^2).

    Weights start Glorot-uniform and biases at zero, as in the original.
    """

    def __init__(self, num_inputs: int, options: EncoderOptions) -> None:
        super().__init__(num_inputs, options)
        self.self_loops = options.self_loops
        self.start_glorot()

    def inputs(self, graph: Graph, *, constant: bool = True, like: Inputs | None = None) -> Inputs:
        """What the encoder reads of a graph. Constant features are averaged over neighbours here, once, if that is cheaper.

        Pass `constant=False` for a view that changes at each step; that is O(|E|), without a sort. `like` is the result for a
        graph with the same edges: its matrix is reused. With dropout nothing is averaged here, because dropout comes first.
        """
        adjacency = like.adjacency if like is not None else propagation(graph, self.self_loops)
        assert adjacency is not None
        if not constant or self.dropout > 0 or not _averages_well(adjacency, graph.x):
            return Inputs(readable(graph.x), adjacency)
        return Inputs(readable(average_once(adjacency, graph.x)), adjacency, propagated=True)

    def _first_layer(self, inputs: Inputs, generator: torch.Generator | None) -> Tensor:
        (layer, *_), h = self.weights, self._dropped(inputs.first, generator)
        assert isinstance(layer, nn.Linear)
        assert inputs.adjacency is not None
        if inputs.propagated:
            return linear(layer, h)
        return average(inputs.adjacency, product(layer.weight, h)) + layer.bias

    def _layer(self, layer: nn.Linear, h: Tensor, inputs: Inputs) -> Tensor:
        assert inputs.adjacency is not None
        return average(inputs.adjacency, product(layer.weight, h)) + layer.bias


class MLP(Layers, Encoder):
    """Each node on its own: Linear, (BatchNorm,) ReLU, Linear. The graph enters only through the loss. O(|V| d^2)."""

    def inputs(self, graph: Graph, *, constant: bool = True, like: Inputs | None = None) -> Inputs:  # noqa: ARG002
        """The features; edges are ignored."""
        return Inputs(readable(graph.x))

    def take(self, inputs: Inputs, rows: Int[Tensor, " b"]) -> Inputs:
        """The features of some nodes."""
        if isinstance(inputs.first, SparseMatrix):
            return Inputs(SparseMatrix(select_rows(inputs.first.csr, rows)))
        return Inputs(inputs.first[rows])

    def _first_layer(self, inputs: Inputs, generator: torch.Generator | None) -> Tensor:
        layer = self.weights[0]
        assert isinstance(layer, nn.Linear)
        return linear(layer, self._dropped(inputs.first, generator))


ENCODERS: dict[str, type[GCN] | type[MLP] | type[Hops]] = {"gcn": GCN, "mlp": MLP, "hops": Hops}


def build_encoder(num_inputs: int, options: EncoderOptions) -> GCN | MLP | Hops:
    """The encoder that `options` describe."""
    for name in ("fourier", "pca"):
        value = getattr(options, name)
        if value and options.encoder != "hops":
            raise ValueError(f"{name} is {value}, but encoder is {options.encoder}; only hops has it, so set it to 0")
    return ENCODERS[options.encoder](num_inputs, options)


def _averages_well(adjacency: SparseMatrix | Tensor, x: Tensor) -> bool:
    """True if (A X) W is cheaper than A (X W).

    Dense features keep their size. Sparse ones fill up: A X has an entry for (nearly) every entry of every neighbour, which on
    word counts costs more than the saved product with A.
    """
    if isinstance(adjacency, Tensor) or not stays_sparse(x):
        return True
    entries = x.crow_indices().diff()[adjacency.csr.col_indices()].sum()
    return int(entries) <= x.values().numel() + adjacency.csr.values().numel()
