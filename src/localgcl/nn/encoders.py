"""Encoders by name: GCN, MLP and hops, from node features to embeddings."""

import torch
from jaxtyping import Int
from torch import Tensor, nn

from localgcl.config import EncoderOptions
from localgcl.graph import Graph
from localgcl.nn.gcn import GCN
from localgcl.nn.hops import Hops
from localgcl.nn.layers import (
    Encoder,
    Inputs,
    Layers,
    RReLU,
    drop_entries,
    linear,
    mlp_head,
    readable,
    with_dense_features,
)
from localgcl.nn.layerwise import refresh_layerwise
from localgcl.ops.propagation import propagation
from localgcl.system.team import ALONE, Team

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

    def take(
        self,
        inputs: Inputs,
        rows: Int[Tensor, " b"],
        sampled: int = 0,  # noqa: ARG002 - a GCN's
        generator: torch.Generator | None = None,  # noqa: ARG002
    ) -> Inputs:
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
