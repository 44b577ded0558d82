"""The edges between some nodes: CSR -> CSR."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from localgcl.graph.csr import CSR, sort_edges
from localgcl.graph.weights import unless_ones


def selected(nodes: Tensor, csr: CSR) -> Int[Tensor, " k"]:
    """The positions of distinct nodes, given as such or as a mask; ValueError if one is named twice."""
    if nodes.dtype == torch.bool:
        nodes = _positions(nodes, csr.num_rows)
    nodes = nodes.to(csr.indices.device)
    order = torch.arange(nodes.numel(), device=nodes.device)
    position = torch.full((csr.num_rows,), -1, device=nodes.device)
    position[nodes] = order
    if not torch.equal(position[nodes], order):
        twice = int(nodes[position[nodes] != order][0])
        raise ValueError(f"node {twice} is named more than once; a subgraph holds a node once, so pass nodes.unique()")
    return nodes


def induced(csr: CSR, nodes: Int[Tensor, " k"]) -> CSR:
    """The edges whose ends are both among distinct `nodes`; row i is that of the i-th of them. O(|E|)."""
    position = torch.full((csr.num_rows,), -1, device=nodes.device)
    position[nodes] = torch.arange(nodes.numel(), device=nodes.device)
    source, target = position[csr.rows], position[csr.indices]
    inside = (source >= 0) & (target >= 0)
    weights = None if csr.weights is None else unless_ones(csr.weights[inside])
    return sort_edges(source[inside], target[inside], nodes.numel(), weights)


def _positions(mask: Bool[Tensor, " n"], num_nodes: int) -> Int[Tensor, " k"]:
    if mask.shape != (num_nodes,):
        raise ValueError(f"the mask has shape {tuple(mask.shape)}; give one value for each of {num_nodes} nodes")
    return mask.nonzero().flatten()
