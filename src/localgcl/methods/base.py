"""What a method is: batches to train on, a loss of each, embeddings to give, and a hook after each step."""

import abc
import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.graph.csr import CSR
from localgcl.nn.encoders import GCN, MLP, Inputs, encoder_memory
from localgcl.ops.negatives import Reduce

Terms = dict[str, Tensor]
"""Named scalars of one step; "loss" is the one that is minimised."""


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """What one step trains on.

    Args:
        graph: The graph, or the part of it that the step sees.
        inputs: What the encoder reads; it gives one row of embeddings for each of its rows.
        neighbours: Row i lists the rows of the embeddings that are neighbours of row i. The graph's own edges when not given;
            rectangular where some rows of the embeddings are only neighbours (see `CSR`).
        counted: Which rows of `neighbours` have terms in the loss; all when not given.
        reduce: Sums a vector over ranks, where nodes are spread over machines.
    """

    graph: Graph
    inputs: Inputs
    _: dataclasses.KW_ONLY
    neighbours: CSR | None = None
    counted: Bool[Tensor, " b"] | None = None
    reduce: Reduce | None = None


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
    distributes: ClassVar[bool] = False
    """Whether its loss can be computed by several ranks that each hold some of the nodes (see `Batch.reduce`)."""
    paper: ClassVar[str] = ""
    """Link to the publication."""
    defaults: ClassVar[dict[str, Any]] = {}
    """The method's own defaults for shared options (encoder, training, preparation), by name; what a user gives counts more."""

    encoder: GCN | MLP
    """What maps features to embeddings; a method without one has its own `embed` and `refresh_statistics`."""

    @abc.abstractmethod
    def __init__(self, num_inputs: int, config: Config) -> None:
        super().__init__()

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        """Bytes that one training step needs beyond parameters and the graph, to a factor of about two.

        In the mode that the options name; `mode="auto"` counts as faithful, so that `mode.choose_mode` can be handed this
        number. Here: one pass of the encoder and its backward. A method adds what it keeps besides.
        """
        return encoder_memory(num_nodes, num_edges, num_features, config.encoder)

    def check(self, graph: Graph) -> None:
        """Raises ValueError when the method cannot learn from this (prepared) graph."""

    @abc.abstractmethod
    def prepare(self, graph: Graph) -> Batch:
        """The whole graph as one batch: everything that stays the same over steps."""

    def batches(self, graph: Graph, *, first: int = 0, reduce: Reduce | None = None) -> Iterator[Batch]:  # noqa: ARG002
        """The batch of step `first`, of the step after it, and so on without end; here always the whole graph.

        A batch may depend on the seed and on the number of its step, but on nothing else: a resumed run then sees the batches
        that it would have seen.

        Args:
            graph: The prepared graph.
            first: The step to begin with.
            reduce: Sums a vector over ranks; for methods whose loss `distributes`.
        """
        if reduce is not None and not self.distributes:
            raise ValueError(f"{type(self).__name__} cannot be trained by several ranks; its loss needs all nodes on one")
        return itertools.repeat(dataclasses.replace(self.prepare(graph), reduce=reduce))

    @abc.abstractmethod
    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        """The terms of one step. Everything random is drawn from `generator`."""

    def embed(self, batch: Batch) -> Float[Tensor, "n d"]:
        """Embeddings of the nodes of a prepared graph, seen in training or not; here the encoder's output."""
        result: Tensor = self.encoder(batch.inputs)
        return result

    def watch(self, values: dict[str, Any]) -> None:
        """Raises ValueError when the logged terms show that training cannot be trusted."""

    def after_step(self, step: int) -> None:
        """Called after each optimiser step."""

    def refresh_statistics(self, batch: Batch) -> None:
        """Called once after training: recomputes the batch-norm statistics with the final weights."""
        self.encoder.refresh_statistics(batch.inputs)
