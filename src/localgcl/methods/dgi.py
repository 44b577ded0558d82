"""DGI: a score, given a summary of the graph, separates its nodes from nodes with shuffled features."""

import torch

from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.losses import dgi_loss
from localgcl.methods.base import Batch, Method, Terms
from localgcl.methods.baselines import NoOptions
from localgcl.methods.parts import Bilinear, require_edges, require_gcn
from localgcl.nn.augment import shuffle_features
from localgcl.nn.memory import FLOAT, encoder_memory


class DGI(Method):
    r"""Algorithm: h = encoder(X, A); $\tilde h$ = encoder(X with rows permuted, A); s = $\sigma$(mean of h); minimise the
    cross-entropy of D(h, s) against 1 and of D($\tilde h$, s) against 0, with D(h, s) = $h^T W s + b$; the embedding is h.
    In a mini-batch s is the mean of its seeds.
    """

    Options = NoOptions
    idea = "nodes against a summary of the graph; shuffled features are the negatives"
    cost = "one more pass of the encoder; O(N d) time and memory"
    augments = True
    paper = "https://arxiv.org/abs/1809.10341"
    defaults = {  # noqa: RUF012
        "dim": 512,
        "layers": 1,
        "activation": "prelu",
        "activate_last": True,
        "learning_rate": 1e-3,
        "steps": 10_000,
        "patience": 20,
        "keep": "best",
        "log_every": 10,
        "checkpoint_every": 100,
    }

    def __init__(self, num_inputs: int, config: Config) -> None:
        require_gcn(config, "dgi learns from how features sit on the graph: to it shuffled nodes are the same nodes")
        super().__init__(num_inputs, config)
        self.score = Bilinear(config.encoder.dim)

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        """Two passes of the encoder, and the shuffled features."""
        encoder = encoder_memory(num_nodes, num_edges, num_features, config.encoder)
        return encoder.inputs + 2 * encoder.kept + encoder.moving + FLOAT * num_nodes * num_features

    def check(self, graph: Graph) -> None:
        require_edges(graph, "shuffled features look like the graph's own")

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        shuffled = shuffle_features(batch.graph, generator)
        corrupted = self.encoder.inputs(shuffled, constant=False, like=batch.inputs)
        h, wrong = self.encoder(batch.inputs, generator), self.encoder(corrupted, generator)
        return {"loss": dgi_loss(batch.own(h), batch.own(wrong), self.score)}
