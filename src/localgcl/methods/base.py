"""What a method is: a loss to train on, embeddings to give, and a hook after each step."""

import abc
import dataclasses
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.nn.encoders import GCN, MLP, Inputs, encoder_memory

Terms = dict[str, Tensor]
"""Named scalars of one step; "loss" is the one that is minimised."""


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """What one step trains on: a graph, and the encoder's reading of it."""

    graph: Graph
    inputs: Inputs


class Method(nn.Module, abc.ABC):
    """One algorithm. Parameters, copies and heads live here; the maths is in `losses`."""

    Options: ClassVar[type[Any]]
    """Frozen dataclass of what only this method needs."""
    idea: ClassVar[str]
    """One line for `localgcl methods`."""
    cost: ClassVar[str]
    """Time and memory of a step beyond the encoder."""
    trained: ClassVar[bool] = True
    static: bool = False
    """Whether every step does the same operations on tensors of the same sizes and never asks the host for a value, so that
    it can be recorded and replayed on a GPU; a method may decide by its options."""
    augments: ClassVar[bool] = False
    """Whether it trains on changed copies of the graph."""
    paper: ClassVar[str] = ""
    """Link to the publication."""
    defaults: ClassVar[dict[str, Any]] = {}
    """The method's own defaults for shared options (encoder, training, preparation), by name; what a user gives counts more."""

    encoder: GCN | MLP
    """What maps features to embeddings; a method without one gives `embed` and `settle` of its own."""

    @abc.abstractmethod
    def __init__(self, num_inputs: int, config: Config) -> None:
        super().__init__()

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        """Bytes that one training step needs beyond parameters and the graph, to a factor of about two.

        In the mode that the options name; `mode="auto"` counts as faithful, so that `budget.choose_mode` can be handed this
        number. Here: one pass of the encoder and its backward. A method adds what it keeps besides.
        """
        return encoder_memory(num_nodes, num_edges, num_features, config.encoder)

    def check(self, graph: Graph) -> None:
        """Raises ValueError when the method cannot learn from this (prepared) graph."""

    @abc.abstractmethod
    def prepare(self, graph: Graph) -> Batch:
        """Everything that stays the same over steps."""

    @abc.abstractmethod
    def loss(self, batch: Batch, generator: torch.Generator) -> Terms: ...

    def embed(self, batch: Batch) -> Float[Tensor, "n d"]:
        """Embeddings of the nodes of a prepared graph, seen in training or not; here the encoder's output."""
        result: Tensor = self.encoder(batch.inputs)
        return result

    def watch(self, values: dict[str, Any]) -> None:
        """Raises ValueError when the logged terms show that training cannot be trusted."""

    def after_step(self, step: int) -> None:
        """Called after each optimiser step."""

    def settle(self, batch: Batch) -> None:
        """Called once after training, before embeddings are read: the encoder re-estimates what it averages."""
        self.encoder.settle(batch.inputs)
