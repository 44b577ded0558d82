"""The GCN encoder: graph convolutions with an activation between them."""

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from localgcl.config import EncoderOptions
from localgcl.graph import Graph
from localgcl.nn.layers import (
    Encoder,
    Inputs,
    Layers,
    average,
    average_once,
    linear,
    product,
    readable,
    stays_sparse,
    with_dense_features,
)
from localgcl.nn.streamed import layerwise, refresh_layerwise
from localgcl.ops import SparseMatrix, spmm
from localgcl.ops.propagation import Averages, flow, propagation
from localgcl.system.team import ALONE, Team


class GCN(Layers, Encoder):
    r"""Graph convolutions $H^{(l+1)} = \mathrm{ReLU}(\hat A H^{(l)} W^{(l)} + b)$, the last without ReLU. O(|E| d + |V| d^2).

    Weights start Glorot-uniform and biases at zero, as in the original.
    """

    layer_by_layer = True

    @classmethod
    def reach(cls, options: EncoderOptions) -> int:
        return options.layers

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

    def reading(self, graph: Graph, team: Team = ALONE) -> Inputs:  # noqa: ARG002
        """The graph and the degrees of its nodes; no matrix is built."""
        graph = with_dense_features(graph)
        return Inputs(graph.x, source=Averages.of(graph, self.self_loops))

    def take(
        self, inputs: Inputs, rows: Int[Tensor, " b"], sampled: int = 0, generator: torch.Generator | None = None, /
    ) -> Inputs:
        """The message flow to some nodes (see `ops.propagation.flow`), with the degrees of the whole graph.

        Batch normalisation sees the rows that were drawn, which are not all nodes: with it a batch is not exact.
        """
        source, device = inputs.source, self.device
        assert isinstance(source, Averages)
        generator = torch.Generator() if generator is None else generator
        read, matrices = flow(source, rows, len(self.weights), sampled, generator)
        x = source.graph.features(read).to(device)
        first, *others = (matrix.to(device) for matrix in matrices)
        if self.dropout > 0 or x.layout == torch.sparse_csr:
            return Inputs(readable(x), flow=(first, *others))
        return Inputs(spmm(first, x), propagated=True, flow=tuple(others))

    def blocks(self, graph: Graph, rows: range, team: Team = ALONE) -> Iterator[Float[Tensor, "b d"]]:  # noqa: ARG002
        """Layer by layer: memory bounded by a block of rows and the outputs of two layers, on disk for a mapped graph."""
        return layerwise(self, graph, self.self_loops, rows)

    def refresh_rows(self, graph: Graph) -> None:
        """Batch-norm statistics over all nodes, layer by layer."""
        refresh_layerwise(self, graph, self.self_loops)

    def _first_layer(self, inputs: Inputs, generator: torch.Generator | None) -> Tensor:
        (layer, *_), h = self.weights, self._dropped(inputs.first, generator)
        assert isinstance(layer, nn.Linear)
        if inputs.propagated:
            return linear(layer, h)
        return average(self._matrix(inputs, 0), product(layer.weight, h)) + layer.bias

    def _layer(self, layer: nn.Linear, h: Tensor, inputs: Inputs, depth: int) -> Tensor:
        return average(self._matrix(inputs, depth), product(layer.weight, h)) + layer.bias

    def _matrix(self, inputs: Inputs, depth: int) -> SparseMatrix | Tensor:
        """The averaging matrix of a layer: one for all, or its own in a batch."""
        if inputs.flow:
            return inputs.flow[depth - len(self.weights)]
        assert inputs.adjacency is not None
        return inputs.adjacency


def _averages_well(adjacency: SparseMatrix | Tensor, x: Tensor) -> bool:
    """True if (A X) W is cheaper than A (X W).

    Dense features keep their size. Sparse ones fill up: A X has an entry for (nearly) every entry of every neighbour, which on
    word counts costs more than the saved product with A.
    """
    if isinstance(adjacency, Tensor) or not stays_sparse(x):
        return True
    entries = x.crow_indices().diff()[adjacency.csr.col_indices()].sum()
    return int(entries) <= x.values().numel() + adjacency.csr.values().numel()
