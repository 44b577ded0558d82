"""SUGRL: an MLP, positives from the graph, margins instead of a softmax. Nothing is augmented and no pairs are formed."""

import dataclasses
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.config import LARGEST_WEIGHT, MOST_DRAWN, Checked, Config, option
from localgcl.graph import Graph
from localgcl.graph.csr import csr_tensor
from localgcl.losses.margin import margin_terms
from localgcl.methods.base import Batch, Method, Terms
from localgcl.methods.parts import require_edges
from localgcl.nn.encoders import drop_entries, encoder_kind
from localgcl.nn.memory import FLOAT, sparse_matrix
from localgcl.ops import SparseMatrix, sample_neighbours, spmm
from localgcl.ops.propagation import propagation


@dataclasses.dataclass(frozen=True)
class Options(Checked):
    """Options of the three hinges and of what they compare."""

    margin: float = option(0.8, "m1: by how much negatives have to be further than positives", low=0, high=LARGEST_WEIGHT)
    slack: float = option(0.2, "m2: how much further still before they are pulled back", low=0, high=LARGEST_WEIGHT)
    attraction: float = option(10.0, "weight of the two terms with positives", low=0, high=LARGEST_WEIGHT)
    bounding: float = option(
        1.0, "weight of the term that bounds the distance of negatives; it is a sum over nodes", low=0, high=LARGEST_WEIGHT
    )
    num_negatives: int = option(4, "K, the random permutations of the nodes that are compared with", low=1, high=1000)
    num_neighbours: int = option(
        5, "neighbours, the node itself among them, whose mean is the second positive", low=1, high=MOST_DRAWN
    )
    drop_inputs: float = option(0.3, "share of the features that is set to zero in training", low=0, high=0.99)
    drop_positives: float = option(0.2, "share of h that is set to zero before it is averaged in training", low=0, high=0.99)
    normalisation: Literal["symmetric", "row"] = option("symmetric", "of the averaging over neighbours; row on OGB graphs")
    average_features: bool = option(False, "average the features over neighbours once, before the encoder (dense features)")


class SUGRL(Method):
    r"""Algorithm: $h = \mathrm{MLP}(X)$; positives $\hat A h$ and the mean h of a few neighbours; negatives h permuted.

    Minimise the hinges of `losses.margin`. The embedding is $\hat A h$, rows of unit length. Sampled neighbours come with
    replacement from N(i) and i itself.
    """

    Options = Options
    idea = "an MLP; neighbours nearer than permuted nodes by a margin"
    cost = "O(E d + K N d) time, O(K N d) memory"
    unweighted = "sampled neighbours"
    paper = "https://doi.org/10.1609/aaai.v36i7.20748"
    defaults = {  # noqa: RUF012
        "encoder": "mlp",
        "batch_norm": False,
        "steps": 500,
        "learning_rate": 5e-3,
        "weight_decay": 1e-4,
        "log_every": 10,
        "checkpoint_every": 100,
    }

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        """The encoder; features with some dropped; both matrices; both positives and what they are averages of; the difference
        of a node from each positive and negative."""
        options: Options = config.options
        compared = FLOAT * num_nodes * config.encoder.dim * (3 + 2 + options.num_negatives)
        matrices = sparse_matrix(num_edges, num_nodes) + sparse_matrix(num_nodes * options.num_neighbours, num_nodes)
        encoder = super().memory(num_nodes, num_edges, num_features, config)
        return encoder + 2 * FLOAT * num_nodes * num_features + matrices + compared

    def reach(self) -> int:
        """The encoder's, the average of the embedding, and that of the features."""
        return encoder_kind(self.config.encoder).reach(self.config.encoder) + (2 if self.options.average_features else 1)

    def check(self, graph: Graph) -> None:
        require_edges(graph, "every node is its own positive")

    def prepare(self, graph: Graph) -> Batch:
        average = propagation(graph, self.config.encoder.self_loops, self.options.normalisation)
        if self.options.average_features:
            graph = graph.derived(x=spmm(average, graph.x.to_dense()))
        inputs = self.encoder.inputs(graph, constant=self.options.drop_inputs == 0)
        return Batch(graph, dataclasses.replace(inputs, adjacency=average))

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        options = self.options
        inputs = dataclasses.replace(batch.inputs, first=drop_entries(batch.inputs.first, options.drop_inputs, generator))
        h = self.encoder(inputs, generator)
        thinned = drop_entries(h, options.drop_positives, generator)
        assert isinstance(thinned, Tensor)
        neighbours = spmm(self.sampled_mean(batch.graph, generator), h)
        draws = (torch.randperm(len(h), generator=generator, device=h.device) for _ in range(options.num_negatives))
        negatives = torch.stack(list(draws))
        terms = margin_terms(h, self.average(batch, thinned), neighbours, negatives, margin=options.margin, slack=options.slack)
        loss = options.attraction * (terms.structure + terms.neighbours) + options.bounding * terms.bound
        return {"loss": loss, **terms._asdict()}

    def average(self, batch: Batch, h: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """A_hat h."""
        assert isinstance(batch.inputs.adjacency, SparseMatrix)
        return spmm(batch.inputs.adjacency, h)

    def sampled_mean(self, graph: Graph, generator: torch.Generator) -> SparseMatrix:
        """The matrix whose product is the mean over a few random neighbours: no tensor of neighbours x d is made."""
        n, k = graph.num_nodes, self.options.num_neighbours
        chosen = sample_neighbours(graph.closed_neighbourhoods, torch.arange(n, device=graph.device), k, generator)
        pointers = torch.arange(0, n * k + 1, k, device=graph.device)
        return SparseMatrix(
            csr_tensor(pointers, chosen.sort(dim=1).values.flatten(), torch.full((n * k,), 1 / k, device=graph.device), (n, n))
        )

    def embed(self, batch: Batch) -> Float[Tensor, "n d"]:
        return torch.nn.functional.normalize(self.average(batch, self.encoder(batch.inputs)))
