r"""Losses that maximise mutual information: a score separates pairs that belong together from pairs that do not.

DGI scores whether a node belongs to the graph's summary, MVGRL does so across two views, and GMI scores which features a node
and its neighbours have and which nodes are linked. With $\mathrm{sp}(t) = \log(1 + e^t)$, a pair with score t costs sp(-t) when
it belongs together and sp(t) when it does not: the cross-entropy of its logit.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import softplus

from localgcl.graph.csr import CSR
from localgcl.ops import edge_dot

Score = Callable[[Tensor, Tensor], Tensor]
"""A discriminator: logits of n rows against one summary vector."""


def summary(h: Float[Tensor, "n d"]) -> Float[Tensor, " d"]:
    r"""The graph in one vector: $s = \sigma(\frac1n \sum_i h_i)$."""
    return h.mean(0).sigmoid()


def dgi_loss(h: Float[Tensor, "n d"], corrupted: Float[Tensor, "n d"], score: Score) -> Float[Tensor, ""]:
    r"""Deep Graph Infomax: real nodes belong to the summary, corrupted ones do not. O(n d) beside the score.

    $$L = \frac1{2n} \sum_i \mathrm{sp}(-D(h_i, s)) + \mathrm{sp}(D(\tilde h_i, s)), \quad s = \sigma(\bar h)$$

    Both sums run over all rows and s is a mean, so the order of rows does not matter, in either argument.
    """
    s = summary(h)
    return (softplus(-score(h, s)).mean() + softplus(score(corrupted, s)).mean()) / 2


def mvgrl_loss(
    first: Float[Tensor, "n d"],
    second: Float[Tensor, "n d"],
    corrupted_first: Float[Tensor, "n d"],
    corrupted_second: Float[Tensor, "n d"],
    score: Score,
) -> Float[Tensor, ""]:
    r"""Multi-view DGI: the nodes of each view against the summary of the other, one score for both. 4n logits.

    $$L = \frac1{4n} \sum_{(a, b)} \sum_i \mathrm{sp}(-D(h^a_i, s^b)) + \mathrm{sp}(D(\tilde h^a_i, s^b)),
          \quad (a, b) \in \{(1, 2), (2, 1)\}$$

    Equals `dgi_loss` when the two views are the same.
    """
    s_first, s_second = summary(first), summary(second)
    positives = softplus(-score(second, s_first)).mean() + softplus(-score(first, s_second)).mean()
    negatives = softplus(score(corrupted_second, s_first)).mean() + softplus(score(corrupted_first, s_second)).mean()
    return (positives + negatives) / 4


def jensen_shannon(
    anchors: Float[Tensor, "n d"],
    partners: Float[Tensor, "n d"],
    bias: Float[Tensor, ""],
    others: Int[Tensor, "n k"],
    *,
    squash: bool = True,
) -> Float[Tensor, ""]:
    r"""GMI's estimate of the information that row i of `anchors` has about row i of `partners`, negated.

    $$L = \frac1n \sum_i \mathrm{sp}(-g(a_i^T p_i + b)) + \frac1{nk} \sum_i \sum_{j \in O(i)} \mathrm{sp}(g(a_i^T p_j + b))$$

    O(n k d) time, O(n (k + d)) memory.

    Args:
        anchors: Rows $a_i$. A bilinear score's matrix is already in the anchors or in the partners.
        partners: Rows $p_i$.
        bias: b, added to every score.
        others: O(i), the rows of `partners` that do not belong to row i (see `random_others`).
        squash: $g = \sigma$, as in the published code, which bounds each term between sp(-1) and sp(1). False takes g as the
            identity: the Jensen-Shannon estimate that the paper writes down.
    """
    n, k = others.shape
    # Rows are anchors, columns anchors and then partners, so that nothing of size n k d is gathered or kept.
    pointers = torch.arange(0, n * k + 1, k, device=others.device)
    pairs = CSR(pointers, others.sort(dim=1).values.flatten() + n, 2 * n)
    together = (anchors * partners).sum(1) + bias
    apart = edge_dot(torch.cat([anchors, partners]), pairs) + bias
    if squash:
        together, apart = together.sigmoid(), apart.sigmoid()
    return softplus(-together).mean() + softplus(apart).mean()


def random_others(
    num_nodes: int, count: int, generator: torch.Generator | None = None, device: torch.device | None = None
) -> Int[Tensor, "n k"]:
    """`count` other nodes for each node, drawn uniformly with replacement."""
    if num_nodes < 2:
        raise ValueError(f"there are {num_nodes} nodes, so a node has no other; give at least two")
    shift = torch.randint(1, num_nodes, (num_nodes, count), generator=generator, device=device)
    return (torch.arange(num_nodes, device=device)[:, None] + shift) % num_nodes


def edge_reconstruction(
    h: Float[Tensor, "n d"], linked: CSR, *, sampled: int | None = None, generator: torch.Generator | None = None
) -> Float[Tensor, ""]:
    r"""GMI's third term: predicts from $h_i^T h_j$ which pairs of nodes are linked, with one weight for each kind of pair.

    $$L = \frac1{e} \sum_{(i,j) \in M} \mathrm{sp}(-h_i^T h_j) + \frac1{n^2 - e} \sum_{(i,j) \notin M} \mathrm{sp}(h_i^T h_j),
          \quad e = |M| / 2$$

    over ordered pairs, including i = j. e is half of |M|, as in the published code, so linked pairs have double weight.

    Args:
        h: Embeddings.
        linked: M, each pair once; as published it is A + I: `graph.coalesced().closed_neighbourhoods`.
        sampled: None sums over all pairs not in M: O(n^2 d) time, O(n^2) memory. A number k draws k nodes j for each i and
            weighs those that are not linked by n/k, so that the expected value and gradient are the same:
            O((|M| + n k) d) time, O(|M| + n (k + d)) memory.
        generator: Source of the sampled pairs.
    """
    n, half = h.shape[0], linked.num_entries / 2
    inside = edge_dot(h, linked)
    attraction = softplus(-inside).sum() / half
    if sampled is None:
        outside = softplus(h @ h.T).sum() - softplus(inside).sum()
    else:
        pairs = _unlinked(linked, sampled, generator)
        outside = softplus(edge_dot(h, pairs)).sum() * (n / sampled)
    return attraction + outside / (n * n - half)


def _unlinked(linked: CSR, count: int, generator: torch.Generator | None) -> CSR:
    """`count` uniform draws of nodes for each node, without those that are linked to it."""
    n, device = linked.num_rows, linked.device
    drawn = torch.randint(n, (n, count), generator=generator, device=device).sort(dim=1).values
    pairs = CSR(torch.arange(0, n * count + 1, count, device=device), drawn.flatten())
    known, asked = linked.rows * n + linked.indices, pairs.rows * n + pairs.indices
    place = torch.searchsorted(known, asked).clamp(max=known.numel() - 1)
    return pairs.keep(known[place] != asked)
