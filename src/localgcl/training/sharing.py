"""Which runs many ranks can share: those whose results do not depend on who has which rows."""

from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.methods import find_method
from localgcl.training.mapped import reads_rows


def require_shareable(graph: Graph, config: Config, size: int) -> None:
    """Raises ValueError if many ranks cannot train so: their results would not be those of one."""
    if not find_method(config.method).distributes:
        raise ValueError(f"{config.method} needs all nodes in one process, and there are {size}; take local-gcl")
    if config.encoder.encoder != "hops":
        raise ValueError(f"encoder is {config.encoder.encoder}, but ranks share the rows of channels; take hops")
    batch = config.training.batch
    if not size <= batch < graph.num_nodes:
        raise ValueError(
            f"batch is {batch}, but {size} ranks share batches of a graph of {graph.num_nodes} nodes; take {size} or more, and "
            "fewer than the nodes"
        )
    if not reads_rows(graph, config):
        raise ValueError(f"the features of {graph.name} are sparse, but ranks read dense rows; convert a dense table")
    # Each of these draws a number for every row or edge, and so would depend on who has which rows.
    drawing = {"dropout": config.encoder.dropout, "masked": config.options.masked}
    for name, value in drawing.items():
        if value > 0:
            raise ValueError(
                f"{name} is {value}, which is drawn for each row, but {size} ranks have different rows; set it to 0"
            )
    if config.options.hard_negatives != "none":
        raise ValueError(
            f"hard_negatives is {config.options.hard_negatives}, which needs all nodes in one process; set it to none"
        )
    if config.encoder.activation == "rrelu":
        raise ValueError(
            "activation is rrelu, which draws slopes for each row, but ranks have different rows; take prelu or elu"
        )
    if config.options.negatives == "exact":
        raise ValueError("negatives is exact, which needs all nodes in one process; take auto or sorf")
