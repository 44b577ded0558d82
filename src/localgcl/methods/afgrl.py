"""AFGRL: an online network predicts the target's embeddings of nodes that are near in embedding and in graph or cluster."""

import copy
import dataclasses
from typing import Literal

import torch

from localgcl.config import MOST_DRAWN, WIDEST, Checked, Config, option
from localgcl.graph import Graph
from localgcl.losses.bootstrap import found_pairs, pair_prediction
from localgcl.losses.local import unit_rows
from localgcl.methods.base import Batch, Method, Terms
from localgcl.methods.parts import momentum, require_two_nodes
from localgcl.nn.encoders import mlp_head
from localgcl.nn.memory import FLOAT, INDEX
from localgcl.ops.rows import cosine_neighbours, kmeans

# What the search and the clustering hold at a time (see `ops`), in bytes; on a GPU up to twice as much.
_CHUNK = 2**27


@dataclasses.dataclass(frozen=True)
class Options(Checked):
    """The search for positives, the predictor and the target."""

    neighbours: int = option(
        4, "k, the nearest nodes that may be positives, the node itself among them; at most all", low=1, high=MOST_DRAWN
    )
    clusters: int = option(100, "centres of each k-means run; at most one a node", low=1, high=MOST_DRAWN)
    cluster_runs: int = option(5, "k-means runs; one cluster in common is enough", low=1, high=1000)
    cluster_iterations: int = option(20, "iterations of each k-means run", low=1, high=100_000)
    predictor: int = option(1024, "width of the predictor's hidden layer", low=1, high=WIDEST)
    target_momentum: float = option(0.9, "lowest momentum of the target; it rises to 1", low=0, high=1)
    momentum_schedule: Literal["released", "cosine"] = option(
        "released", "released: advanced by each weight tensor, so it swings as in the released code; cosine: by each step"
    )


class AFGRL(Method):
    r"""Algorithm: h = target(G), q = predictor(online(G)); kNN_i the k nearest rows of h to online(G)_i, i itself first;

    positives $P_i$ = those of kNN_i that are neighbours of i, or in its cluster of h in any k-means run; minimise the mean
    over pairs $j \in P_i$ of $(2 - 2\cos(q_i, h_j)) + (2 - 2\cos(q_j, h_i))$; the target follows. The embedding is online(G).

    Search and clustering are exact and run at every step, in chunks of rows: the published result without its N x N matrix.
    """

    Options = Options
    idea = "predict nodes that are near in embedding and in graph or cluster; no augmentation, no negatives"
    cost = "O(N^2 d) for the nearest nodes and O(N d C M I) for k-means in time, O(N k) memory and one chunk; 2 encoder passes"
    unweighted = "positives, which are neighbours near in embedding,"
    paper = "https://arxiv.org/abs/2112.02472"
    defaults = {  # noqa: RUF012
        "layers": 1,
        "dim": 512,
        "activation": "prelu",
        "activate_last": True,
        "batch_norm": True,
        "optimiser": "adamw",
        "weight_decay": 1e-5,
        "learning_rate": 1e-3,
        "steps": 5000,
        "log_every": 50,
        "checkpoint_every": 250,
    }

    def __init__(self, num_inputs: int, config: Config) -> None:
        super().__init__(num_inputs, config)
        dim = config.encoder.dim
        self.predictor = mlp_head(dim, self.options.predictor, dim, "prelu", batch_norm=True)
        self.target = copy.deepcopy(self.encoder).requires_grad_(False)

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        """The encoder, the predictor, unit rows of the target's embeddings, the pairs, a chunk of similarities or distances."""
        options: Options = config.options
        dim = config.encoder.dim
        heads = FLOAT * num_nodes * (3 * options.predictor + 5 * dim)
        pairs = INDEX * num_nodes * options.neighbours * (options.cluster_runs + 6)
        chunk = min(2 * _CHUNK, 2 * FLOAT * num_nodes**2)
        return super().memory(num_nodes, num_edges, num_features, config) + heads + pairs + chunk

    def check(self, graph: Graph) -> None:
        require_two_nodes(graph, "its columns have no spread")

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        online = self.encoder(batch.inputs, generator)
        with torch.no_grad():
            target = self.target(batch.inputs, generator)
        options, n = self.options, batch.graph.num_nodes
        nearest = cosine_neighbours(online, target, min(options.neighbours, n), own="first")
        clusters = kmeans(
            unit_rows(target)[0],
            min(options.clusters, n),
            generator=generator,
            runs=options.cluster_runs,
            iterations=options.cluster_iterations,
        )
        first, second = found_pairs(nearest, clusters, batch.graph)
        loss = pair_prediction(self.predictor(online), target, first, second)
        return {"loss": loss, "positives": torch.tensor(first.numel() / n)}

    @torch.no_grad()
    def after_step(self, step: int) -> None:
        tensors = list(zip(self.target.parameters(), self.encoder.parameters(), strict=True))
        for index, (target, online) in enumerate(tensors):
            tick = step * len(tensors) + index if self.options.momentum_schedule == "released" else step
            target.lerp_(online, 1 - momentum(tick, self.config.training.steps, self.options.target_momentum))
