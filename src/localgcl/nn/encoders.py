"""Encoders by name: GCN, MLP and hops, from node features to embeddings."""

from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from localgcl.config import EncoderOptions
from localgcl.graph import Graph
from localgcl.nn.gcn import GCN as GCN
from localgcl.nn.hops import Hops
from localgcl.nn.layers import Encoder as Encoder
from localgcl.nn.layers import Inputs as Inputs
from localgcl.nn.layers import Layers, linear, readable
from localgcl.nn.layers import drop_entries as drop_entries
from localgcl.nn.layers import mlp_head as mlp_head
from localgcl.nn.layers import with_dense_features as with_dense_features
from localgcl.nn.streamed import refresh_layerwise
from localgcl.system.team import ALONE, Team


class MLP(Layers, Encoder):
    """Each node on its own: Linear, (BatchNorm,) ReLU, Linear. The graph enters only through the loss. O(|V| d^2)."""

    @classmethod
    def reach(cls, options: EncoderOptions) -> int:  # noqa: ARG003
        return 0

    def inputs(self, graph: Graph, *, constant: bool = True, like: Inputs | None = None) -> Inputs:  # noqa: ARG002
        """The features; edges are ignored."""
        return Inputs(readable(graph.x))

    def reading(self, graph: Graph, team: Team = ALONE) -> Inputs:  # noqa: ARG002
        """The graph itself."""
        graph = with_dense_features(graph)
        return Inputs(graph.x, source=graph)

    def take(self, inputs: Inputs, rows: Int[Tensor, " b"], /, *_: Any) -> Inputs:
        """The features of some nodes."""
        assert isinstance(inputs.source, Graph)
        return Inputs(readable(inputs.source.features(rows).to(self.device)))

    def refresh_rows(self, graph: Graph) -> None:
        """Batch-norm statistics over all nodes, layer by layer."""
        refresh_layerwise(self, graph, None)

    def _first_layer(self, inputs: Inputs, generator: torch.Generator | None) -> Tensor:
        layer = self.weights[0]
        assert isinstance(layer, nn.Linear)
        return linear(layer, self._dropped(inputs.first, generator))


ENCODERS: dict[str, type[GCN] | type[MLP] | type[Hops]] = {"gcn": GCN, "mlp": MLP, "hops": Hops}


def encoder_kind(options: EncoderOptions) -> type[Encoder]:
    """The class of the encoder that `options` name, for what can be asked before it is built."""
    return ENCODERS[options.encoder]


def build_encoder(num_inputs: int, options: EncoderOptions) -> GCN | MLP | Hops:
    """The encoder that `options` describe."""
    for name in ("fourier", "projected", "pca"):
        value = getattr(options, name)
        if value and options.encoder != "hops":
            raise ValueError(f"{name} is {value}, but encoder is {options.encoder}; only hops has it, so set it to 0")
    return ENCODERS[options.encoder](num_inputs, options)
