"""CCA-SSG: embeddings of two views agree, and the columns of each are uncorrelated. One encoder, nothing else."""

import dataclasses
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.config import LARGEST_WEIGHT, Checked, Config, option
from localgcl.graph import Graph
from localgcl.losses.decorrelation import CorrelationTerms, neighbour_correlation, view_correlation
from localgcl.methods.base import Batch, Method, Terms
from localgcl.methods.parts import require_positives
from localgcl.nn.augment import drop_edges, mask_features
from localgcl.nn.memory import FLOAT, encoder_memory, sparse_matrix, view_memory


@dataclasses.dataclass(frozen=True)
class Options(Checked):
    """What agrees with what, the views, and the weight of decorrelation."""

    positives: Literal["views", "neighbours"] = option(
        "views", "a node agrees with itself in another view, or with the mean of its neighbours (CCA-SSG-Local)"
    )
    decorrelation: float = option(
        1e-3, "lambda; the same balance needs twice as much with positives=neighbours", low=0, high=LARGEST_WEIGHT
    )
    drop_edges: float = option(0.4, "share of edges dropped in each view", low=0, high=1)
    mask_features: float = option(0.1, "share of feature columns set to zero in each view", low=0, high=1)


class CCASSG(Method):
    r"""Algorithm: $Z_1, Z_2$ = encoder of two views, columns standardised; minimise

    $-\mathrm{tr}(\tilde Z_1^T \tilde Z_2) + \lambda \sum_v \|I - \tilde Z_v^T \tilde Z_v\|_F^2$. The embedding is encoder(G).

    With `positives="neighbours"` there are no views: $Z_1 = H$ = encoder(G), $Z_2$ its mean over N(i), and the first term is
    $\|\tilde H - \tilde Z\|_F^2$, which pulls twice as hard (see `losses.decorrelation`).
    """

    Options = Options
    idea = "views of a node, or a node and its neighbours' mean, agree; columns are uncorrelated; no negatives"
    cost = "O(N d^2) time (neighbours: and O(E d)), O(d^2) memory; 2 encoder passes (neighbours: 1)"
    augments = True
    paper = "https://arxiv.org/abs/2106.12484"
    defaults = {"dim": 512, "batch_norm": False, "learning_rate": 1e-3, "steps": 50}  # noqa: RUF012

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        """The encoder on each view; of both embeddings the centred and the standardised columns, and their correlations."""
        encoder, dim = encoder_memory(num_nodes, num_edges, num_features, config.encoder), config.encoder.dim
        correlations = 2 * FLOAT * (2 * num_nodes * dim + 3 * dim**2)
        if config.options.positives == "neighbours":
            means = FLOAT * num_nodes * dim + sparse_matrix(num_edges, num_nodes)
            return encoder.trained + means + correlations
        views = 2 * (encoder.kept + view_memory(num_nodes, num_edges, num_features))
        return encoder.inputs + views + encoder.moving + correlations

    def check(self, graph: Graph) -> None:
        require_positives(graph, self.options.positives)

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        terms = self._terms(batch, generator)
        loss = terms.invariance + self.options.decorrelation * terms.decorrelation
        return {"loss": loss, "invariance": terms.invariance, "decorrelation": terms.decorrelation}

    def _terms(self, batch: Batch, generator: torch.Generator) -> CorrelationTerms:
        if self.options.positives == "neighbours":
            return neighbour_correlation(self.encoder(batch.inputs, generator), batch.graph)
        return view_correlation(self._view(batch, generator), self._view(batch, generator))

    def _view(self, batch: Batch, generator: torch.Generator) -> Float[Tensor, "n d"]:
        dropped = drop_edges(batch.graph, self.options.drop_edges, generator)
        view = mask_features(dropped, self.options.mask_features, generator)
        return batch.own(self.encoder(self.encoder.inputs(view, constant=False), generator))
