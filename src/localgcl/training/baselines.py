"""What a run is measured against: its encoder before training, and the features that it read."""

from jaxtyping import Float
from torch import Tensor

from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.graph.prepare import column_statistics, prepare
from localgcl.methods.settings import untrained
from localgcl.training.fit import fit


def random_init(graph: Graph, config: Config, device: str = "cpu") -> Float[Tensor, "n d"]:
    """Embeddings by the encoder of `config` with its initial weights."""
    return fit(graph, untrained(config).replace(device=device)).embed(graph)


def raw_features(graph: Graph, config: Config) -> Tensor:
    """The features as `config` scales them; sparse ones stay sparse, except where columns are standardised."""
    preparation = config.preparation
    return prepare(graph, preparation, column_statistics(graph, preparation.scaling)).x
