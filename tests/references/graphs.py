"""Small graphs with everything that goes wrong in large ones."""

import torch

from localgcl.graph import Graph


def messy_graph(num_nodes: int = 12, num_edges: int = 30, seed: int = 0) -> Graph:
    """Directed, with a self-loop, a parallel edge and two nodes without any edge (the last two)."""
    generator = torch.Generator().manual_seed(seed)
    ends = torch.randint(num_nodes - 2, (2, num_edges), generator=generator)
    source = torch.cat([ends[0], ends[0, :1], torch.tensor([1])])
    target = torch.cat([ends[1], ends[1, :1], torch.tensor([1])])
    return Graph.from_edges(source, target, x=torch.zeros(num_nodes, 1))


def weighted_graph(num_nodes: int = 12, num_edges: int = 30, seed: int = 0, *, whole: bool = False) -> Graph:
    """The same with weights: from 1 to 4 where `whole`, else between 0.1 and 3."""
    graph = messy_graph(num_nodes, num_edges, seed)
    generator = torch.Generator().manual_seed(seed + 1)
    draws = torch.rand(graph.num_edges, generator=generator)
    return graph.with_edges(graph.rows, graph.indices, (4 * draws).ceil() if whole else 0.1 + 2.9 * draws)


def with_parallels(graph: Graph) -> Graph:
    """The unweighted graph that has k parallel edges for an edge of weight k."""
    assert graph.weights is not None
    times = graph.weights.long()
    return graph.with_edges(graph.rows.repeat_interleave(times), graph.indices.repeat_interleave(times))


def random_rows(num_nodes: int, dim: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(num_nodes, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)
