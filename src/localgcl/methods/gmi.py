"""GMI: embeddings that predict their node's features, its neighbours' features, and its edges. Nothing is augmented."""

import dataclasses
from collections.abc import Callable
from functools import cache, partial
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from localgcl.config import LARGEST_WEIGHT, MOST_DRAWN, Checked, Config, option
from localgcl.graph import Graph
from localgcl.graph.csr import CSR, csr_tensor
from localgcl.losses import edge_reconstruction, jensen_shannon, random_others
from localgcl.methods.base import Batch, Method, Terms
from localgcl.methods.parts import MODE_HELP, Bilinear, Mode, choose_mode, require_edges
from localgcl.nn.layers import Layers, product
from localgcl.ops import SparseMatrix, spmm


@dataclasses.dataclass(frozen=True)
class Options(Checked):
    """The three terms."""

    mode: Mode = option("auto", MODE_HELP)
    feature_weight: float = option(0.8, "weight of the node's own features", low=0, high=LARGEST_WEIGHT)
    neighbour_weight: float = option(1.0, "weight of the neighbours' features", low=0, high=LARGEST_WEIGHT)
    edge_weight: float = option(1.0, "weight of the edges", low=0, high=LARGEST_WEIGHT)
    others: int = option(5, "nodes whose features do not belong to a node, drawn for each at each step", low=1, high=MOST_DRAWN)
    sampled_pairs: int = option(64, "in scalable mode, pairs of nodes drawn for each node at each step", low=1, high=MOST_DRAWN)
    squash: bool = option(True, "a sigmoid on scores before they are compared, as published; false is the plain estimate")


@dataclasses.dataclass(frozen=True, eq=False)
class Reading(Batch):
    """The graph as all three terms read it: features, the matrix of means over N(i), and A + I with each pair once.

    The mode is chosen when the first loss is computed: embedding alone needs no pairs.
    """

    features: Tensor | SparseMatrix
    means: SparseMatrix
    linked: CSR
    mode: Callable[[], Literal["faithful", "scalable"]]


class GMI(Method):
    r"""Algorithm: h = encoder(X, A); $m_i$ = PReLU(mean over N(i) of $x_j W_1$), $W_1$ the encoder's first layer; minimise
    0.8 I(h; X) + I(m; h) + R(h h^T; A + I): two Jensen-Shannon terms with bilinear scores, against random other nodes, and
    the reconstruction of the edges; the embedding is h. A node without neighbours has m = 0.

    Faithful: R runs over all N x N pairs. Scalable: over all edges and `sampled_pairs` draws for each node, weighted so that
    value and gradient are the same in expectation.
    """

    Options = Options
    idea = "a node's embedding tells its features, its neighbours' features and its edges"
    cost = "faithful O(N^2 d) time, O(N^2) memory; scalable O((E + N k) d) time, O(E + N k) memory"
    unweighted = "reconstructed edges"
    paper = "https://arxiv.org/abs/2002.01169"
    defaults = {  # noqa: RUF012
        "dim": 512,
        "layers": 2,
        "activation": "prelu",
        "activate_last": True,
        "learning_rate": 1e-3,
        "steps": 550,
        "patience": 20,
        "keep": "best",
        "log_every": 10,
        "checkpoint_every": 50,
    }

    def __init__(self, num_inputs: int, config: Config) -> None:
        super().__init__(num_inputs, config)
        self.activation = nn.PReLU()
        self.mode_logged = False
        self.feature_score = Bilinear(num_inputs, config.encoder.dim)
        self.neighbour_score = Bilinear(config.encoder.dim, self.first_weight.shape[0])

    @property
    def first_weight(self) -> Float[Tensor, "d f"]:
        """$W_1^T$, the encoder's first layer without its bias."""
        assert isinstance(self.encoder, Layers)
        layer = self.encoder.weights[0]
        assert isinstance(layer, nn.Linear)
        return layer.weight

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        """The encoder and three more layers (features, means, scores) of three copies; for each pair its score, cost and
        gradient."""
        options, nodes = config.options, num_nodes
        more = super().memory(nodes, num_edges, num_features, config) + 3 * 3 * 4 * nodes * config.encoder.dim
        # A sampled pair also has its two ends, in both orders, at 8 bytes each.
        pairs = (num_edges + nodes * (options.sampled_pairs + 2 * options.others)) * (3 * 4 + 4 * 8)
        return more + (pairs if options.mode == "scalable" else 3 * 4 * nodes**2)

    def check(self, graph: Graph) -> None:
        require_edges(graph, "there is nothing to tell of neighbours and edges")

    def prepare(self, graph: Graph) -> Reading:
        inputs = self.encoder.inputs(graph)
        features = self.encoder.inputs(graph, constant=False, like=inputs).first
        size = self.memory(graph.num_nodes, graph.num_edges, graph.num_features, self.config)
        what = f"GMI's pairs of {graph.num_nodes:,} nodes"
        mode = cache(partial(choose_mode, self.options.mode, size, graph.device, what=what, quiet=self.mode_logged))
        self.mode_logged = True
        return Reading(graph, inputs, features, _means(graph), graph.coalesced().closed_neighbourhoods, mode)

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        assert isinstance(batch, Reading)
        options, n = self.options, batch.graph.num_nodes
        h = self.encoder(batch.inputs, generator)
        m = self.activation(spmm(batch.means, product(self.first_weight, batch.features)))
        own, near = self.feature_score, self.neighbour_score
        drawn = [random_others(n, options.others, generator, h.device) for _ in range(2)]
        features = jensen_shannon(h, product(own.weight.T, batch.features), own.bias, drawn[0], squash=options.squash)
        neighbours = jensen_shannon(m @ near.weight.T, h, near.bias, drawn[1], squash=options.squash)
        sampled = options.sampled_pairs if batch.mode() == "scalable" else None
        edges = edge_reconstruction(h, batch.linked, sampled=sampled, generator=generator)
        loss = options.feature_weight * features + options.neighbour_weight * neighbours + options.edge_weight * edges
        return {"loss": loss, "features": features, "neighbours": neighbours, "edges": edges}


def _means(graph: Graph) -> SparseMatrix:
    """Row i averages over N(i), by edge weights; zero for a node without neighbours."""
    bare = graph.neighbourhoods
    share = (1 / torch.where(bare.strength > 0, bare.strength, 1)).repeat_interleave(bare.degree, output_size=bare.num_entries)
    weights = (share if bare.weights is None else share * bare.weights).float()
    return SparseMatrix(csr_tensor(bare.indptr, bare.indices, weights, (bare.num_rows, bare.num_rows)))
