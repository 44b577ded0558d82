"""The two rows every table needs: the encoder before training, and no encoder at all."""

import dataclasses

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.config import Checked, Config
from localgcl.graph import Graph
from localgcl.methods.base import Batch, Method, Terms
from localgcl.nn.encoders import Inputs, build_encoder


@dataclasses.dataclass(frozen=True)
class NoOptions(Checked):
    """Nothing to choose."""


class RandomInit(Method):
    """The encoder as it is initialised: what the architecture gives before any learning."""

    Options = NoOptions
    idea = "the untrained encoder: what learning has to beat"
    cost = "none"
    trained = False

    def __init__(self, num_inputs: int, config: Config) -> None:
        super().__init__(num_inputs, config)
        self.encoder = build_encoder(num_inputs, config.encoder)

    def prepare(self, graph: Graph) -> Batch:
        return Batch(graph, self.encoder.inputs(graph))

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        raise NotImplementedError("random-init is not trained")


class RawFeatures(Method):
    """The node features themselves."""

    Options = NoOptions
    idea = "the node features as they are: what the graph has to add to"
    cost = "none"
    trained = False

    def __init__(self, num_inputs: int, config: Config) -> None:
        super().__init__(num_inputs, config)

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:  # noqa: ARG003
        """The features made dense."""
        return 4 * num_nodes * num_features

    def prepare(self, graph: Graph) -> Batch:
        return Batch(graph, Inputs(graph.x))

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        raise NotImplementedError("raw-features is not trained")

    def embed(self, batch: Batch) -> Float[Tensor, "n d"]:
        return batch.graph.x.to_dense()

    def refresh_statistics(self, batch: Batch) -> None:
        """There is none."""
