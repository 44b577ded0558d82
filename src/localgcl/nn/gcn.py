"""The GCN encoder: graph convolutions with an activation between them."""

import torch
from torch import Tensor, nn

from localgcl.config import EncoderOptions
from localgcl.graph import Graph
from localgcl.nn.layers import Encoder, Inputs, Layers, average, average_once, linear, product, readable, stays_sparse
from localgcl.ops import SparseMatrix
from localgcl.ops.propagation import propagation


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


def _averages_well(adjacency: SparseMatrix | Tensor, x: Tensor) -> bool:
    """True if (A X) W is cheaper than A (X W).

    Dense features keep their size. Sparse ones fill up: A X has an entry for (nearly) every entry of every neighbour, which on
    word counts costs more than the saved product with A.
    """
    if isinstance(adjacency, Tensor) or not stays_sparse(x):
        return True
    entries = x.crow_indices().diff()[adjacency.csr.col_indices()].sum()
    return int(entries) <= x.values().numel() + adjacency.csr.values().numel()
