r"""InfoNCE between two views of the nodes: the loss of GRACE and GCA.

With u_i and v_i the projections of node i in either view, scaled to unit length,

$$\ell(u_i, v_i) = -\log \frac{e^{u_i^T v_i/\tau}}{\sum_k e^{u_i^T v_k/\tau} + \sum_{k \ne i} e^{u_i^T u_k/\tau}}, \qquad
L = \frac1{2|V|} \sum_i \ell(u_i, v_i) + \ell(v_i, u_i).$$

The denominator is a sum over all 2|V| rows w of [u; v] except u_i itself, so the loss needs only the log-sums of
`ops.exact_log_sums`: O(|V|^2 d) time and O(|V| d) memory, where the released codes keep several |V| x |V| matrices for the
backward (also in their batched form) and run out of memory on graphs of a few ten thousand nodes.

A row of zeros has no direction: it is no negative, and a pair with such a row has no term.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from localgcl.losses.finite import refuse_non_finite
from localgcl.losses.local import check_temperature, draw_features, unit_rows
from localgcl.nn.features import FeatureMap
from localgcl.ops import exact_log_sums, kernel_node_log_sums
from localgcl.ops.costs import choose_negatives

# Logits of sampled negatives held at a time.
_CHUNK = {"cpu": 2**21, "cuda": 2**26}


class PairTerms(NamedTuple):
    """The two terms whose sum is the loss, and two shares of the 2|V| rows to watch: clamped rows and rows of zeros."""

    positive: Float[Tensor, ""]
    negative: Float[Tensor, ""]
    clamped: Tensor
    dead: Tensor


def two_view_infonce(
    u: Float[Tensor, "n d"],
    v: Float[Tensor, "n d"],
    *,
    temperature: float,
    negatives: str | FeatureMap | int = "exact",
    num_features: int = 4096,
    generator: torch.Generator | None = None,
) -> Float[Tensor, ""]:
    """The two-view InfoNCE loss L above.

    Args:
        u: Projections in one view, any scale; row i belongs to node i. NaN or infinite rows raise ValueError. On a GPU the host
            waits for the loss to see them; `two_view_terms` neither waits nor checks.
        v: Projections in the other view.
        temperature: tau, above 0.
        negatives: "exact"; a random feature map by name or as an object, which makes time linear in |V|; "auto", the
            cheaper of the two by `localgcl.ops.costs.choose_negatives`; or a number k: that many random nodes, the same for all
            anchors, are the only negatives (except the anchor itself), without re-weighting. O(|V| k d) time, and
            k = |V| is exact.
        num_features: D, the number of random frequencies; used only with a feature map's name or "auto".
        generator: Source of random frequencies or nodes.

    Example:
        >>> u = torch.tensor([[1.0, 0], [0, 1]])
        >>> float(two_view_infonce(u, u, temperature=1.0))  # log(e + 2) - 1
        0.551...
    """
    terms = two_view_terms(u, v, temperature=temperature, negatives=negatives, num_features=num_features, generator=generator)
    loss = terms.positive + terms.negative
    refuse_non_finite(loss, u=u, v=v)
    return loss


def two_view_terms(
    u: Float[Tensor, "n d"],
    v: Float[Tensor, "n d"],
    *,
    generator: torch.Generator | None = None,
    temperature: float,
    num_features: int = 4096,
    negatives: str | FeatureMap | int = "exact",
) -> PairTerms:
    """The terms of `two_view_infonce` separately, for logs; same arguments."""
    check_temperature(temperature)
    n = u.shape[0]
    w, alive = unit_rows(torch.cat([u, v]))
    pair = alive[:n] & alive[n:]
    similarity = (w[:n] * w[n:]).sum(1) / temperature
    clamped = torch.zeros((), device=w.device)
    if negatives == "auto":
        negatives = choose_negatives(2 * n, w.shape[1], num_features, temperature, device=w.device)
    if isinstance(negatives, int):
        logs = _sampled_log_sums(w, alive, similarity, temperature, negatives, generator)
    elif negatives == "exact":
        logs = exact_log_sums(w, alive, temperature, include_self=False)
    else:
        features = draw_features(negatives, w, temperature, num_features=num_features, generator=generator)
        sums = kernel_node_log_sums(w, alive, features, lambda vector: vector, include_self=False)
        logs, clamped = sums.logs + features.offset, sums.clamped
    positive = -torch.where(pair, similarity, 0.0).sum() / n
    negative = torch.where(pair.repeat(2), logs, 0.0).sum() / (2 * n)
    return PairTerms(positive, negative, clamped / (2 * n), (~alive).sum() / (2 * n))


def _sampled_log_sums(
    w: Float[Tensor, "m d"],
    alive: Bool[Tensor, " m"],
    similarity: Float[Tensor, " n"],
    temperature: float,
    count: int,
    generator: torch.Generator | None,
) -> Float[Tensor, " m"]:
    """log of each row's positive plus both views of `count` random nodes, its own node left out. O(|V|) memory: in chunks."""
    n = similarity.shape[0]
    if count < 1:
        raise ValueError(f"negatives is {count}; it must be at least 1, for example 512, or 'exact'")
    nodes = torch.randperm(n, generator=generator, device=w.device)[:count]
    rows = torch.cat([nodes, nodes + n])
    keys, silent = w[rows].T / temperature, ~alive[rows]

    def part(w: Float[Tensor, "b d"], own: Int[Tensor, " b"], positive: Float[Tensor, " b"]) -> Float[Tensor, " b"]:
        logits = (w @ keys).masked_fill(silent | (own[:, None] == nodes.repeat(2)), -torch.inf)
        return torch.logaddexp(logits.logsumexp(1), positive)

    size = max(16, _CHUNK[w.device.type] // len(rows))
    own = torch.arange(n, device=w.device).repeat(2)
    parts = zip(w.split(size), own.split(size), similarity.repeat(2).split(size), strict=True)
    # Recomputed in the backward, so that only one chunk of logits exists at a time.
    return torch.cat([checkpoint(part, *each, use_reentrant=False, preserve_rng_state=False) for each in parts])
