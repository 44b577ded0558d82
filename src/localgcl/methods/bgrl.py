"""BGRL: an online network predicts a slowly following target network's embedding of the same node in another view."""

import dataclasses
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.config import WIDEST, Checked, Config, option
from localgcl.graph import Graph
from localgcl.losses.bootstrap import Aggregate, neighbour_prediction, view_prediction
from localgcl.methods.base import Batch, Method, Terms
from localgcl.methods.parts import follow, momentum, require_positives
from localgcl.nn.augment import drop_edges, mask_features
from localgcl.nn.encoders import Inputs, build_encoder, mlp_head
from localgcl.nn.memory import FLOAT, encoder_memory, sparse_matrix, view_memory


@dataclasses.dataclass(frozen=True)
class Options(Checked):
    """What is predicted, the two views, the predictor and the target."""

    positives: Literal["views", "neighbours"] = option("views", "predict a node in another view, or neighbours (BGRL-Local)")
    aggregate: Aggregate = option("mean", "over neighbours: their mean, or their sum as the paper prints it")
    drop_edges_1: float = option(0.5, "share of edges dropped in the first view", low=0, high=1)
    drop_edges_2: float = option(0.4, "share of edges dropped in the second view", low=0, high=1)
    mask_features_1: float = option(0.2, "share of feature columns set to zero in the first view", low=0, high=1)
    mask_features_2: float = option(0.1, "share of feature columns set to zero in the second view", low=0, high=1)
    predictor: int = option(512, "width of the predictor's hidden layer", low=1, high=WIDEST)
    target_momentum: float = option(0.99, "momentum of the target at the start; it rises to 1", low=0, high=1)


class BGRL(Method):
    r"""Algorithm: of two views $G_1, G_2$, with f online, g target, p predictor, minimise over f and p

    $2 - \frac1N \sum_i \cos(p(f(G_1))_i, g(G_2)_i) - \frac1N \sum_i \cos(p(f(G_2))_i, g(G_1)_i)$;

    then $g \leftarrow m g + (1 - m) f$ in parameters, not in batch-norm statistics. The embedding is f(G).

    With `positives="neighbours"` there are no views: $-\frac2N \sum_i \mathrm{mean}_{j \in N(i)} \cos(p(f(G))_j, g(G)_i)$.
    """

    Options = Options
    idea = "predict a moving average of oneself across views, or one's neighbours; no negatives"
    cost = "O(N d p) time (neighbours: and O(E d)), O(N p) memory, p the predictor's width; 4 encoder passes (neighbours: 2)"
    augments = True
    paper = "https://arxiv.org/abs/2102.06514"
    defaults = {  # noqa: RUF012
        "hidden": 512,
        "dim": 256,
        "activation": "prelu",
        "activate_last": True,
        "batch_norm": True,
        "optimiser": "adamw",
        "weight_decay": 1e-5,
        "learning_rate": 5e-4,
        "schedule": "cosine",
        "warmup": 1000,
        "steps": 10_000,
        "log_every": 100,
        "checkpoint_every": 500,
    }

    def __init__(self, num_inputs: int, config: Config) -> None:
        super().__init__(num_inputs, config)
        dim = config.encoder.dim
        self.predictor = mlp_head(dim, self.options.predictor, dim, "prelu")
        # Not a copy: the published target has initial weights of its own.
        self.target = build_encoder(num_inputs, config.encoder).requires_grad_(False)

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        """For each view: the online encoder, the predictor, and unit rows of its output and of the target's."""
        options: Options = config.options
        encoder = encoder_memory(num_nodes, num_edges, num_features, config.encoder)
        heads = FLOAT * num_nodes * (2 * options.predictor + 4 * config.encoder.dim)
        if options.positives == "neighbours":
            return encoder.trained + heads + sparse_matrix(num_edges, num_nodes)
        views = 2 * (encoder.kept + heads + view_memory(num_nodes, num_edges, num_features))
        return encoder.inputs + views + encoder.moving

    def check(self, graph: Graph) -> None:
        require_positives(graph, self.options.positives)

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        options = self.options
        if options.positives == "neighbours":
            q, h = self._predict(batch.inputs, generator)
            return {"loss": neighbour_prediction(q, h, batch.graph, options.aggregate)}
        q1, h1 = self._predict(self._view(batch.graph, options.drop_edges_1, options.mask_features_1, generator), generator)
        q2, h2 = self._predict(self._view(batch.graph, options.drop_edges_2, options.mask_features_2, generator), generator)
        q1, h1, q2, h2 = (batch.own(rows) for rows in (q1, h1, q2, h2))
        return {"loss": view_prediction(q1, h2) + view_prediction(q2, h1)}

    def _view(self, graph: Graph, drop: float, mask: float, generator: torch.Generator) -> Inputs:
        view = mask_features(drop_edges(graph, drop, generator), mask, generator)
        return self.encoder.inputs(view, constant=False)

    def _predict(self, inputs: Inputs, generator: torch.Generator) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n d"]]:
        """The online network's predictions, and the target's embeddings."""
        with torch.no_grad():
            h = self.target(inputs, generator)
        return self.predictor(self.encoder(inputs, generator)), h

    def after_step(self, step: int) -> None:
        follow(self.target, self.encoder, momentum(step, self.config.training.steps, self.options.target_momentum))
