"""AF-GCL: the most similar nodes near a few random seeds are positives, so neighbours need not be alike."""

import dataclasses

import torch
from jaxtyping import Int
from torch import Tensor

from localgcl.config import MOST_DRAWN, WIDEST, Checked, Config, option
from localgcl.graph import Graph
from localgcl.losses.spectral import spectral_terms
from localgcl.methods.base import Batch, Method, Terms
from localgcl.methods.parts import require_two_nodes
from localgcl.nn.encoders import mlp_head
from localgcl.ops import sample_trees
from localgcl.ops.rows import cosine_neighbours
from localgcl.ops.sampling import in_first_order


@dataclasses.dataclass(frozen=True)
class Options(Checked):
    """The pool of a step, and the pairs compared in it."""

    num_seeds: int = option(128, "random nodes whose neighbourhoods make the pool", low=1, high=MOST_DRAWN)
    hops: int = option(2, "T, how far a neighbourhood reaches", low=0, high=10)
    fanout: int = option(5, "neighbours drawn of each node on the way", low=1, high=1000)
    pool_size: int = option(256, "nodes in the pool at most", low=2, high=MOST_DRAWN)
    num_positives: int = option(5, "K, the most similar nodes of the pool, the node itself among them", low=1, high=MOST_DRAWN)
    num_negatives: int = option(100, "random nodes of the pool that each node is compared with", low=1, high=MOST_DRAWN)
    projection: int = option(0, "width of the projector; 0 means the embedding dimension", low=0, high=WIDEST)


class AFGCL(Method):
    r"""Algorithm: $h = \mathrm{GCN}(X, A)$ on the whole graph; draw a pool of nodes; z = projector(ReLU(h)) there.

    Positives are the K most similar nodes within the pool, negatives random ones; minimise the spectral contrastive loss of
    both (`losses.spectral`). The embedding is h. The pool is the seeds' sampled neighbourhoods, one after another, each
    node once, cut to `pool_size`: the number of seeds matters only where their neighbourhoods do not fill it. Negatives
    are drawn with replacement.
    """

    Options = Options
    idea = "positives by similarity within sampled neighbourhoods, for graphs whose neighbours differ"
    cost = "O(P^2 d) time, O(P^2) memory, for a pool of P nodes"
    unweighted = "sampled neighbourhoods"
    paper = "https://arxiv.org/abs/2204.04874"
    defaults = {  # noqa: RUF012
        "activation": "prelu",
        "dropout": 0.3,
        "optimiser": "adamw",
        "steps": 500,
        "learning_rate": 1e-3,
        "weight_decay": 1e-4,
        "log_every": 10,
        "checkpoint_every": 100,
    }

    def __init__(self, num_inputs: int, config: Config) -> None:
        super().__init__(num_inputs, config)
        dim = config.encoder.dim
        self.projector = mlp_head(dim, self.options.projection or dim, self.options.projection or dim, "prelu")

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        """The encoder; of the pool the projector's layers and three matrices of similarities; the sampled trees."""
        options: Options = config.options
        pool = min(options.pool_size, num_nodes)
        tree = sum(int(options.fanout**hop) for hop in range(options.hops + 1))
        projector = 3 * 4 * pool * 2 * (options.projection or config.encoder.dim)
        pairs = 3 * 4 * pool * pool + 3 * 8 * pool * options.num_negatives
        encoder = super().memory(num_nodes, num_edges, num_features, config)
        return encoder + projector + pairs + 3 * 8 * options.num_seeds * tree

    def check(self, graph: Graph) -> None:
        require_two_nodes(graph, "there is nothing to contrast it with")

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        h = self.encoder(batch.inputs, generator)
        z = self.projector(h[self.pool(batch.graph, generator)].relu())
        size = len(z)
        positives = cosine_neighbours(z.detach(), z.detach(), min(self.options.num_positives, size), own="first")
        negatives = torch.randint(size, (size, self.options.num_negatives), generator=generator, device=z.device)
        terms = spectral_terms(z, positives, negatives)
        return {"loss": terms.positive + terms.negative, **terms._asdict()}

    def pool(self, graph: Graph, generator: torch.Generator) -> Int[Tensor, " p"]:
        """The nodes of one step, each once, neighbourhood after neighbourhood."""
        seeds = torch.randperm(graph.num_nodes, generator=generator, device=graph.device)[: self.options.num_seeds]
        trees = sample_trees(graph.csr, seeds, self.options.hops, self.options.fanout, generator).flatten()
        return in_first_order(trees)[: self.options.pool_size]
