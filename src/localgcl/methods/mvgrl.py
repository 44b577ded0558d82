"""MVGRL: DGI across two views of one graph, its edges and their diffusion."""

import dataclasses

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.config import MOST_DRAWN, Checked, Config, option
from localgcl.graph import Graph
from localgcl.losses import mvgrl_loss
from localgcl.methods.base import Batch, Method, Terms
from localgcl.methods.dgi import DGI
from localgcl.methods.parts import MODE_HELP, Bilinear, Mode, choose_mode, require_edges, require_gcn
from localgcl.nn.augment import diffuse, shuffle_features
from localgcl.nn.encoders import Inputs, build_encoder, with_dense_features
from localgcl.nn.memory import FLOAT, encoder_memory


@dataclasses.dataclass(frozen=True)
class Options(Checked):
    """The diffusion."""

    mode: Mode = option("auto", MODE_HELP)
    alpha: float = option(0.2, "probability that the diffusion returns to where it started", above=0, high=1)
    top_k: int = option(64, "entries that a row of the diffusion keeps in scalable mode", low=1, high=MOST_DRAWN)


@dataclasses.dataclass(frozen=True, eq=False)
class Views(Batch):
    """The graph as both encoders read it: `inputs` averages over edges, `diffused` over the diffusion."""

    diffused: Inputs


class MVGRL(Method):
    r"""Algorithm: $h^A$ = encoder_A(X, A) and $h^S$ = encoder_S(X, S) with the diffusion S (see `augment.diffuse`), the same
    for one permutation of the rows of X; minimise the cross-entropy of 4N scores, the nodes of each view against the summary
    of the other; the embedding is $h^A + h^S$.

    Faithful: S is the dense N x N inverse. Scalable: the `top_k` largest entries of each row, scaled to the row's sum; the
    rest of the row, a long tail of small weights, is left out. Each step takes the whole graph; the published code takes
    four windows of 2000 consecutive nodes, to fit its GPU. A mini-batch has the diffusion of its own part of the graph,
    computed at each step; embedding diffuses the whole graph.
    """

    Options = Options
    idea = "DGI across two views: nodes of the graph against the summary of its diffusion, and back"
    cost = "three more passes; faithful O(N^2 d) time, O(N^2) memory; scalable O(N k d)"
    augments = True
    paper = "https://arxiv.org/abs/2006.05582"
    defaults = {  # noqa: RUF012
        **DGI.defaults,
        "self_loops": 2.0,  # the published loader adds the identity, and its normalisation adds it again
        "steps": 3000,
    }

    def __init__(self, num_inputs: int, config: Config) -> None:
        require_gcn(config, "the views of mvgrl differ in how nodes are averaged, and it averages nothing")
        super().__init__(num_inputs, config)
        self.diffused_encoder = build_encoder(num_inputs, config.encoder)
        self.score = Bilinear(config.encoder.dim)
        self.mode_logged = False

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        """Four passes of the encoder and the shuffled features; a dense inverse and its temporaries, or sparse rows and their
        transpose."""
        encoder = encoder_memory(num_nodes, num_edges, num_features, config.encoder)
        passes = 2 * encoder.inputs + 4 * encoder.kept + encoder.moving + FLOAT * num_nodes * num_features
        if config.options.mode == "scalable":
            top_k: int = min(config.options.top_k, num_nodes)
            return passes + 2 * 12 * num_nodes * top_k
        return passes + 5 * 4 * num_nodes**2

    def check(self, graph: Graph) -> None:
        require_edges(graph, "the diffusion stays where it is")

    def prepare(self, graph: Graph) -> Views:
        size = self.memory(graph.num_nodes, graph.num_edges, graph.num_features, self.config)
        what = f"MVGRL's diffusion of {graph.num_nodes:,} nodes"
        mode = choose_mode(self.options.mode, size, graph.device, what=what, quiet=self.mode_logged)
        self.mode_logged = True
        graph, alpha = with_dense_features(graph), self.options.alpha
        s = diffuse(graph, alpha) if mode == "faithful" else diffuse(graph, alpha, self.options.top_k)
        diffused = self.diffused_encoder.inputs(graph, like=Inputs(graph.x, s))
        return Views(graph, self.encoder.inputs(graph), diffused)

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        assert isinstance(batch, Views)
        h_a, h_s = self.encoder(batch.inputs, generator), self.diffused_encoder(batch.diffused, generator)
        shuffled = self.encoder.inputs(shuffle_features(batch.graph, generator), constant=False, like=batch.inputs)
        wrong_a = self.encoder(shuffled, generator)
        wrong_s = self.diffused_encoder(Inputs(shuffled.first, batch.diffused.adjacency), generator)
        return {"loss": mvgrl_loss(batch.own(h_a), batch.own(h_s), batch.own(wrong_a), batch.own(wrong_s), self.score)}

    def embed(self, batch: Batch) -> Float[Tensor, "n d"]:
        assert isinstance(batch, Views)
        result: Tensor = self.encoder(batch.inputs) + self.diffused_encoder(batch.diffused)
        return result

    def refresh_statistics(self, batch: Batch) -> None:
        if batch.whole is not None and self.config.encoder.batch_norm:
            batch = self.prepare(batch.whole)
        assert isinstance(batch, Views)
        self.encoder.refresh_statistics(batch.inputs)
        self.diffused_encoder.refresh_statistics(batch.diffused)
