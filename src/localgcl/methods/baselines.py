"""Baselines: the untrained encoder, and the raw features."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.config import Checked, Config
from localgcl.graph import Graph
from localgcl.methods.base import Batch, Method, Terms
from localgcl.nn.encoders import Inputs
from localgcl.nn.memory import encoder_memory
from localgcl.recipes.defaults import ENCODER, Chosen, hops_defaults


@dataclasses.dataclass(frozen=True)
class NoOptions(Checked):
    """No options."""


class Untrained(Method):
    """A method that learns nothing."""

    Options = NoOptions
    cost = "none"
    fitter, learns = "none", False

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        raise NotImplementedError(f"{self.config.method} is not trained")


class RandomInit(Untrained):
    """The encoder with its initial weights: what the architecture gives without training."""

    idea = "the untrained encoder: the baseline for training"
    encoders = ("gcn", "mlp", "hops")
    chosen_names = frozenset({"scaling", *ENCODER})

    @classmethod
    def defaults_on(cls, graph: Graph, given: Mapping[str, Any]) -> Chosen:
        """Local-GCL's encoder, unless another one is asked for."""
        if given.get("encoder", "hops") != "hops":
            return super().defaults_on(graph, given)
        hops = hops_defaults(graph, given)
        return {name: hops[name] for name in ("scaling", *ENCODER) if name in hops}

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        """One pass, without a backward."""
        encoder = encoder_memory(num_nodes, num_edges, num_features, config.encoder)
        return encoder.inputs + encoder.alone


class RawFeatures(Untrained):
    """The node features themselves."""

    encodes = False
    idea = "the node features: the baseline for using the graph"

    def reach(self) -> int:
        return 0

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:  # noqa: ARG003
        """The features made dense."""
        return 4 * num_nodes * num_features

    def prepare(self, graph: Graph) -> Batch:
        return Batch(graph, Inputs(graph.x))

    def embed(self, batch: Batch) -> Float[Tensor, "n d"]:
        x = batch.graph.x
        return x.clone() if x.layout == torch.strided else x.to_dense()  # the caller's own, not the graph's memory

    def refresh_statistics(self, batch: Batch) -> None:
        """Does nothing: there are none."""
