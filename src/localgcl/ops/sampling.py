"""Random neighbours, drawn straight from the compressed rows."""

import torch
from jaxtyping import Int
from torch import Tensor

from localgcl.graph import Graph


def sample_neighbours(graph: Graph, nodes: Int[Tensor, " m"], k: int, generator: torch.Generator) -> Int[Tensor, "m {k}"]:
    """k neighbours of each node, uniformly and with replacement; a node without any stands for its own. O(m k)."""
    own = nodes[:, None].expand(-1, k)
    if graph.num_edges == 0:
        return own
    start, degree = graph.indptr[nodes, None], graph.degree[nodes, None]
    draws = torch.rand(nodes.numel(), k, generator=generator, device=nodes.device)
    # The product can round up to the degree itself.
    place = (draws * degree).long().clamp(max=degree - 1)
    return torch.where(degree > 0, graph.indices[start + place], own)


def sample_trees(
    graph: Graph, roots: Int[Tensor, " m"], hops: int, k: int, generator: torch.Generator
) -> Int[Tensor, "m size"]:
    r"""Each root, k of its neighbours, k of each of theirs, and so on for `hops` levels: $1 + k + ... + k^{hops}$ a row.

    Nodes can occur more than once, also a root below itself. O(m k^hops) time and memory, whatever the degrees.
    """
    levels = [roots[:, None]]
    for _ in range(hops):
        levels.append(sample_neighbours(graph, levels[-1].flatten(), k, generator).reshape(len(roots), -1))
    return torch.cat(levels, dim=1)
