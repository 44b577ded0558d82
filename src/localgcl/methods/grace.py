"""GRACE: two views of the graph; a node's two embeddings attract, all other pairs of nodes repel."""

import dataclasses
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.config import MOST_DRAWN, MOST_FREQUENCIES, WIDEST, Checked, Config, option
from localgcl.graph import Graph
from localgcl.losses import two_view_terms
from localgcl.methods.base import Batch, Terms
from localgcl.methods.negatives import AllPairs
from localgcl.methods.parts import require_two_nodes
from localgcl.nn import features
from localgcl.nn.augment import drop_edges, mask_features
from localgcl.nn.encoders import mlp_head, with_dense_features
from localgcl.nn.memory import FLOAT, encoder_memory, view_memory

Rate = float | Tensor


@dataclasses.dataclass(frozen=True)
class Options(Checked):
    """The two views and the loss between them."""

    drop_edges_1: float = option(0.2, "first view: share of the edges that are dropped", low=0, high=1)
    drop_edges_2: float = option(0.4, "second view: share of the edges that are dropped", low=0, high=1)
    mask_features_1: float = option(0.3, "first view: share of the feature columns that are set to zero", low=0, high=1)
    mask_features_2: float = option(0.4, "second view: share of the feature columns that are set to zero", low=0, high=1)
    projection: int = option(0, "width of the projector's hidden layer; 0 means the embedding dimension", low=0, high=WIDEST)
    temperature: float = option(0.4, "tau: smaller makes close pairs count more", above=0, high=1000)
    negatives: str = option(
        "exact",
        "all pairs exactly, by random features, by the cheaper of these (auto), or some nodes only (sampled)",
        choices=lambda: (*features.negatives(), "sampled"),
    )
    num_negatives: int = option(512, "random nodes at each step that are negatives when sampled", low=1, high=MOST_DRAWN)
    num_features: int = option(4096, "D, the number of random frequencies", low=1, high=MOST_FREQUENCIES)
    max_clamped: float = option(0.01, "stop when a larger share of the random-feature sums is invalid", low=0, high=1)


@dataclasses.dataclass(frozen=True, eq=False)
class Views(Batch):
    """A graph and, for each of its two views, the rates at which edges are dropped and feature columns set to zero."""

    rates: tuple[tuple[Rate, Rate], tuple[Rate, Rate]]


class GRACE(AllPairs):
    r"""Algorithm: draw two views; u, v = projector(encoder(view)); minimise the mean of $\ell(u_i, v_i)$ and $\ell(v_i, u_i)$,

    $\ell(u_i, v_i) = -\log \frac{e^{u_i^T v_i/\tau}}{\sum_k e^{u_i^T v_k/\tau} + \sum_{k \ne i} e^{u_i^T u_k/\tau}}$ of unit
    rows. A view drops edges, each stored direction on its own, and sets feature columns to zero. The embedding is the
    encoder's output, before the projector. The released code keeps several N x N matrices and runs out of memory on graphs
    such as Physics and arXiv; the exact loss here keeps none (see `losses.infonce`).
    """

    Options: ClassVar[type[Any]] = Options
    idea = "two views of a node attract, all other pairs of nodes repel"
    cost = "O(N^2 d) time, O(N d) memory; two encoder passes"
    augments = True
    rows_of_a_node = 2
    paper = "https://arxiv.org/abs/2006.04131"
    defaults: ClassVar[dict[str, Any]] = {
        "dim": 128,
        "hidden": 256,
        "activate_last": True,
        "weight_decay": 1e-5,
        "steps": 200,
        "log_every": 10,
        "checkpoint_every": 50,
    }

    def __init__(self, num_inputs: int, config: Config) -> None:
        super().__init__(num_inputs, config)
        dim = config.encoder.dim
        self.widths = [dim]
        self.projector = mlp_head(dim, self.options.projection or dim, dim, "elu")

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        """For two views the encoder and the projector; of both projections a joint copy, unit rows, and two gradients."""
        encoder, dim = encoder_memory(num_nodes, num_edges, num_features, config.encoder), config.encoder.dim
        projector = FLOAT * num_nodes * (2 * (config.options.projection or dim) + dim)
        views = 2 * (encoder.kept + projector + view_memory(num_nodes, num_edges, num_features))
        return encoder.inputs + views + encoder.moving + 2 * 4 * FLOAT * num_nodes * dim

    def check(self, graph: Graph) -> None:
        require_two_nodes(graph, "there is nothing to contrast it with")

    def compared(self, z: Float[Tensor, "n d"]) -> list[tuple[str, Float[Tensor, "n d"]]]:
        """Projections."""
        return [("", self.projector(z))]

    def prepare(self, graph: Graph) -> Batch:
        graph, options = with_dense_features(graph), self.options
        first = self.rates(graph, options.drop_edges_1, options.mask_features_1)
        second = self.rates(graph, options.drop_edges_2, options.mask_features_2)
        return Views(graph, self.encoder.inputs(graph), (first, second))

    def rates(self, graph: Graph, edges: float, features: float) -> tuple[Rate, Rate]:  # noqa: ARG002
        """The rates at which a view drops edges and feature columns: one for all edges, one for all columns."""
        return edges, features

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        assert isinstance(batch, Views)
        u, v = (self.project(batch, edges, features, generator) for edges, features in batch.rates)
        options = self.options
        terms = two_view_terms(
            u,
            v,
            temperature=options.temperature,
            negatives=options.num_negatives if options.negatives == "sampled" else self.negatives(u, 0, shared=False),
            generator=generator,
        )
        loss = terms.positive + terms.negative
        return {"loss": loss, "positive": terms.positive, "negative": terms.negative, "clamped": terms.clamped}

    def project(self, batch: Batch, edges: Rate, features: Rate, generator: torch.Generator) -> Float[Tensor, "n d"]:
        """One random view, encoded and projected; of a mini-batch the seeds, which are then negatives of each other."""
        view = mask_features(drop_edges(batch.graph, edges, generator), features, generator)
        result: Tensor = self.projector(batch.own(self.encoder(self.encoder.inputs(view, constant=False), generator)))
        return result
