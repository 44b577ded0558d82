r"""The loss of SUGRL: three hinges on Euclidean distances, which keep negatives further than positives, but not too far.

With anchors $h_i$, structural positives $p_i$, neighbour positives $q_i$, K negatives $n_{ik}$ (the rows of h under K
permutations) and the Euclidean distance $d$ (not its square):

$$L = w \sum_k \frac1{|V|} \sum_i \big[m_1 + d(h_i, p_i) - d(h_i, n_{ik})\big]_+
    + w \sum_k \frac1{|V|} \sum_i \big[m_1 + d(h_i, q_i) - d(h_i, n_{ik})\big]_+
    + w_b \frac1K \sum_k \sum_i \big[d(h_i, n_{ik}) - \mathrm{sg}\, d(h_i, p_i) - (m_1 + m_2)\big]_+$$

The third term bounds the distance of negatives from above. As published, it is a sum over nodes while the others are means, so
it weighs more on larger graphs, and its positive distance passes no gradient (sg).
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class MarginTerms(NamedTuple):
    """The three terms, without their weights."""

    structure: Float[Tensor, ""]
    neighbours: Float[Tensor, ""]
    bound: Float[Tensor, ""]


def margin_terms(
    h: Float[Tensor, "n d"],
    structure: Float[Tensor, "n d"],
    neighbours: Float[Tensor, "n d"],
    negatives: Int[Tensor, "k n"],
    *,
    margin: float,
    slack: float,
) -> MarginTerms:
    """The three hinges. O(K |V| d) time and memory.

    Two equal rows have distance 0 with zero gradient: an isolated node is its own positive, and a permutation may leave a
    node in its place.

    Args:
        h: Anchors.
        structure: p, the positive of each anchor from the graph's structure.
        neighbours: q, the positive of each anchor from sampled neighbours.
        negatives: Row k is a permutation of the nodes: the negative of anchor i is `h[negatives[k, i]]`.
        margin: m_1, by which negatives have to be further than positives.
        slack: m_2, how much further still they may be before the bound pulls them back.

    Example:
        >>> h = torch.tensor([[0.0], [1.0]])
        >>> margin_terms(h, h, h + 0.5, torch.tensor([[1, 0]]), margin=0.8, slack=0.1)  # distances 0, 0.5 and 1
        MarginTerms(structure=tensor(0.), neighbours=tensor(0.3000), bound=tensor(0.2000))
    """
    to_structure, to_neighbours = _distance(h, structure), _distance(h, neighbours)
    highest = to_structure.detach() + margin + slack
    near, close, bound = [], [], []
    for order in negatives:
        apart = _distance(h, h[order])
        near.append((margin + to_structure - apart).relu().mean())
        close.append((margin + to_neighbours - apart).relu().mean())
        bound.append((apart - highest).relu().sum())
    return MarginTerms(torch.stack(near).sum(), torch.stack(close).sum(), torch.stack(bound).mean())


def _distance(a: Float[Tensor, "n d"], b: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    distance: Tensor = torch.linalg.vector_norm(a - b, dim=1)
    return distance
