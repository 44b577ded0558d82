"""Random neighbours, drawn directly from the compressed rows."""

import torch
from jaxtyping import Int
from torch import Tensor

from localgcl.graph.csr import CSR


def sample_neighbours(csr: CSR, nodes: Int[Tensor, " m"], k: int, generator: torch.Generator) -> Int[Tensor, "m {k}"]:
    """k neighbours of each node, uniformly and with replacement; an isolated node is its own neighbour. O(m k)."""
    own = nodes[:, None].expand(-1, k)
    if csr.num_entries == 0:
        return own
    start, degree = csr.indptr[nodes, None], csr.degree[nodes, None]
    draws = torch.rand(nodes.numel(), k, generator=generator, device=nodes.device)
    # The product can round up to the degree itself.
    place = (draws * degree).long().clamp(max=degree - 1)
    return torch.where(degree > 0, csr.indices[start + place], own)


def sample_trees(csr: CSR, roots: Int[Tensor, " m"], hops: int, k: int, generator: torch.Generator) -> Int[Tensor, "m size"]:
    r"""Each root, k of its neighbours, k of each of theirs, and so on for `hops` levels: $1 + k + ... + k^{hops}$ a row.

    A node can occur more than once, even a root in its own tree. O(m k^hops) time and memory, whatever the degrees.
    """
    levels = [roots[:, None]]
    for _ in range(hops):
        levels.append(sample_neighbours(csr, levels[-1].flatten(), k, generator).reshape(len(roots), -1))
    return torch.cat(levels, dim=1)
