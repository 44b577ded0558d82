"""GCA: GRACE whose views keep what is central in the graph."""

import dataclasses
from typing import Any, ClassVar

from localgcl.config import option
from localgcl.graph import Graph
from localgcl.methods import grace
from localgcl.nn.augment import Centrality, edge_drop_rates, feature_drop_rates


@dataclasses.dataclass(frozen=True)
class Options(grace.Options):
    """GRACE's options, whose shares are averages over edges or columns here, and the centrality of edges and columns."""

    centrality: Centrality = option("degree", "importance of a node, hence of the edges to it and of the features it has")
    magnitudes: bool = option(False, "weigh a feature by its size: for features that are hardly ever zero")


class GCA(grace.GRACE):
    """Algorithm: GRACE, but an edge to a central node, or a feature that central nodes have, is dropped less often.

    Rates are computed once from the graph (see `augment`) and are at most 0.7, as in the original. A graph whose nodes are
    equally central has one rate for all edges, which is GRACE. Columns that are zero everywhere count as the least central of
    the others; in the original the weights become NaN, and every column is dropped at the cap.
    """

    Options: ClassVar[type[Any]] = Options
    idea = "GRACE that drops central edges and features less often"
    paper = "https://arxiv.org/abs/2010.14945"
    defaults: ClassVar[dict[str, Any]] = {**grace.GRACE.defaults, "activation": "rrelu", "steps": 1000, "checkpoint_every": 100}

    def rates(self, graph: Graph, edges: float, features: float) -> tuple[grace.Rate, grace.Rate]:
        """One rate for each edge and one for each feature column."""
        centrality = self.options.centrality
        columns = feature_drop_rates(graph, features, centrality, magnitudes=self.options.magnitudes)
        return edge_drop_rates(graph, edges, centrality), columns
